//! Dynamic threshold over shared memory: each queue may hold alpha times the free memory.
//!
//! ## Algorithm
//! A switch has M bytes of memory ([`crate::SwitchSpec::memory`]). Each queue with this rule has
//! `reserved` bytes for itself; the rest, B = M - the sum of all `reserved`, is shared. A packet of
//! `size` that finds `held` bytes of its queue in memory is admitted if `held + size <= reserved`,
//! or if both hold (Choudhury and Hahne 1998, eq. 1, with a reserved part):
//!
//! - `held + size - reserved <= alpha * free`, the threshold, and
//! - the additional shared bytes that it needs fit into `free`,
//!
//! where `free` is B minus the sum over all queues of the bytes held beyond `reserved`. So n queues
//! under persistent load converge to `alpha B / (1 + alpha n)` each.
//!
//! ## Accounting
//! IP bytes of packets, without framing or rounding to cells. A packet takes its memory at
//! admission and frees it at the end of its transmission. So the packet in service counts here,
//! whatever `count-in-service` says about K. Memory of packets that left any port of the same
//! memory, up to and including that instant, is freed before the decision. `alpha` is an exact
//! ratio; nothing is rounded.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{Param, ValueKind, Values};

use super::{AdmissionRequest, Buffer, BufferEntry};
use crate::{BufferSpec, Ratio};

/// Registration.
pub static ENTRY: BufferEntry = BufferEntry {
    name: "dynamic",
    summary: "alpha times the free part of the shared memory of a switch",
    spec: "Choudhury and Hahne 1998; DCTCP §2.3.4",
    params: &[
        Param {
            name: "alpha",
            kind: ValueKind::Ratio,
            default: Is("1"),
            doc: "A queue may hold `alpha` times the free shared memory.",
            source: "Choudhury and Hahne 1998, eq. 1",
        },
        Param {
            name: "reserved",
            kind: ValueKind::Bytes { min: 0, max: u64::MAX },
            default: Is("0 B"),
            doc: "Bytes reserved for the queue, not part of the shared memory.",
            source: "lowtide",
        },
    ],
};

/// Returns the buffer with these values of the parameters.
pub fn spec(values: &Values) -> BufferSpec {
    BufferSpec::Dynamic { alpha: values.ratio("alpha"), reserved: values.bytes("reserved") }
}

/// The rule of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    alpha: Ratio,
    reserved: u64,
}

impl Dynamic {
    /// Returns a rule with `alpha` times the free memory and `reserved` bytes in any case.
    pub const fn new(alpha: Ratio, reserved: u64) -> Self {
        Self { alpha, reserved }
    }
}

impl Buffer for Dynamic {
    #[inline(never)]
    fn admits(&self, room: &AdmissionRequest) -> bool {
        let with_it = room.held + u64::from(room.size);
        let Some(shared) = with_it.checked_sub(self.reserved) else { return true };
        let has = room.held.saturating_sub(self.reserved);
        let (num, den) = (u128::from(self.alpha.num), u128::from(self.alpha.den.get()));
        u128::from(shared) * den <= num * u128::from(room.free) && shared - has <= room.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Occupancy;

    fn admits(alpha: (u32, u32), reserved: u64, held: u64, free: u64) -> bool {
        let alpha = Ratio::new(alpha.0, alpha.1).unwrap();
        let room = AdmissionRequest { backlog: Occupancy::default(), size: 1_000, held, free };
        Dynamic::new(alpha, reserved).admits(&room)
    }

    #[test]
    fn the_threshold_is_exactly_alpha_times_free() {
        assert!(admits((1, 3), 0, 2_000, 9_000));
        assert!(!admits((1, 3), 0, 2_000, 8_999));
        assert!(admits((1, 3), 500, 2_500, 9_000), "reserved bytes do not count");
        assert!(!admits((1, 3), 500, 2_501, 9_000));
        assert!(!admits((0, 1), 0, 0, u64::MAX), "alpha of zero admits nothing");
    }

    #[test]
    fn reserved_bytes_are_always_available() {
        assert!(admits((1, 1), 3_000, 2_000, 0));
        assert!(!admits((1, 1), 3_000, 2_001, 0));
    }

    #[test]
    fn a_large_alpha_does_not_exceed_free() {
        // The threshold is 16000 B, but 1000 B must be free.
        assert!(admits((16, 1), 0, 5_000, 1_000));
        assert!(!admits((16, 1), 0, 5_000, 999));
        // 400 B of these 1000 B are reserved.
        assert!(admits((16, 1), 400, 0, 600));
        assert!(!admits((16, 1), 400, 0, 599));
    }
}
