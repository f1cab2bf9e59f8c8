//! Eifel detection of a spurious recovery by timestamps (RFC 3522), as a pure state machine.
//!
//! Knows neither cwnd nor ssthresh. Decides whether the ACKs of new data after the first
//! retransmission of an episode acknowledge original transmissions. Within one tick of the
//! timestamp clock the answer is no; in a data centre the tick must be shorter than an RTT.

/// Bound on the segments visited by undos in one window of data: 8 x 8,192, where 8,192 is a send
/// buffer of 4 MiB in segments of 512 B. An undo may visit all segments in flight, and a peer that
/// echoes old timestamps could otherwise cause an undo by every other ACK.
///
/// Deviation from RFC 4015, which has no bound.
pub(crate) const MAX_VISITED: u32 = 65_536;

/// The Eifel detector of one connection.
///
/// RetransmitTS outlives the episode while a retransmission of an earlier one is outstanding: its
/// ACK echoes a timestamp older than the first retransmission of the present episode, and must not
/// count as the ACK of an original. RFC 3522 §3.2 step 2 keeps RetransmitTS within one loss
/// recovery; Linux does as here (`tcp_retrans_stamp_cleanup`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eifel {
    /// Segments at or above this offset were sent once.
    retransmitted_upto: u64,
    /// RetransmitTS: TSval of the first of the retransmissions that may still be outstanding;
    /// `None` before the episode retransmits.
    retransmit_ts: Option<u32>,
    /// No further ACK changes the verdict about the present episode.
    decided: bool,
    /// The peer has sent a DSACK before (RFC 2883).
    dsack_seen: bool,
    /// Sum of segments in flight at the reactions undone since the last time SND.UNA reached
    /// `round_end`.
    visited: u32,
    round_end: u64,
}

/// Fields of an ACK that advances SND.UNA in an episode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EifelAck {
    /// TSecr.
    pub(crate) echo: u32,
    /// The ACK carries a DSACK.
    pub(crate) dsack: bool,
    /// The ACK covers all data that was sent.
    pub(crate) acks_all: bool,
    /// A retransmission of the episode is still in flight after the ACK.
    pub(crate) retransmission_in_flight: bool,
}

/// Verdict of one ACK about the episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EifelVerdict {
    /// All its retransmissions were unnecessary.
    Spurious,
    /// Originals arrived late, and a retransmission is still in flight.
    Undecided,
    /// No undo: a loss was repaired, the ACK is ambiguous, or the episode was decided before.
    NoUndo,
}

impl Eifel {
    /// Begins an episode, with SND.UNA at `una` (step 1).
    pub(crate) const fn begin_episode(&mut self, una: u64) {
        self.decided = false;
        if !self.has_outstanding_retransmission(una) {
            self.retransmit_ts = None;
        }
    }

    /// Returns whether data from SND.UNA (`una`) on was sent more than once, so that the next ACKs
    /// may be of retransmissions.
    const fn has_outstanding_retransmission(&self, una: u64) -> bool {
        una < self.retransmitted_upto
    }

    /// Records the retransmission of a segment up to `end`, with SND.UNA at `una` and its TSval if
    /// timestamps are in use (step 2).
    pub(crate) const fn on_retransmit(&mut self, una: u64, end: u64, value: Option<u32>) {
        if !self.has_outstanding_retransmission(una) {
            self.retransmit_ts = value;
        }
        if end > self.retransmitted_upto {
            self.retransmitted_upto = end;
        }
    }

    /// Records a DSACK (condition of step 5).
    pub(crate) const fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// A retransmission repaired a loss in this episode.
    pub(crate) const fn on_repair(&mut self) {
        self.decided = true;
    }

    /// Returns whether one more reaction may be undone, with `segments` in flight.
    pub(crate) const fn may_undo(&mut self, snd_una: u64, snd_nxt: u64, segments: usize) -> bool {
        if snd_una >= self.round_end {
            self.round_end = snd_nxt;
            self.visited = 0;
        }
        let segments = if segments > MAX_VISITED as usize { u32::MAX } else { segments as u32 };
        let visited = self.visited.saturating_add(segments);
        let allowed = visited <= MAX_VISITED;
        if allowed {
            self.visited = visited;
        }
        allowed
    }

    /// Judges the episode by an ACK of new data (steps 3 to 6).
    ///
    /// The first ACK of new data that is not of an original decides: a loss was repaired. ACKs of
    /// originals decide only when no retransmission is in flight any more, as in Linux
    /// (`tcp_try_undo_partial`): one segment may be late and another one lost. An ACK of new data
    /// before anything was retransmitted is of an original.
    ///
    /// From a peer that never sent a DSACK, an ACK of all data may be the response to the
    /// retransmission after all earlier ACKs were lost. It then echoes the old timestamp too.
    pub(crate) fn on_ack(&mut self, ack: EifelAck) -> EifelVerdict {
        if self.decided {
            return EifelVerdict::NoUndo;
        }
        let original = self.retransmit_ts.is_none_or(|first| is_older(ack.echo, first));
        let late = original && !ack.dsack && (self.dsack_seen || !ack.acks_all);
        if late && ack.retransmission_in_flight {
            return EifelVerdict::Undecided;
        }
        self.decided = true;
        if late { EifelVerdict::Spurious } else { EifelVerdict::NoUndo }
    }
}

/// Returns whether timestamp `a` is older than `b` (RFC 7323 §5.2).
const fn is_older(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECHO: EifelAck =
        EifelAck { echo: 9, dsack: false, acks_all: false, retransmission_in_flight: false };

    fn is_spurious(eifel: &mut Eifel, ack: EifelAck) -> bool {
        eifel.on_ack(ack) == EifelVerdict::Spurious
    }

    /// An episode from offset 0 whose first two segments, of 10 bytes, were retransmitted.
    fn sent_at(value: u32) -> Eifel {
        let mut eifel = Eifel::default();
        eifel.begin_episode(0);
        eifel.on_retransmit(0, 10, Some(value));
        eifel.on_retransmit(0, 20, Some(value.wrapping_add(100)));
        eifel
    }

    #[test]
    fn an_older_echo_than_the_first_retransmission_is_spurious_once() {
        let mut eifel = sent_at(10);
        assert!(is_spurious(&mut eifel, ECHO));
        assert!(!is_spurious(&mut eifel, ECHO), "once in an episode");
        for echo in [10, 11, 110] {
            assert!(!is_spurious(&mut sent_at(10), EifelAck { echo, ..ECHO }), "{echo}");
        }
    }

    #[test]
    fn an_ack_before_any_retransmission_is_of_an_original() {
        let mut eifel = Eifel::default();
        eifel.begin_episode(0);
        assert!(is_spurious(&mut eifel, ECHO));
    }

    #[test]
    fn a_late_segment_undoes_nothing_while_a_retransmission_is_in_flight() {
        let out = EifelAck { retransmission_in_flight: true, ..ECHO };
        let mut eifel = sent_at(10);
        assert!(!is_spurious(&mut eifel, out));
        assert!(is_spurious(&mut eifel, ECHO), "the other one was late too");
        let mut eifel = sent_at(10);
        assert!(!is_spurious(&mut eifel, out));
        assert!(!is_spurious(&mut eifel, EifelAck { echo: 110, ..ECHO }), "the other one was lost");
        assert!(!is_spurious(&mut eifel, ECHO), "decided");
        let mut eifel = sent_at(10);
        eifel.on_repair();
        assert!(!is_spurious(&mut eifel, ECHO), "a retransmission was SACKed");
    }

    #[test]
    fn a_retransmission_of_the_episode_before_is_no_original() {
        let mut eifel = sent_at(10);
        assert!(!is_spurious(&mut eifel, EifelAck { echo: 10, ..ECHO }));
        eifel.begin_episode(10);
        eifel.on_retransmit(10, 40, Some(300));
        assert!(!is_spurious(&mut eifel, EifelAck { echo: 110, ..ECHO }), "sent at 110");
        eifel.begin_episode(40);
        eifel.on_retransmit(40, 50, Some(500));
        assert!(
            is_spurious(&mut eifel, EifelAck { echo: 499, ..ECHO }),
            "no other was outstanding"
        );
    }

    #[test]
    fn an_old_timestamp_does_not_count_after_half_a_cycle_of_the_clock() {
        let mut eifel = sent_at(10);
        assert!(!is_spurious(&mut eifel, EifelAck { echo: 10, ..ECHO }));
        // A tail loss probe is a retransmission outside of an episode.
        eifel.on_retransmit(20, 30, Some(1 << 31));
        eifel.begin_episode(20);
        assert!(!is_spurious(&mut eifel, EifelAck { echo: (1 << 31) + 20, ..ECHO }));
    }

    #[test]
    fn undone_reactions_visit_a_bounded_number_of_segments_in_a_window_of_data() {
        let mut eifel = Eifel::default();
        for una in 0..8 {
            assert!(eifel.may_undo(una, 100, MAX_VISITED as usize / 8));
        }
        assert!(!eifel.may_undo(99, 150, 1));
        assert!(eifel.may_undo(100, 150, 1), "the next window");
    }

    #[test]
    fn the_clock_wraps() {
        assert!(is_spurious(&mut sent_at(3), EifelAck { echo: u32::MAX - 2, ..ECHO }));
        assert!(!is_spurious(&mut sent_at(u32::MAX - 200), EifelAck { echo: 3, ..ECHO }));
    }

    #[test]
    fn lost_acks_are_distinguished_from_late_data() {
        assert!(!is_spurious(&mut sent_at(10), EifelAck { dsack: true, ..ECHO }));
        assert!(!is_spurious(&mut sent_at(10), EifelAck { acks_all: true, ..ECHO }));
        let mut eifel = sent_at(10);
        eifel.on_dsack();
        assert!(is_spurious(&mut eifel, EifelAck { acks_all: true, ..ECHO }));
    }
}
