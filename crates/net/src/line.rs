//! Serialisation times on the line behind a port.

use lowtide_units::{Bytes, Duration, Rate};

/// Bytes per packet on the line in addition to its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Framing {
    /// Ethernet preamble, header, checksum and gap: 38 B per packet.
    #[default]
    Ethernet,
    /// None, for comparison with simulators without framing.
    Ip,
}

impl Framing {
    /// Returns the overhead in bytes per packet.
    pub const fn overhead(self) -> u64 {
        match self {
            Self::Ethernet => 38,
            Self::Ip => 0,
        }
    }
}

/// Eight bits in picoseconds at one bit per second.
const BYTE_PS_AT_1_BPS: u64 = 8_000_000_000_000;

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Line {
    /// Picoseconds per byte; if that is not an integer, the rate in bits per second and [`UNEVEN`].
    pace: u64,
    overhead: u32,
}

/// Flag: `pace` is a rate.
const UNEVEN: u64 = 1 << 63;

impl Line {
    pub(crate) fn new(rate: Rate, framing: Framing) -> Self {
        let bps = rate.as_bps();
        let whole = BYTE_PS_AT_1_BPS.is_multiple_of(bps);
        let pace = if whole { BYTE_PS_AT_1_BPS / bps } else { bps | UNEVEN };
        Self { pace, overhead: framing.overhead() as u32 }
    }
    /// Returns a line whose rate may change: [`Line::has_fast_serialization`] is false, so counters
    /// add up serialisation times.
    pub(crate) fn changeable(rate: Rate, overhead: u64) -> Self {
        Self { pace: rate.as_bps() | UNEVEN, overhead: overhead as u32 }
    }
    pub(crate) fn rate(&self) -> Rate {
        let bps = match self.pace & UNEVEN {
            0 => BYTE_PS_AT_1_BPS / self.pace,
            _ => self.pace & !UNEVEN,
        };
        Rate::from_bps(bps).unwrap_or(Rate::from_gbps(1))
    }
    /// Returns true if [`Line::fast_serialization`] is exact: a byte takes a whole number of
    /// picoseconds, and less than 2^31 (from 4 kbit/s on), so that no size overflows.
    pub(crate) const fn has_fast_serialization(&self) -> bool {
        self.pace < 1 << 31
    }
    /// Returns the serialisation time as [`Line::serialization`] does.
    #[inline]
    pub(crate) fn fast_serialization(&self, size: u32) -> Duration {
        debug_assert!(self.has_fast_serialization());
        Duration::from_ps((u64::from(size) + self.overhead()).wrapping_mul(self.pace))
    }
    /// Returns the serialisation time of all these packets and their IP bytes together, if
    /// [`Line::fast_serialization`] is exact.
    pub(crate) fn fast_serialization_of_all(&self, packets: u64, bytes: u64) -> Option<Duration> {
        let bytes = bytes.wrapping_add(packets.wrapping_mul(self.overhead()));
        self.has_fast_serialization().then(|| Duration::from_ps(bytes.wrapping_mul(self.pace)))
    }
    /// Bytes of framing per packet.
    pub(crate) const fn overhead(&self) -> u64 {
        self.overhead as u64
    }
    /// Returns the serialisation time of a packet of `size` IP bytes with framing. Equals
    /// [`Rate::serialization`] without the wide division.
    #[inline]
    pub(crate) fn serialization(&self, size: u32) -> Duration {
        let bytes = u64::from(size) + self.overhead();
        if self.pace & UNEVEN == 0 {
            return Duration::from_ps(bytes.saturating_mul(self.pace));
        }
        match bytes.checked_mul(BYTE_PS_AT_1_BPS) {
            Some(bits) => Duration::from_ps(bits.div_ceil(self.pace & !UNEVEN)),
            None => self.rate().serialization(Bytes::new(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_definition() {
        let odd = [1, 3, 7_777, 1_000_000_000, 9_999_999_999, 10_000_000_000, 1_600_000_000_000];
        for bps in odd {
            let rate = Rate::from_bps(bps).unwrap();
            for framing in [Framing::Ethernet, Framing::Ip] {
                let line = Line::new(rate, framing);
                assert_eq!(line.rate(), rate);
                for size in [0, 1, 40, 1_500, 9_000, 65_535, 2_400_000, u32::MAX] {
                    let bytes = Bytes::new(u64::from(size) + framing.overhead());
                    let time = rate.serialization(bytes);
                    assert_eq!(line.serialization(size), time, "{size} {bps}");
                    if line.has_fast_serialization() {
                        assert_eq!(line.fast_serialization(size), time, "{size} {bps}");
                    }
                    let changeable = Line::changeable(rate, framing.overhead());
                    assert_eq!(changeable.serialization(size), time, "{size} {bps}");
                }
            }
        }
    }

    #[test]
    fn a_full_frame_at_ten_gigabit() {
        let line = Line::new(Rate::from_gbps(10), Framing::Ethernet);
        assert_eq!(line.serialization(1_500), Duration::from_ps(1_230_400));
    }
}
