//! Link and pacing rates.

use core::fmt;

use crate::{Bytes, Duration};

/// A rate in bits per second; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second, or `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Self(bps)) }
    }
    /// A rate of `gbps` Gbit/s; zero becomes one bit per second. Saturates.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(if gbps == 0 { 1 } else { gbps.saturating_mul(1_000_000_000) })
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Serialization time of `size`, rounded up to a whole picosecond.
    ///
    /// Exact at every rate that divides 8 x 10^12 bit/s, which includes all Ethernet rates.
    pub const fn serialization(self, size: Bytes) -> Duration {
        let bit_ps = size.as_u64() as u128 * 8_000_000_000_000;
        let ps = bit_ps.div_ceil(self.0 as u128);
        Duration::from_ps(if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 })
    }
    /// Bytes that fit into `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = span.as_ps() as u128 * self.0 as u128 / 8_000_000_000_000;
        Bytes::new(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (1_000_000_000_000, "Tbit/s"),
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
            (1, "bit/s"),
        ];
        for (scale, name) in UNITS {
            if self.0.is_multiple_of(scale) {
                return write!(f, "{} {name}", self.0 / scale);
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
