//! One loss episode: from the first sign to the ACK that covers what was outstanding at its start.

/// Where the sender is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RecoveryPhase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery (RFC 6675 or RFC 6582) until SND.UNA reaches `point`.
    FastRecovery {
        /// HighData when it began.
        recovery_point: u64,
        /// With the scoreboard (RFC 6675) or by counting (RFC 6582).
        sack: bool,
    },
    /// After a retransmission timeout, until SND.UNA reaches `point`.
    Timeout {
        /// HighData when the timer fired.
        recovery_point: u64,
    },
}

/// The state of loss recovery beside the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Episode {
    pub(crate) phase: RecoveryPhase,
    /// Duplicate ACKs in a row (RFC 5681 §2; with SACK: ACKs with news, RFC 6675 §2).
    pub(crate) dup_acks: u32,
    /// RFC 6582 `recover`: a new fast recovery needs an ACK beyond it. `None` before the first.
    pub(crate) recover: Option<u64>,
    /// RFC 6582 window inflation, bytes.
    pub(crate) inflation: u64,
    /// Bytes by which duplicates may still inflate it in this episode (RFC 5681 §3.2, after step 6): they
    /// cannot stand for more segments than were outstanding at its start.
    pub(crate) inflation_left: u64,
    /// The next segment goes out whatever the window says (RFC 6675 step 4.3, RFC 6582 §3.2).
    pub(crate) force_one: bool,
    /// RFC 6675 RescueRxt was used in this episode.
    pub(crate) rescued: bool,
}

impl Episode {
    /// In fast recovery or after a timeout.
    pub(crate) const fn in_recovery(&self) -> bool {
        !matches!(self.phase, RecoveryPhase::Open)
    }
    pub(crate) const fn in_fast_recovery(&self) -> bool {
        matches!(self.phase, RecoveryPhase::FastRecovery { .. })
    }
    pub(crate) const fn after_timeout(&self) -> bool {
        matches!(self.phase, RecoveryPhase::Timeout { .. })
    }
    /// A new fast recovery may begin: not after a timeout, and SND.UNA has reached the end of the
    /// last episode (RFC 6675 §5.1). Without SACK it must be beyond it (RFC 6582 §3.2 step 2): at the
    /// end itself the duplicates may be those of retransmissions that were not needed.
    pub(crate) fn may_begin(&self, snd_una: u64, sack: bool) -> bool {
        let over = |r| if sack { snd_una >= r } else { snd_una > r };
        matches!(self.phase, RecoveryPhase::Open) && self.recover.is_none_or(over)
    }
    /// Fast recovery begins with SND.NXT at `point`.
    pub(crate) fn begin(&mut self, point: u64, sack: bool) {
        self.phase = RecoveryPhase::FastRecovery { recovery_point: point, sack };
        self.recover = Some(point);
        self.force_one = true;
        self.rescued = false;
        self.inflation = 0;
    }
    /// The timer fired with SND.NXT at `point`.
    pub(crate) fn on_rto(&mut self, point: u64) {
        self.phase = RecoveryPhase::Timeout { recovery_point: point };
        self.recover = Some(point);
        self.dup_acks = 0;
        self.inflation = 0;
        self.force_one = true;
    }
    /// The episode was a mistake. With SACK the next one may begin at once; without, the duplicates
    /// that the retransmissions cause must not begin it.
    pub(crate) fn undo(&mut self, sack: bool) {
        self.end();
        if sack {
            self.recover = None;
        }
    }
    /// The episode is over.
    pub(crate) fn end(&mut self) {
        self.phase = RecoveryPhase::Open;
        self.dup_acks = 0;
        self.inflation = 0;
        self.force_one = false;
    }
}
