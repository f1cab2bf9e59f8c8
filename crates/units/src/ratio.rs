//! Exact ratios.

use alloc::format;
use core::fmt;
use core::num::NonZeroU32;

/// An exact non-negative ratio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ratio {
    /// Numerator.
    pub num: u32,
    /// Denominator.
    pub den: NonZeroU32,
}

impl Ratio {
    /// Returns `num / den`; `None` if `den` is zero.
    pub const fn new(num: u32, den: u32) -> Option<Self> {
        match NonZeroU32::new(den) {
            Some(den) => Some(Self { num, den }),
            None => None,
        }
    }

    /// Parses a ratio above zero, in lowest terms: `1/5`, `0.2` (at most nine decimals) or `2`.
    pub fn parse(text: &str) -> Option<Self> {
        let (num, den): (u64, u64) = if let Some((num, den)) = text.split_once('/') {
            (num.trim().parse().ok()?, den.trim().parse().ok()?)
        } else {
            let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
            let digits = |c: char| c.is_ascii_digit();
            if !whole.chars().chain(fraction.chars()).all(digits) || fraction.len() > 9 {
                return None;
            }
            (format!("{whole}{fraction}").parse().ok()?, 10_u64.pow(fraction.len() as u32))
        };
        let common = gcd(num, den);
        let part = |n: u64| u32::try_from(n.checked_div(common)?).ok();
        Self::new(part(num)?, part(den)?).filter(|r| r.num > 0)
    }
}

impl fmt::Display for Ratio {
    /// Prints `1/4`, or `2` for a whole number. Reading it back is lossless.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.den.get() {
            1 => write!(f, "{}", self.num),
            den => write!(f, "{}/{den}", self.num),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ratios_are_exact_and_in_lowest_terms() {
        for (text, shown) in
            [("1/5", "1/5"), ("0.2", "1/5"), ("2", "2"), ("4 / 2", "2"), (".25", "1/4")]
        {
            assert_eq!(Ratio::parse(text).map(|r| r.to_string()).as_deref(), Some(shown), "{text}");
        }
        for text in
            ["0", "1/0", "0/0", "-1", "x", "", "1/2/3", "1e3", "99999999999", "0.0000000001"]
        {
            assert_eq!(Ratio::parse(text), None, "{text}");
        }
    }
}
