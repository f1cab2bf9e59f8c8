//! Routing options: the choice among equal-cost paths, and link failures.

use lowtide_units::{Duration, Instant, Rate};

/// Sum to which the weights of one set are reduced. Rounding, and at least one entry for each link,
/// may exceed it a little. The WCMP paper bounds the oversubscription instead.
pub(crate) const MAX_WEIGHTS: u64 = 256;

/// The choice among several shortest paths. Every link counts one.
///
/// At each switch a packet has a set of next links: all that are on a shortest path to the switch
/// of its destination. The variants differ in the choice from this set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Routing {
    /// Always the lowest number.
    #[default]
    Single,
    /// By a hash of both hosts and both ports (the protocol is always TCP), so that all packets of
    /// one direction of a connection take one path. When a link fails or comes back, flows may also
    /// move between the other links, as in a switch without resilient hashing.
    Ecmp {
        /// False: each switch has its own salt, derived from the seed of the run. True: all
        /// switches have the same salt, also from that seed. Successive switches then choose alike
        /// (hash polarisation): with `n` equal links each, packets from link `i` of the first
        /// switch all take link `i` of the second.
        polarised: bool,
    },
    /// As [`Routing::Ecmp`] with a salt per switch, but each link gets flows in proportion to its
    /// weight: its rate, or the capacity of the switch at its far end towards the destination if
    /// that is less. The capacity of a switch is the sum of the weights of its next links
    /// (`WCMP`, EuroSys 2014). Weights without their common divisor that sum to more than 256 are
    /// scaled to about 256, with at least one each.
    Wcmp,
    /// Per flowlet: a packet that arrives at the switch more than this gap after the one before of
    /// its flow and direction draws a link, each equally likely; the others follow it (`LetFlow`,
    /// NSDI 2017). A flow is known by its 32-bit hash. When its link leaves the set, it draws anew.
    Flowlet(Duration),
    /// Per packet, in rounds: of a set of `n` links each carries one of every `n` packets. The
    /// rotation starts at a random link per round and switch. So packets spread evenly, and
    /// alternating data and ACKs do not each stick to one link. Reorders.
    Spray,
}

impl Routing {
    /// Returns true if the flow of a packet chooses its path.
    pub(crate) const fn by_flow(self) -> bool {
        matches!(self, Self::Ecmp { .. } | Self::Wcmp | Self::Flowlet(_))
    }

    /// Returns true if packets of one flow may take several paths.
    pub const fn splits_flows(self) -> bool {
        matches!(self, Self::Spray | Self::Flowlet(_))
    }
}

/// A failure of a link, in both directions or in one, and its repair.
///
/// With [`Failure::rate`] the lines have that rate from `down_at` until `up_at`: a transmission in
/// progress ends as planned, packets behind it are sent at the new rate, markers and buffers keep
/// their limits, and routes stay, unless [`Failure::reweight`]. At the port of a host, timestamps
/// and TCP small queues keep the departures of packets that were in its queue.
///
/// Else the lines are down from `down_at` until `up_at`. Packets that had left the line by
/// `down_at` arrive. Packets in flight, in transmission and in the queue of either port are lost.
/// So is each packet that arrives at the ports before `up_at`. [`lowtide_rows::LossCounters`]
/// counts them all. A port finishes a transmission in progress, but the packet is lost. A packet
/// that arrives in the picosecond of a change may be affected or not.
///
/// Routes follow the link state after `detect`. Until then packets are sent into a link that is
/// down, or avoid one that is up. A switch without a route drops the packet
/// ([`crate::Network::no_route_drops`] counts them). They avoid a link of which one direction is
/// down in both, as after a lost BFD session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Failure {
    /// Number of the link in [`crate::Blueprint::links`].
    pub link: usize,
    /// Time of the failure.
    pub down_at: Instant,
    /// Time of the repair, after `down_at`; `None` for never.
    pub up_at: Option<Instant>,
    /// Delay until routes follow.
    pub detect: Duration,
    /// The only direction that fails: from end `b` if true, else from end `a`. `None`: both.
    pub only_back: Option<bool>,
    /// The lines keep this rate, below their own; `None`: they are down.
    pub rate: Option<Rate>,
    /// The weights of [`Routing::Wcmp`] follow `rate` after `detect`.
    pub reweight: bool,
}

impl Failure {
    /// Returns the failed ports.
    pub(crate) fn ports(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { link, only_back, .. } = *self;
        [false, true]
            .into_iter()
            .filter(move |back| only_back.is_none_or(|only| only == *back))
            .map(move |back| 2 * link + usize::from(back))
    }
    /// Returns true if routes follow.
    pub(crate) const fn moves_routes(&self) -> bool {
        self.rate.is_none() || self.reweight
    }
}
