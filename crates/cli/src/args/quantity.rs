//! Quantities in the notation of iperf3.

use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

/// Parses seconds as iperf3 does, or a duration with its unit.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let plain = text.parse::<f64>().ok().filter(|s| (0.0..=1e6).contains(s));
    match plain {
        Some(s) => Ok(Duration::from_us((s * 1e6) as u64)),
        None => parse_duration(text).map_err(|_| "expected seconds, 0 to 1000000".to_owned()),
    }
}

/// Parses bytes as iperf3 does (`K`, `M` and `G` are powers of 1024), or with a unit (`3 MB`).
pub(super) fn size(text: &str) -> Result<u64, String> {
    let wrong = || "expected bytes: a number, with K, M or G, or a unit as in `3 MB`".to_owned();
    let (digits, shift) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) => {
            let letter = text.chars().next_back().map(|c| c.to_ascii_lowercase());
            (
                digits,
                match letter {
                    Some('k') => 10,
                    Some('m') => 20,
                    _ => 30,
                },
            )
        }
        None => (text, 0),
    };
    let n = match digits.parse::<u64>() {
        Ok(n) => n.checked_mul(1 << shift),
        Err(_) => parse_bytes(text).ok().map(Bytes::as_u64),
    };
    n.filter(|n| *n > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_parsed_as_by_iperf3() {
        assert_eq!(
            (size("128K"), size("2G"), size("3 MB")),
            (Ok(131_072), Ok(2 << 30), Ok(3_000_000))
        );
        assert_eq!((size("77"), size("1m")), (Ok(77), Ok(1 << 20)));
        for bad in ["", "K", "-1", "0", "1T", "99999999999999999G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (seconds("2"), seconds("0.5")),
            (Ok(Duration::from_secs(2)), Ok(Duration::from_ms(500)))
        );
        assert_eq!(seconds("20ms"), Ok(Duration::from_ms(20)));
        assert!(seconds("-1").is_err() && seconds("nan").is_err() && seconds("x").is_err());
    }
}
