//! Fractions and small deviations.

use core::fmt;

/// Signed parts per billion: a clock's drift, a loss rate, a fraction of a rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Fraction(i64);

impl Fraction {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(1_000_000_000);

    /// `ppb` parts per billion.
    pub const fn from_ppb(ppb: i64) -> Self {
        Self(ppb)
    }
    /// `ppm` parts per million; saturates.
    pub const fn from_ppm(ppm: i64) -> Self {
        Self(ppm.saturating_mul(1_000))
    }
    /// `percent` parts per hundred; saturates.
    pub const fn from_percent(percent: i64) -> Self {
        Self(percent.saturating_mul(10_000_000))
    }
    /// Parts per billion.
    pub const fn as_ppb(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Fraction {
    /// Prints per cent with up to two decimals from 0.1 % on, otherwise the largest unit in which
    /// it is an integer, `"40 ppm"`. Reading it back is lossless.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PERCENT: i64 = 10_000_000;
        const HUNDREDTH: i64 = PERCENT / 100;
        const UNITS: [(i64, &str); 3] = [(PERCENT, "%"), (1_000, "ppm"), (1, "ppb")];
        let size = self.0.unsigned_abs();
        let hundredths = size / HUNDREDTH.unsigned_abs();
        if self.0 % HUNDREDTH == 0 && self.0 % PERCENT != 0 && hundredths >= 10 {
            let sign = if self.0 < 0 { "-" } else { "" };
            let (whole, rest) = (hundredths / 100, hundredths % 100);
            return match rest % 10 {
                0 => write!(f, "{sign}{whole}.{} %", rest / 10),
                _ => write!(f, "{sign}{whole}.{rest:02} %"),
            };
        }
        for (scale, name) in UNITS {
            if self.0 % scale == 0 {
                return write!(f, "{} {name}", self.0 / scale);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
