//! A fixed size per port: a packet is admitted if queue plus packet fit.

use lowtide_schema::DefaultValue::Required;
use lowtide_schema::{Param, ValueKind};

use super::{AdmissionRequest, Buffer, BufferEntry};
use crate::QueueLength;
use crate::limit::Limit;

/// Registration.
pub static ENTRY: BufferEntry = BufferEntry {
    name: "static",
    summary: "a fixed share per port",
    spec: "lowtide",
    params: &[Param {
        name: "size",
        kind: ValueKind::Length,
        default: Required,
        doc: "Capacity of the queue, in packets or in bytes of IP packets.",
        source: "lowtide",
    }],
};

/// The fixed limit.
#[derive(Clone, Copy, Debug)]
pub struct Static {
    size: Limit,
}

impl Static {
    /// Returns a rule with this limit.
    pub const fn new(size: QueueLength) -> Self {
        Self { size: Limit::new(size) }
    }

    /// Returns the limit.
    pub(super) const fn size(self) -> Limit {
        self.size
    }
}

impl Buffer for Static {
    #[inline]
    fn admits(&self, room: &AdmissionRequest) -> bool {
        self.size.fits(room.backlog, room.size)
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Bytes;

    use super::*;
    use crate::Occupancy;

    #[test]
    fn the_last_packet_fits_exactly() {
        let packets = Static::new(QueueLength::Packets(3));
        let bytes = Static::new(QueueLength::Bytes(Bytes::new(4_500)));
        let room = |packets, bytes, size| {
            let found = Occupancy { packets, bytes };
            AdmissionRequest { backlog: found, size, held: 0, free: 0 }
        };
        assert!(packets.admits(&room(2, u64::MAX, u32::MAX)));
        assert!(!packets.admits(&room(3, 0, 1)));
        assert!(bytes.admits(&room(u32::MAX, 3_000, 1_500)));
        assert!(!bytes.admits(&room(0, 3_001, 1_500)));
        assert!(bytes.admits(&room(0, 4_460, 40)), "a small one still fits");
    }
}
