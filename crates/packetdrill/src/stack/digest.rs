//! Hashes of all packets on the wire.

use lowtide_units::Instant;

/// FNV-1a over each unmodified packet and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketDigest(u64);

impl Default for PacketDigest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl PacketDigest {
    pub(super) const fn value(self) -> u64 {
        self.0
    }

    pub(super) fn update(&mut self, at: Instant, direction: Direction, bytes: &[u8]) {
        self.bytes(&at.as_ps().to_be_bytes());
        self.bytes(&[direction as u8]);
        self.bytes(bytes);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// To the host.
    In = 0,
    /// From the host.
    Out = 1,
}
