//! What a connection keeps of its opening.

use lowtide_units::Instant;

/// What is only needed until the handshake is over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    /// SYN or SYN-ACK must go out.
    pub(crate) syn_due: bool,
    /// When our first SYN left: the user timeout counts from there.
    pub(crate) opened_at: Option<Instant>,
    /// When SYN or SYN-ACK left, the last time.
    pub(crate) sent_at: Option<Instant>,
    /// It went out more than once, or as a SYN and then as a SYN-ACK: its ACK is ambiguous (Karn).
    pub(crate) repeated: bool,
    /// How often a timeout or the peer's own repetition said that it was lost.
    pub(crate) retransmissions: u32,
    pub(crate) peer: PeerOptions,
    /// Where our TSval begins.
    pub(crate) ts_base: u32,
}

/// What the peer's SYN carried.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerOptions {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) delay: bool,
}
