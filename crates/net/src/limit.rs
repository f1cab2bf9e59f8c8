//! A queue-length limit: a marking threshold or a buffer size.

use lowtide_units::Bytes;

use crate::{Occupancy, QueueLength};

/// A [`QueueLength`] in eight bytes: the highest bit holds the unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(u64);

impl Limit {
    const BYTES: u64 = 1 << 63;

    pub(crate) const fn new(count: QueueLength) -> Self {
        match count {
            QueueLength::Packets(n) if n < Self::BYTES => Self(n),
            QueueLength::Packets(_) => Self(Self::BYTES - 1),
            QueueLength::Bytes(n) => Self(n.as_u64() | Self::BYTES),
        }
    }
    /// Returns the limit in its unit.
    pub(crate) const fn length(self) -> QueueLength {
        match self.0 & Self::BYTES {
            0 => QueueLength::Packets(self.0),
            _ => QueueLength::Bytes(Bytes::new(self.0 & !Self::BYTES)),
        }
    }
    /// No limit.
    pub(crate) const NONE: Self = Self(Self::BYTES - 1);
    /// Returns the length of `queue` in the unit of the limit, and the limit. `size` is added to
    /// the bytes.
    #[inline]
    const fn compare(self, queue: Occupancy, size: u32) -> (u64, u64) {
        if self.0 & Self::BYTES == 0 {
            (queue.packets as u64, self.0)
        } else {
            (queue.bytes + size as u64, self.0 & !Self::BYTES)
        }
    }
    /// Returns true if `queue` exceeds the limit.
    #[inline]
    pub(crate) const fn is_exceeded(self, queue: Occupancy) -> bool {
        let (length, limit) = self.compare(queue, 0);
        length > limit
    }
    /// Returns true if a packet of `size` bytes fits behind `queue`.
    #[inline]
    pub(crate) const fn fits(self, queue: Occupancy, size: u32) -> bool {
        let (length, limit) = self.compare(queue, size);
        let in_bytes = self.0 & Self::BYTES != 0;
        length < limit || in_bytes && length == limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn queue(packets: u32, bytes: u64) -> Occupancy {
        Occupancy { packets, bytes }
    }

    #[test]
    fn packets_and_bytes_compare_in_their_own_unit() {
        let packets = Limit::new(QueueLength::Packets(3));
        assert!(packets.is_exceeded(queue(4, 0)) && !packets.is_exceeded(queue(3, u64::MAX)));
        assert!(packets.fits(queue(2, u64::MAX - 9), 9) && !packets.fits(queue(3, 0), 0));
        let bytes = Limit::new(QueueLength::Bytes(Bytes::new(3_000)));
        assert!(bytes.is_exceeded(queue(0, 3_001)) && !bytes.is_exceeded(queue(9, 3_000)));
        assert!(bytes.fits(queue(9, 2_000), 1_000) && !bytes.fits(queue(0, 2_000), 1_001));
    }

    #[test]
    fn the_largest_lengths_keep_their_unit() {
        let packets = Limit::new(QueueLength::Packets(u64::MAX));
        assert!(
            packets.fits(queue(u32::MAX, u64::MAX), 0) && !packets.is_exceeded(queue(u32::MAX, 0))
        );
        let none = Limit::new(QueueLength::Packets(0));
        assert!(!none.fits(queue(0, 0), 1) && none.is_exceeded(queue(1, 0)));
    }
}
