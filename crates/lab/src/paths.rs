//! Paths of a network with the fewest hops, and how long packets take over them when nothing waits.
//!
//! Contract: integers, exact to the picosecond of each line. Of several paths with equally many hops it is
//! the first in the order of the links; where lines of one tier differ, a flow may have taken another.

use std::collections::{BTreeMap, VecDeque};

use lowtide_host::Setup;
use lowtide_net::{Blueprint, HostId, LineSpec, LinkSpec, NodeId};
use lowtide_record::RunTables;
use lowtide_units::{Bytes, Duration};

/// Bytes of a pure ACK: IP and TCP headers, timestamps.
const ACK_BYTES: u64 = 52;
/// Bytes of a SYN, and of its answer: IP and TCP headers, 20 bytes of options.
const SYN_BYTES: u64 = 60;

/// Who is next to whom.
pub(crate) struct Paths<'a> {
    next: BTreeMap<NodeId, Vec<(NodeId, Hop<'a>)>>,
}

/// A link of a path, and whether it is crossed from its end `b`.
#[derive(Clone, Copy)]
struct Hop<'a> {
    link: &'a LinkSpec,
    back: bool,
}

/// A path, first hop first.
pub(crate) struct Path<'a>(Vec<Hop<'a>>);

impl Hop<'_> {
    fn line(&self, answer: bool) -> &LineSpec {
        self.link.line(self.back != answer)
    }

    fn sending(&self, answer: bool, bytes: u64) -> Duration {
        let framed = bytes.saturating_add(self.link.framing.overhead());
        self.line(answer).rate.serialization(Bytes::new(framed))
    }
}

impl<'a> Paths<'a> {
    pub(crate) fn new(network: &'a Blueprint) -> Self {
        let mut next: BTreeMap<NodeId, Vec<(NodeId, Hop<'a>)>> = BTreeMap::new();
        for link in &network.links {
            next.entry(link.a).or_default().push((link.b, Hop { link, back: false }));
            next.entry(link.b).or_default().push((link.a, Hop { link, back: true }));
        }
        Self { next }
    }

    /// The paths from one host to the hosts of `to`; one that cannot be reached is not there.
    pub(crate) fn from(&self, host: u32, to: &[u32]) -> BTreeMap<u32, Path<'a>> {
        let start = NodeId::Host(HostId(host));
        let mut before: BTreeMap<NodeId, (NodeId, Hop<'a>)> = BTreeMap::new();
        let mut waiting = VecDeque::from([start]);
        while let Some(node) = waiting.pop_front() {
            for (other, hop) in self.next.get(&node).into_iter().flatten() {
                if *other != start && !before.contains_key(other) {
                    before.insert(*other, (node, *hop));
                    waiting.push_back(*other);
                }
            }
        }
        let path = |to: &u32| {
            let mut hops = Vec::new();
            let mut node = NodeId::Host(HostId(*to));
            while node != start {
                let (earlier, hop) = before.get(&node)?;
                hops.push(*hop);
                node = *earlier;
            }
            hops.reverse();
            Some((*to, Path(hops)))
        };
        to.iter().filter_map(path).collect()
    }
}

impl Path<'_> {
    /// From the first bit of a packet of `mtu` bytes to the last bit of its ACK.
    pub(crate) fn round_trip(&self, mtu: u64) -> Duration {
        self.both_ways(mtu, ACK_BYTES)
    }

    fn both_ways(&self, forth: u64, back: u64) -> Duration {
        let crossing = |hop: &Hop<'_>, answer, bytes| {
            hop.line(answer).delay.saturating_add(hop.sending(answer, bytes))
        };
        self.0.iter().fold(Duration::ZERO, |sum, hop| {
            sum.saturating_add(crossing(hop, false, forth))
                .saturating_add(crossing(hop, true, back))
        })
    }

    /// The least time from the open of a connection to its last byte delivered: a handshake, then all
    /// packets back to back over the slowest line, none of them waiting for a window.
    ///
    /// `size` bytes go in packets of `mss` payload bytes and `headers` bytes of IP and TCP.
    pub(crate) fn ideal(&self, size: u64, mss: u64, headers: u64) -> Duration {
        let mss = mss.max(1);
        let packets = size.div_ceil(mss).max(1);
        let last = size - (packets - 1).saturating_mul(mss).min(size) + headers;
        let first = size.min(mss) + headers;
        let wait = |hop: &Hop<'_>| {
            let full = hop.sending(false, first);
            full.saturating_mul(packets - 1).saturating_add(hop.sending(false, last))
        };
        // Packets of one size, the last one smaller, in a row of lines: the longest of the ways on which
        // the first crosses the lines before one, all cross that one, and the last crosses the rest.
        let slowest = (0..self.0.len()).map(|at| {
            self.0.iter().enumerate().fold(Duration::ZERO, |sum, (i, hop)| {
                sum.saturating_add(match i.cmp(&at) {
                    std::cmp::Ordering::Less => hop.sending(false, first),
                    std::cmp::Ordering::Equal => wait(hop),
                    std::cmp::Ordering::Greater => hop.sending(false, last),
                })
            })
        });
        let flight = self
            .0
            .iter()
            .fold(Duration::ZERO, |sum, hop| sum.saturating_add(hop.line(false).delay));
        self.both_ways(SYN_BYTES, SYN_BYTES)
            .saturating_add(flight)
            .saturating_add(slowest.max().unwrap_or(Duration::ZERO))
    }
}

/// The tables of a run with the ideal time of every flow that has a size and came to be.
pub(crate) fn with_ideals(mut tables: RunTables, setup: &Setup) -> RunTables {
    let paths = Paths::new(&setup.network);
    let mut wanted: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for flow in &setup.flows {
        let to = wanted.entry(flow.src).or_default();
        if !to.contains(&flow.dst) {
            to.push(flow.dst);
        }
    }
    let found: BTreeMap<u32, BTreeMap<u32, Path<'_>>> =
        wanted.iter().map(|(src, to)| (*src, paths.from(*src, to))).collect();
    for row in &mut tables.flows {
        let Some(flow) = setup.flows.get(row.flow as usize) else { continue };
        let path = found.get(&flow.src).and_then(|to| to.get(&flow.dst));
        let mtu = setup.hosts.get(flow.src as usize).map(|h| u64::from(h.config.mtu));
        row.ideal_ps = path.zip(mtu).zip(row.size_bytes.zip(row.mss_bytes)).map(
            |((path, mtu), (size, mss))| {
                let mss = u64::from(mss);
                path.ideal(size, mss, mtu.saturating_sub(mss)).as_ps()
            },
        );
    }
    tables
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;

    use super::*;

    /// Two hosts on one switch: 1 Gbit/s, 20 us, Ethernet.
    fn setup() -> Setup {
        let plan = Scenario::load("queue-buildup").unwrap().expand().unwrap();
        plan.runs[0].setup().unwrap()
    }

    fn path(of: &Setup) -> Path<'_> {
        let flow = &of.flows[0];
        Paths::new(&of.network).from(flow.src, &[flow.dst]).remove(&flow.dst).unwrap()
    }

    #[test]
    fn the_round_trip_is_every_line_and_every_bit() {
        // 4 x 20 us, 2 x 1538 B and 2 x 90 B at 1 Gbit/s.
        let expected = 80_000_000 + 2 * (1538 + 90) * 8000;
        assert_eq!(path(&setup()).round_trip(1500).as_ps(), expected);
    }

    #[test]
    fn the_ideal_time_is_a_handshake_and_every_packet_once() {
        let setup = setup();
        let path = path(&setup);
        let shake = 80_000_000 + 4 * 98 * 8000;
        // Two packets of 1448 and one of 104 bytes: 1538, 1538 and 194 on each of two lines.
        let three = shake + 40_000_000 + (1538 + 1538 + 1538 + 194) * 8000;
        assert_eq!(path.ideal(3000, 1448, 52).as_ps(), three);
        let one = shake + 40_000_000 + 2 * (1 + 52 + 38) * 8000;
        assert_eq!(path.ideal(1, 1448, 52).as_ps(), one);
    }

    #[test]
    fn hosts_that_nothing_joins_have_no_path() {
        let setup = setup();
        let mut network = setup.network.clone();
        network.links.pop();
        let last = setup.hosts.len() as u32 - 1;
        assert!(Paths::new(&network).from(0, &[last]).is_empty());
        assert_eq!(Paths::new(&setup.network).from(0, &[last]).len(), 1);
    }
}
