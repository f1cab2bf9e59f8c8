//! A dynamic threshold over memory that queues share: each may hold alpha times what is free.
//!
//! ## What it does
//! A switch has memory of M bytes ([`crate::SwitchSpec::memory`]). Each queue with this rule has
//! `reserved` of it for itself; what is left, B = M - the sum of all `reserved`, is shared. A packet of
//! `size` that finds `held` bytes of its queue in memory is admitted if `held + size <= reserved`, or else
//! if both hold (Choudhury and Hahne 1998, eq. 1, with a reserved part):
//!
//! - `held + size - reserved <= alpha * free`, the threshold, and
//! - what it needs beyond what its queue holds of the shared part fits into `free`,
//!
//! where `free` is B less the sum over all queues of what each holds beyond its own `reserved`. So n
//! queues that always have more come to hold `alpha B / (1 + alpha n)` each.
//!
//! ## What is counted
//! IP bytes of packets, framing not counted, no rounding up to cells. A packet takes its memory when it
//! is admitted and gives it back at the end of its transmission: the packet on the line counts here,
//! whatever `count-in-service` says of K. Before a packet is judged, all that left any port of the same
//! memory, up to and with that instant, has given its memory back. `alpha` is an exact ratio; nothing is
//! rounded.

use super::{AdmissionRequest, Buffer};
use crate::Ratio;
use crate::registry::{Param, ParamFormat, RegistryEntry};

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "dynamic",
    summary: "alpha times the free part of memory that the queues of a switch share",
    spec: "Choudhury and Hahne 1998; DCTCP §2.3.4",
    params: &[
        Param {
            name: "alpha",
            kind: ParamFormat::Ratio,
            default: None,
            doc: "A queue may hold this times the free shared memory.",
        },
        Param {
            name: "reserved",
            kind: ParamFormat::Size,
            default: Some("0 B"),
            doc: "What is always the queue's own.",
        },
    ],
};

/// The rule of one queue.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    alpha: Ratio,
    reserved: u64,
}

impl Dynamic {
    /// `alpha` times what is free, and `reserved` bytes in any case.
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
    fn the_threshold_is_alpha_times_what_is_free_and_exact() {
        assert!(admits((1, 3), 0, 2_000, 9_000));
        assert!(!admits((1, 3), 0, 2_000, 8_999));
        assert!(admits((1, 3), 500, 2_500, 9_000), "what is reserved does not count");
        assert!(!admits((1, 3), 500, 2_501, 9_000));
        assert!(!admits((0, 1), 0, 0, u64::MAX), "nothing of it");
    }

    #[test]
    fn what_is_reserved_is_there_in_any_case() {
        assert!(admits((1, 1), 3_000, 2_000, 0));
        assert!(!admits((1, 1), 3_000, 2_001, 0));
    }

    #[test]
    fn a_large_alpha_makes_no_memory() {
        // The threshold is 16000 B; the 1000 B must be free all the same.
        assert!(admits((16, 1), 0, 5_000, 1_000));
        assert!(!admits((16, 1), 0, 5_000, 999));
        // Of these 1000 B the queue has 400 B of its own.
        assert!(admits((16, 1), 400, 0, 600));
        assert!(!admits((16, 1), 400, 0, 599));
    }
}
