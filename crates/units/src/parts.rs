//! Shares of a whole and small deviations.

use core::fmt;

/// Parts per billion, with a sign: a clock's drift, a loss rate, a fraction of a rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Parts(i64);

impl Parts {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
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

impl fmt::Display for Parts {
    /// The largest unit in which it is a whole number, `"40 ppm"`: reading it back is lossless.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(i64, &str); 3] = [(10_000_000, "%"), (1_000, "ppm"), (1, "ppb")];
        for (scale, name) in UNITS {
            if self.0 % scale == 0 {
                return write!(f, "{} {name}", self.0 / scale);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
