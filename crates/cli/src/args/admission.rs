//! Limits of clients, of `live server` and `live proxy`.

use clap::Args;
use lowtide_live::admission::AdmissionLimits;
use lowtide_units::Duration;

use super::quantity::{seconds, size};

/// The least rate, which both commands have. Their numbers of places and idle limits differ.
#[derive(Debug, Args)]
pub(crate) struct LeastRateArgs {
    /// Least rate of a connection, bytes per second of both directions together; 0 for none. If all
    /// places are taken, the connection that lags most behind it yields to a new one. If more than
    /// half are, one that lags by --rate-window is reset, unless it has moved 5 KiB (rate times
    /// window)
    #[arg(long, value_name = "BYTES", default_value = "1K", value_parser = rate)]
    pub(crate) min_rate: u64,
    /// Time by which a connection may lag behind --min-rate, seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = window)]
    pub(crate) rate_window: Duration,
}

impl LeastRateArgs {
    /// Limits with these; an idle limit of zero is none.
    pub(crate) fn limits(&self, max_connections: u32, idle: Duration) -> AdmissionLimits {
        let idle = if idle == Duration::ZERO { Duration::MAX } else { idle };
        AdmissionLimits {
            min_rate: self.min_rate,
            rate_window: self.rate_window,
            ..AdmissionLimits::new(max_connections as usize, idle)
        }
    }
}

fn rate(text: &str) -> Result<u64, String> {
    let bytes = if text == "0" { Ok(0) } else { size(text) };
    bytes.and_then(|n| match n {
        0..=0x4000_0000 => Ok(n),
        _ => Err("expected 0 to 1G".to_owned()),
    })
}

fn window(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|window| match window.as_ms() {
        1..=3_600_000 => Ok(window),
        _ => Err("expected 0.001 to 3600".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_windows_have_ranges_and_zero_idle_is_no_limit() {
        assert_eq!((rate("0"), rate("2K")), (Ok(0), Ok(2048)));
        assert!(rate("2G").unwrap_err().contains("0 to 1G"));
        assert!(window("0").unwrap_err().contains("0.001 to 3600"));
        let args = LeastRateArgs { min_rate: 7, rate_window: Duration::from_secs(2) };
        let limits = args.limits(3, Duration::ZERO);
        assert_eq!((limits.max_connections, limits.idle), (3, Duration::MAX));
        assert_eq!((limits.min_rate, limits.rate_window), (7, Duration::from_secs(2)));
    }
}
