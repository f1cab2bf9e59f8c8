//! The handshake state of a connection.

use lowtide_units::Instant;

/// State that is needed only during the handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    /// A SYN or SYN-ACK must be sent.
    pub(super) syn_due: bool,
    /// Send time of our first SYN: start of the user timeout.
    pub(super) opened_at: Option<Instant>,
    /// Last send time of SYN or SYN-ACK.
    pub(super) sent_at: Option<Instant>,
    /// SYN or SYN-ACK was sent more than once, or a SYN and then a SYN-ACK: its ACK is ambiguous
    /// (Karn).
    pub(super) repeated: bool,
    /// Losses of SYN or SYN-ACK, shown by a timeout or by the peer's retransmission.
    pub(super) retransmissions: u32,
    pub(super) peer: PeerOptions,
    /// Offset of our TSval.
    pub(super) ts_base: u32,
    /// Seed of the random numbers of the congestion control.
    pub(crate) cc_seed: u64,
}

impl Handshake {
    /// Records a timeout of our SYN or SYN-ACK: it is sent again.
    pub(crate) const fn on_syn_timeout(&mut self) {
        self.retransmissions += 1;
        self.syn_due = true;
    }

    /// Records that the peer repeated its SYN: our SYN-ACK was lost and is sent again.
    pub(crate) fn on_syn_repeated(&mut self) {
        self.retransmissions = self.retransmissions.max(1);
        self.syn_due = true;
    }

    /// A SYN crossed ours and is answered by the first SYN-ACK.
    pub(super) fn on_crossed_syn(&mut self) {
        self.repeated |= self.sent_at.take().is_some();
        self.syn_due = true;
    }

    /// Losses of SYN or SYN-ACK so far.
    pub(crate) const fn retransmissions(&self) -> u32 {
        self.retransmissions
    }

    /// Returns whether the ACK of our SYN or SYN-ACK is ambiguous (Karn).
    #[inline]
    pub(crate) const fn is_ambiguous(&self) -> bool {
        self.repeated
    }

    /// Send time of our first SYN or SYN-ACK.
    pub(crate) const fn opened_at(&self) -> Option<Instant> {
        self.opened_at
    }
}

/// The options of the peer's SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerOptions {
    pub(super) mss: Option<u16>,
    pub(super) window_scale: Option<u8>,
    pub(super) sack_permitted: bool,
    pub(super) delay: bool,
}
