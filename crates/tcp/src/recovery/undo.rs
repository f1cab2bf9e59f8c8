//! The Eifel detection of a spurious recovery by timestamps (RFC 3522), as a pure state machine.
//!
//! Knows nothing of windows: it says whether the first ACK of new data after the first retransmission
//! of an episode was sent for the original. Within one tick of the timestamp clock it says no, so in a
//! data centre the tick must be shorter than a round trip.

/// Segments in flight, summed over the reactions that are undone within one window of data: eight times the full
/// segments that a send buffer of 4 MiB allows. Each undo may visit every one of them, and a peer that echoes old timestamps
/// could have every other ACK undo a reaction.
///
/// Deviation from RFC 4015, which has no bound.
pub(crate) const MAX_VISITED: usize = 65_536;

/// The detector of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eifel {
    armed: bool,
    /// TSval of the first retransmission of the episode (RetransmitTS).
    retransmit_ts: Option<u32>,
    /// The peer has reported a duplicate before (RFC 2883).
    dsack_seen: bool,
    /// Segments in flight at the reactions that were undone before SND.UNA reaches `round_end`.
    visited: usize,
    round_end: u64,
}

/// Fields of the ACK that advances SND.UNA first in an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EifelAck {
    /// TSecr.
    pub(crate) echo: u32,
    /// It carries a DSACK.
    pub(crate) dsack: bool,
    /// It acknowledges everything that was sent.
    pub(crate) acks_all: bool,
}

impl Eifel {
    /// Recovery begins, and nothing was sent again yet (step 1).
    pub(crate) const fn arm(&mut self) {
        self.armed = true;
        self.retransmit_ts = None;
    }

    /// A retransmission leaves with this TSval; only the first of an episode counts (step 2).
    pub(crate) const fn on_retransmit(&mut self, value: u32) {
        if self.armed {
            self.armed = false;
            self.retransmit_ts = Some(value);
        }
    }

    /// A DSACK came (condition of step 5).
    pub(crate) const fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Whether one more reaction may be undone, with `segments` in flight.
    pub(crate) const fn may_undo(&mut self, snd_una: u64, snd_nxt: u64, segments: usize) -> bool {
        if snd_una >= self.round_end {
            self.round_end = snd_nxt;
            self.visited = 0;
        }
        let visited = self.visited.saturating_add(segments);
        let allowed = visited <= MAX_VISITED;
        if allowed {
            self.visited = visited;
        }
        allowed
    }

    /// The first ACK of new data in the episode (steps 3 to 6): true when the original got through.
    ///
    /// An ACK of everything from a peer that never sent a DSACK may be the answer to the
    /// retransmission after all the ACKs before it were lost: then it echoes the old time, too.
    pub(crate) fn is_spurious(&mut self, ack: EifelAck) -> bool {
        let Some(first) = self.retransmit_ts.take() else { return false };
        let older = ack.echo.wrapping_sub(first).cast_signed() < 0;
        older && !ack.dsack && (self.dsack_seen || !ack.acks_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: EifelAck = EifelAck { echo: 9, dsack: false, acks_all: false };

    fn sent_at(value: u32) -> Eifel {
        let mut eifel = Eifel::default();
        eifel.arm();
        eifel.on_retransmit(value);
        eifel.on_retransmit(value + 100);
        eifel
    }

    #[test]
    fn an_older_echo_than_the_first_retransmission_is_spurious_once() {
        let mut eifel = sent_at(10);
        assert!(eifel.is_spurious(ECHO));
        assert!(!eifel.is_spurious(ECHO), "only the first ACK of new data");
        for echo in [10, 11, 110] {
            assert!(!sent_at(10).is_spurious(EifelAck { echo, ..ECHO }), "{echo}");
        }
        assert!(!Eifel::default().is_spurious(ECHO), "nothing was sent again");
    }

    #[test]
    fn undone_reactions_visit_a_bounded_number_of_segments_in_a_window_of_data() {
        let mut eifel = Eifel::default();
        for una in 0..8 {
            assert!(eifel.may_undo(una, 100, MAX_VISITED / 8));
        }
        assert!(!eifel.may_undo(99, 150, 1));
        assert!(eifel.may_undo(100, 150, 1), "the next window");
    }

    #[test]
    fn the_clock_wraps() {
        assert!(sent_at(3).is_spurious(EifelAck { echo: u32::MAX - 2, ..ECHO }));
        assert!(!sent_at(u32::MAX - 200).is_spurious(EifelAck { echo: 3, ..ECHO }));
    }

    #[test]
    fn lost_acks_are_told_from_late_data() {
        assert!(!sent_at(10).is_spurious(EifelAck { dsack: true, ..ECHO }));
        assert!(!sent_at(10).is_spurious(EifelAck { acks_all: true, ..ECHO }));
        let mut eifel = sent_at(10);
        eifel.on_dsack();
        assert!(eifel.is_spurious(EifelAck { acks_all: true, ..ECHO }));
    }
}
