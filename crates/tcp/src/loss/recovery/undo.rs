//! Eifel detection of a spurious recovery by timestamps (RFC 3522), as a pure state machine.
//!
//! Does not know windows. Decides whether the first ACK of new data after the first retransmission
//! of an episode acknowledges the original transmission. Within one tick of the timestamp clock the
//! answer is no; in a data centre the tick must be shorter than an RTT.

/// Bound on the segments in flight, summed over the reactions undone within one window of data:
/// eight times the full segments in a send buffer of 4 MiB. Each undo may visit all of them, and a
/// peer that echoes old timestamps could have every other ACK undo a reaction.
///
/// Deviation from RFC 4015, which has no bound.
pub(crate) const MAX_VISITED: usize = 65_536;

/// The Eifel detector of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eifel {
    armed: bool,
    /// RetransmitTS: TSval of the first retransmission of the episode.
    retransmit_ts: Option<u32>,
    /// The peer has sent a DSACK before (RFC 2883).
    dsack_seen: bool,
    /// Sum of segments in flight at the reactions undone since the last time SND.UNA reached
    /// `round_end`.
    visited: usize,
    round_end: u64,
}

/// Fields of the first ACK that advances SND.UNA in an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EifelAck {
    /// TSecr.
    pub(crate) echo: u32,
    /// The ACK carries a DSACK.
    pub(crate) dsack: bool,
    /// The ACK covers all data that was sent.
    pub(crate) acks_all: bool,
}

impl Eifel {
    /// Arms the detector: recovery begins, and nothing was retransmitted yet (step 1).
    pub(crate) const fn arm(&mut self) {
        self.armed = true;
        self.retransmit_ts = None;
    }

    /// Records the TSval of a retransmission; only the first of an episode counts (step 2).
    pub(crate) const fn on_retransmit(&mut self, value: u32) {
        if self.armed {
            self.armed = false;
            self.retransmit_ts = Some(value);
        }
    }

    /// Records a DSACK (condition of step 5).
    pub(crate) const fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Returns whether one more reaction may be undone, with `segments` in flight.
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

    /// Checks the first ACK of new data in the episode (steps 3 to 6): true if the original
    /// arrived.
    ///
    /// From a peer that never sent a DSACK, an ACK of all data may be the response to the
    /// retransmission after all earlier ACKs were lost. It then echoes the old timestamp too.
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
        assert!(!Eifel::default().is_spurious(ECHO), "nothing was retransmitted");
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
    fn lost_acks_are_distinguished_from_late_data() {
        assert!(!sent_at(10).is_spurious(EifelAck { dsack: true, ..ECHO }));
        assert!(!sent_at(10).is_spurious(EifelAck { acks_all: true, ..ECHO }));
        let mut eifel = sent_at(10);
        eifel.on_dsack();
        assert!(eifel.is_spurious(EifelAck { acks_all: true, ..ECHO }));
    }
}
