//! What can be said of routes: how packets spread over equal ways, and which links fail.

use lowtide_units::{Duration, Instant};

/// Which of several equally short ways a packet takes. Every link counts one.
///
/// At each switch a packet has a set of next links: all that lie on a shortest way to the switch of its
/// destination. They differ in how one of the set is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Routing {
    /// Always the one with the lowest number.
    #[default]
    Single,
    /// By a hash of source and destination host and of both ports (the protocol is TCP always), so
    /// that all packets of one direction of a connection take one way. When a link fails or comes back,
    /// flows may move between any of the others too, as in a switch without resilient hashing.
    Ecmp {
        /// False: each switch has a salt of its own, derived from the seed of the run. True: all have
        /// the same one, also from that seed, the fault in which switches one behind the other choose
        /// alike: of `n` equal links of the second switch the packets that the first sent over its
        /// link `i` of `n` all take link `i`.
        polarised: bool,
    },
    /// Each packet by itself, in rounds: of a set of `n` links each carries one of every `n` packets,
    /// in a rotation whose start is drawn anew for each round, per switch. So packets spread evenly
    /// and data and ACKs that alternate do not each stick to one link. Reorders.
    Spray,
}

/// A link that fails, in both directions, and may come back.
///
/// From `down_at` until `up_at` both lines are dead. Of what the link held at `down_at`, what had come
/// off the line by then arrives. Lost are the packets in flight, the one being sent and all in the
/// queue of either port, and so is each packet that comes to the ports before `up_at`
/// ([`crate::PortStats::cut`] counts them all). A port finishes sending what it has begun, to nobody.
/// A packet that comes in the very picosecond of either change may meet it or not.
///
/// Routes follow the state of the link `detect` later: until then packets are sent into a dead link,
/// or keep away from one that works again. A packet to which a switch then has no way is dropped
/// ([`crate::Network::no_route_drops`] counts them).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Number of the link in [`crate::Blueprint::links`].
    pub link: usize,
    /// When it fails.
    pub down_at: Instant,
    /// When it works again, later than `down_at`; `None` for never.
    pub up_at: Option<Instant>,
    /// How long routes take to follow.
    pub detect: Duration,
}
