//! Numbers as a person reads them. Data files never use these: they hold the
//! shortest text that reads back to the same number.

/// What stands where a value does not exist.
pub(crate) const MISSING: &str = "–";

/// A number with so many significant digits; whole numbers keep all of theirs
/// and are grouped from 10 000 on.
pub(crate) fn significant(value: f64, digits: u32) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (digits as i32 - 1 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if decimals == 0 { group(&text) } else { text }
}

/// A number of an axis: no digit that is not needed.
pub(crate) fn tick(value: f64) -> String {
    let rounded = format!("{value:.9}");
    let text = rounded.trim_end_matches('0').trim_end_matches('.');
    match text {
        "" | "-0" => "0".to_owned(),
        text if text.contains('.') => text.to_owned(),
        text => group(text),
    }
}

/// Sets a thin space between groups of three digits, from five digits on.
fn group(integer: &str) -> String {
    let (sign, digits) = integer.strip_prefix('-').map_or(("", integer), |rest| ("−", rest));
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_size_of_the_number() {
        assert_eq!(significant(235.14, 3), "235");
        assert_eq!(significant(81.94, 3), "81.9");
        assert_eq!(significant(0.041_26, 3), "0.0413");
        assert_eq!(significant(2985.4, 3), "2985");
        assert_eq!(significant(12_345.6, 3), "12\u{2009}346");
        assert_eq!(significant(0.0, 3), "0");
        assert_eq!(significant(f64::NAN, 3), MISSING);
    }

    #[test]
    fn ticks_are_exact_and_short() {
        assert_eq!(tick(0.1 + 0.2), "0.3");
        assert_eq!(tick(200.0), "200");
        assert_eq!(tick(0.0), "0");
        assert_eq!(tick(-0.0), "0");
        assert_eq!(tick(40_000.0), "40\u{2009}000");
    }
}
