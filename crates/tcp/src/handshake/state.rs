//! The handshake state of a connection.

use lowtide_units::Instant;

/// State that is needed only during the handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    /// A SYN or SYN-ACK must be sent.
    pub(crate) syn_due: bool,
    /// Send time of our first SYN: start of the user timeout.
    pub(crate) opened_at: Option<Instant>,
    /// Last send time of SYN or SYN-ACK.
    pub(crate) sent_at: Option<Instant>,
    /// SYN or SYN-ACK was sent more than once, or a SYN and then a SYN-ACK: its ACK is ambiguous
    /// (Karn).
    pub(crate) repeated: bool,
    /// Losses of SYN or SYN-ACK, shown by a timeout or by the peer's retransmission.
    pub(crate) retransmissions: u32,
    pub(crate) peer: PeerOptions,
    /// Offset of our TSval.
    pub(crate) ts_base: u32,
}

/// The options of the peer's SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerOptions {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) delay: bool,
}
