//! One loss episode, from the first sign of loss to the ACK that covers all data outstanding at its
//! start.

use super::frto::{FRto, FRtoAck};

/// The state of loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RecoveryPhase {
    /// No recovery is under way.
    #[default]
    Open,
    /// Fast recovery (RFC 6675 or RFC 6582) until SND.UNA reaches `recovery_point`.
    FastRecovery {
        /// HighData at the start of recovery.
        recovery_point: u64,
        /// By the scoreboard (RFC 6675); else by counting duplicate ACKs (RFC 6582).
        sack: bool,
    },
    /// After a retransmission timeout, until SND.UNA reaches `recovery_point`.
    Timeout {
        /// HighData when the timer fired.
        recovery_point: u64,
    },
}

/// The state of loss recovery outside of the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Episode {
    pub(in crate::loss) phase: RecoveryPhase,
    /// Consecutive duplicate ACKs (RFC 5681 §2); with SACK, ACKs that newly SACK data (RFC 6675
    /// §2).
    pub(in crate::loss) dup_acks: u32,
    /// RFC 6582 `recover`: a new fast recovery needs an ACK beyond it. `None` before the first.
    pub(in crate::loss) recover: Option<u64>,
    /// RFC 6582 window inflation, bytes.
    pub(in crate::loss) inflation: u64,
    /// Bytes by which duplicate ACKs may still inflate the window in this episode. They cannot
    /// represent more segments than were outstanding at its start (RFC 5681 §3.2, after step 6).
    pub(in crate::loss) inflation_left: u64,
    /// The next segment is sent even if the window is full (RFC 6675 step 4.3, RFC 6582 §3.2).
    pub(in crate::loss) force_one: bool,
    /// RescueRxt of RFC 6675 was used in this episode.
    pub(in crate::loss) rescued: bool,
    /// The last ACK was of a late original while a retransmission is in flight: nothing more is
    /// retransmitted before the next ACK, as in Linux (`tcp_try_undo_partial`).
    pub(in crate::loss) holds_retransmissions: bool,
    /// Detection of a spurious timeout (switch `undo`).
    frto: FRto,
}

impl Episode {
    /// Returns whether the sender is in fast recovery or in recovery after a timeout.
    pub(crate) const fn in_recovery(&self) -> bool {
        !matches!(self.phase, RecoveryPhase::Open)
    }

    pub(crate) const fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, RecoveryPhase::FastRecovery { .. })
    }

    pub(crate) const fn after_timeout(&self) -> bool {
        matches!(self.phase, RecoveryPhase::Timeout { .. })
    }

    /// Returns whether SND.UNA, at `una`, has reached the end of the recovery under way.
    pub(crate) const fn is_over(&self, una: u64) -> bool {
        match self.phase {
            RecoveryPhase::Open => true,
            RecoveryPhase::FastRecovery { recovery_point, .. }
            | RecoveryPhase::Timeout { recovery_point } => una >= recovery_point,
        }
    }

    /// The end of the recovery under way, or of the last one.
    pub(crate) const fn recovery_point(&self) -> Option<u64> {
        self.recover
    }

    /// Returns whether fast recovery counts duplicate ACKs (RFC 6582).
    pub(crate) const fn in_newreno_recovery(&self) -> bool {
        matches!(self.phase, RecoveryPhase::FastRecovery { sack: false, .. })
    }

    /// Consecutive duplicate ACKs; with SACK, ACKs that newly SACK data.
    pub(crate) const fn dup_acks(&self) -> u32 {
        self.dup_acks
    }

    /// Ends a run of duplicate ACKs: SND.UNA advanced.
    #[inline]
    pub(crate) const fn end_duplicates(&mut self) {
        self.dup_acks = 0;
    }

    /// Returns whether a segment is sent even if the window is full.
    pub(crate) const fn must_send_one(&self) -> bool {
        self.force_one
    }

    /// A segment was retransmitted. More than one before the first ACK ends F-RTO: the ACKs may be
    /// of the retransmissions.
    pub(crate) fn on_retransmit(&mut self) {
        if self.frto == FRto::FirstAck && !self.force_one {
            self.frto = FRto::Off;
        }
        self.force_one = false;
    }

    /// Sets whether retransmissions wait for the next ACK.
    pub(crate) const fn hold_retransmissions(&mut self, hold: bool) {
        self.holds_retransmissions = hold;
    }

    /// Returns whether retransmissions wait for the next ACK.
    pub(crate) const fn holds_retransmissions(&self) -> bool {
        self.holds_retransmissions
    }

    /// Returns whether RescueRxt was used in this episode (RFC 6675 NextSeg rule 4).
    pub(crate) const fn is_rescued(&self) -> bool {
        self.rescued
    }

    /// RescueRxt is used.
    pub(crate) const fn on_rescue(&mut self) {
        self.rescued = true;
    }

    /// Returns whether a new fast recovery may begin: not after a timeout, and only if SND.UNA has
    /// reached the end of the last episode (RFC 6675 §5.1). Without SACK it must be beyond that end
    /// (RFC 6582 §3.2 step 2): at the end itself, the duplicates may result from unneeded
    /// retransmissions.
    pub(crate) fn may_begin(&self, snd_una: u64, sack: bool) -> bool {
        let over = |r| if sack { snd_una >= r } else { snd_una > r };
        matches!(self.phase, RecoveryPhase::Open) && self.recover.is_none_or(over)
    }

    /// Begins fast recovery with SND.NXT at `recovery_point`.
    pub(crate) fn begin(&mut self, recovery_point: u64, sack: bool) {
        self.phase = RecoveryPhase::FastRecovery { recovery_point, sack };
        self.recover = Some(recovery_point);
        self.force_one = true;
        self.rescued = false;
        self.holds_retransmissions = false;
        self.inflation = 0;
    }

    /// Begins recovery after a retransmission timeout with SND.NXT at `recovery_point`.
    pub(crate) fn on_rto(&mut self, recovery_point: u64) {
        self.frto = FRto::Off;
        self.phase = RecoveryPhase::Timeout { recovery_point };
        self.recover = Some(recovery_point);
        self.dup_acks = 0;
        self.inflation = 0;
        self.holds_retransmissions = false;
        self.force_one = true;
    }

    /// Ends an episode that was spurious. With SACK the next one may begin at once. Without SACK,
    /// the duplicates that the retransmissions cause must not begin one.
    pub(crate) fn undo(&mut self, sack: bool) {
        self.end();
        if sack {
            self.recover = None;
        }
    }

    /// Begins F-RTO after the timeout.
    pub(crate) const fn begin_frto(&mut self) {
        self.frto = FRto::FirstAck;
    }

    /// F-RTO is running.
    pub(crate) fn frto_runs(&self) -> bool {
        self.frto != FRto::Off
    }

    /// F-RTO permits new data instead of retransmissions.
    pub(crate) fn frto_sends_new_data(&self) -> bool {
        self.frto == FRto::SecondAck
    }

    /// Applies an ACK to F-RTO: true if the timeout was spurious.
    pub(crate) const fn frto_on_ack(&mut self, ack: FRtoAck) -> bool {
        self.frto.on_ack(ack)
    }

    /// Ends F-RTO: no new data can be sent although it was permitted. False if some was sent since
    /// the timeout, with SND.NXT at `snd_nxt`.
    pub(crate) fn end_frto_without_data(&mut self, snd_nxt: u64) -> bool {
        let nothing_sent = self.recover == Some(snd_nxt);
        if nothing_sent {
            self.frto = FRto::Off;
        }
        nothing_sent
    }

    /// Ends the episode.
    pub(crate) fn end(&mut self) {
        self.frto = FRto::Off;
        self.phase = RecoveryPhase::Open;
        self.dup_acks = 0;
        self.inflation = 0;
        self.holds_retransmissions = false;
        self.force_one = false;
    }
}
