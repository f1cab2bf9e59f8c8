//! The line behind a port: how long a packet is on it, how long it travels.

use lowtide_units::{Bytes, Duration, Rate};

use crate::Framing;

/// Eight bits in picoseconds at one bit per second.
const BYTE_PS_AT_1_BPS: u64 = 8_000_000_000_000;

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    rate: Rate,
    /// Picoseconds per byte, or zero where that is not a whole number.
    byte_ps: u64,
    overhead: u64,
    pub(crate) delay: Duration,
}

impl Line {
    pub(crate) fn new(rate: Rate, framing: Framing, delay: Duration) -> Self {
        let whole = BYTE_PS_AT_1_BPS.is_multiple_of(rate.as_bps());
        let byte_ps = if whole { BYTE_PS_AT_1_BPS / rate.as_bps() } else { 0 };
        Self { rate, byte_ps, overhead: framing.overhead(), delay }
    }
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }
    /// Bytes of framing per packet.
    pub(crate) const fn overhead(&self) -> u64 {
        self.overhead
    }
    /// The time on the line of a packet of `size` IP bytes: [`Rate::serialization`] of it and its
    /// framing, without the wide division.
    #[inline]
    pub(crate) fn serialization(&self, size: u32) -> Duration {
        let bytes = u64::from(size) + self.overhead;
        if self.byte_ps != 0 {
            return Duration::from_ps(bytes.saturating_mul(self.byte_ps));
        }
        match bytes.checked_mul(BYTE_PS_AT_1_BPS) {
            Some(bits) => Duration::from_ps(bits.div_ceil(self.rate.as_bps())),
            None => self.rate.serialization(Bytes::new(bytes)),
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
                let line = Line::new(rate, framing, Duration::ZERO);
                for size in [0, 1, 40, 1_500, 9_000, 65_535, 2_400_000, u32::MAX] {
                    let bytes = Bytes::new(u64::from(size) + framing.overhead());
                    assert_eq!(line.serialization(size), rate.serialization(bytes), "{size} {bps}");
                }
            }
        }
    }

    #[test]
    fn a_full_frame_at_ten_gigabit() {
        let line = Line::new(Rate::from_gbps(10), Framing::Ethernet, Duration::ZERO);
        assert_eq!(line.serialization(1_500), Duration::from_ps(1_230_400));
    }
}
