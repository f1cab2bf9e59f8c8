//! Test cases: network conditions, and the cases derived from them.
//!
//! Contract: cases are data. A case's seeds depend on its name only, so adding a case changes no
//! other.

use std::fmt;

lowtide_units::named_enum! {
    /// Which end sends data, and how the connection ends.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum ExchangeKind {
        /// Our end sends.
        Up = "up",
        /// The peer sends.
        Down = "down",
        /// Both send at the same time.
        Both = "both",
        /// Our end sends and closes its send direction; then the peer sends.
        HalfCloseUp = "ours-closes-first",
        /// The peer sends and closes its send direction; then our end sends.
        HalfCloseDown = "peer-closes-first",
        /// The peer sends; our end aborts midway.
        ResetByOurs = "by-ours",
        /// Our end sends; the peer aborts midway.
        ResetByPeer = "by-peer",
        /// No socket listens.
        Refused = "refused",
    }
}

/// Network and endpoint settings of a case.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Name in tables.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub about: &'static str,
    /// Faults in both directions, in the syntax of `lowtide_bottleneck::Faults::set`.
    pub faults: &'static [&'static str],
    /// Profile of our end.
    pub profile: &'static str,
    /// Switches of our end.
    pub ours: &'static [(&'static str, &'static str)],
    /// Receive buffer of the peer, bytes; zero for its default.
    pub peer_window: u32,
    /// Time for which the receiver does not read, milliseconds.
    pub pause_ms: u64,
    /// Bytes in each sending direction.
    pub bytes: u64,
    /// Bytes of one write of our end.
    pub write: u64,
    /// Our end requests ECN, and the peer accepts it if it can.
    pub ecn: bool,
    /// IPv6.
    pub v6: bool,
    /// Which end sends, and how the connection ends.
    pub exchanges: &'static [ExchangeKind],
}

/// No fault, the profile `linux`, everything else at its default.
const PLAIN: Condition = Condition {
    name: "plain",
    about: "IPv4, no faults",
    faults: &[],
    profile: "linux",
    ours: &[],
    peer_window: 0,
    pause_ms: 0,
    bytes: 1_000_000,
    write: 16 << 10,
    ecn: false,
    v6: false,
    exchanges: &[ExchangeKind::Up, ExchangeKind::Down, ExchangeKind::Both],
};

/// All faults at once.
const ALL_FAULTS: &[&str] = &["loss=1%", "reorder=2%/3ms", "duplicate=2%", "corrupt=1%"];
const UP_AND_DOWN: &[ExchangeKind] = &[ExchangeKind::Up, ExchangeKind::Down];

/// All conditions, in table order.
pub const CONDITIONS: &[Condition] = &[
    PLAIN,
    Condition { name: "ipv6", about: "IPv6, no faults", v6: true, ..PLAIN },
    Condition {
        name: "loss",
        about: "2 % of the packets of each direction are lost",
        faults: &["loss=2%"],
        bytes: 400_000,
        ..PLAIN
    },
    Condition {
        name: "heavy-loss",
        about: "7 % loss",
        faults: &["loss=7%"],
        bytes: 50_000,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
    Condition {
        name: "reordering",
        about: "5 % of the packets arrive 3 ms late",
        faults: &["reorder=5%/3ms"],
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "heavy-reordering",
        about: "30 % of the packets arrive 5 ms late",
        faults: &["reorder=30%/5ms"],
        bytes: 300_000,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
    Condition {
        name: "duplication",
        about: "10 % of the packets arrive twice",
        faults: &["duplicate=10%"],
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "corruption",
        about: "a bit is wrong in 2 % of the packets",
        faults: &["corrupt=2%"],
        bytes: 400_000,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "all-faults",
        about: "IPv6; loss 1 %, reordering 2 %, duplication 2 %, corruption 1 %",
        faults: ALL_FAULTS,
        bytes: 300_000,
        v6: true,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
    Condition {
        name: "no-options",
        about: "our end has no SACK, timestamps or window scaling; all faults, IPv4",
        faults: ALL_FAULTS,
        ours: &[("sack", "false"), ("timestamps", "false"), ("window-scaling", "false")],
        bytes: 300_000,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "small-mtu",
        about: "our end has an MTU of 576 bytes; all faults, IPv4",
        faults: ALL_FAULTS,
        ours: &[("mtu", "576")],
        bytes: 200_000,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "small-writes",
        about: "our end writes 100 bytes at a time; 2 % loss",
        faults: &["loss=2%"],
        bytes: 100_000,
        write: 100,
        exchanges: &[ExchangeKind::Up, ExchangeKind::HalfCloseDown],
        ..PLAIN
    },
    Condition {
        name: "small-window",
        about: "the receiver has a buffer of 4 KiB; 2 KiB where that is ours",
        ours: &[("receive-buffer", "2 KiB")],
        peer_window: 4096,
        bytes: 100_000,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "zero-window",
        about: "the receiver has a buffer of 16 KiB and reads nothing for 1.5 s",
        ours: &[("receive-buffer", "16 KiB")],
        peer_window: 16 << 10,
        pause_ms: 1500,
        bytes: 200_000,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "half-close",
        about: "one end sends and closes its half, then the other sends",
        bytes: 300_000,
        exchanges: &[ExchangeKind::HalfCloseUp, ExchangeKind::HalfCloseDown],
        ..PLAIN
    },
    Condition {
        name: "half-close-loss",
        about: "the same with 2 % loss",
        faults: &["loss=2%"],
        bytes: 150_000,
        exchanges: &[ExchangeKind::HalfCloseUp, ExchangeKind::HalfCloseDown],
        ..PLAIN
    },
    Condition {
        name: "reset",
        about: "one end aborts in the middle of the data, or no socket listens",
        bytes: 4_000_000,
        exchanges: &[ExchangeKind::ResetByOurs, ExchangeKind::ResetByPeer, ExchangeKind::Refused],
        ..PLAIN
    },
    Condition {
        name: "reset-loss",
        about: "one end aborts in the middle of the data; 5 % loss",
        faults: &["loss=5%"],
        bytes: 1_000_000,
        exchanges: &[ExchangeKind::ResetByOurs, ExchangeKind::ResetByPeer],
        ..PLAIN
    },
    Condition {
        name: "ecn",
        about: "our end asks for and grants ECN; CE on 10 % of the packets that have ECT",
        faults: &["ce=10%"],
        ours: &[("ecn", "rfc3168")],
        ecn: true,
        exchanges: UP_AND_DOWN,
        ..PLAIN
    },
    Condition {
        name: "accecn",
        about: "our end asks for and grants AccECN; CE on 10 % of the packets that have ECT",
        faults: &["ce=10%"],
        ours: &[("ecn", "accecn")],
        ecn: true,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
    Condition {
        name: "profile-rfc",
        about: "our end has the profile `rfc`; all faults, IPv4",
        faults: ALL_FAULTS,
        profile: "rfc",
        bytes: 300_000,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
    Condition {
        name: "profile-freebsd",
        about: "our end has the profile `freebsd`; all faults, IPv4",
        faults: ALL_FAULTS,
        profile: "freebsd",
        bytes: 300_000,
        exchanges: &[ExchangeKind::Both],
        ..PLAIN
    },
];

/// Subset that `cargo test` runs. Our end opens the first connection, the peer the second, and so
/// on.
const QUICK: [(&str, ExchangeKind); 4] = [
    ("ipv6", ExchangeKind::Both),
    ("all-faults", ExchangeKind::Both),
    ("ecn", ExchangeKind::Up),
    ("reset", ExchangeKind::ResetByPeer),
];

/// One connection.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Condition.
    pub condition: &'static Condition,
    /// Which end sends, and how the connection ends.
    pub exchange: ExchangeKind,
    /// Our end sends the SYN.
    pub active: bool,
    /// Repetition, from 0: each has its own seed; from 1 on, `#N` follows the name.
    pub round: u32,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.active { "active" } else { "passive" };
        write!(f, "{}-{}-{open}", self.condition.name, self.exchange.name())?;
        if self.round > 0 {
            write!(f, "#{}", self.round)?;
        }
        Ok(())
    }
}

impl Case {
    /// Seed of the case's faults, sequence numbers and data.
    pub fn seed(&self) -> u64 {
        let mut sum = crate::script::Checksum::default();
        sum.update(self.to_string().as_bytes());
        // Fits into a signed number of a peer.
        sum.value() >> 2
    }
}

/// All cases.
pub fn all() -> Vec<Case> {
    let shapes = CONDITIONS.iter().flat_map(|c| c.exchanges.iter().map(move |s| (c, *s)));
    let case = |(condition, shape)| {
        [true, false].map(|active| Case { condition, exchange: shape, active, round: 0 })
    };
    shapes.flat_map(case).collect()
}

/// Repeats `cases` `rounds` times, round by round.
pub fn repeat(cases: &[Case], rounds: u32) -> Vec<Case> {
    let round = |round| cases.iter().map(move |case| Case { round, ..*case });
    (0..rounds).flat_map(round).collect()
}

/// The short subset of cases.
pub fn quick() -> Vec<Case> {
    let wanted = |case: &Case| {
        let at = QUICK.iter().position(|q| *q == (case.condition.name, case.exchange));
        at.is_some_and(|at| case.active == (at % 2 == 0))
    };
    all().into_iter().filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn case_names_and_seeds_are_unique() {
        let all = repeat(&all(), 3);
        let names: BTreeSet<String> = all.iter().map(Case::to_string).collect();
        let seeds: BTreeSet<u64> = all.iter().map(Case::seed).collect();
        assert_eq!((names.len(), seeds.len()), (all.len(), all.len()));
        assert_eq!(quick().len(), QUICK.len());
    }
}
