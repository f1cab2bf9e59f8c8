//! Paths between two hosts, and their delay with empty queues.
//!
//! Contract: integers, exact to the picosecond of each line. With `single` it is the path that
//! packets take. With `ecmp` and `spray` it is, of the equal-cost paths, the one with the fastest
//! bottleneck; then the one that is fastest for a full packet; then the first in link order. Links
//! that fail during the run count as up; the reverse path is assumed to be the same. `ideal`
//! computes the lower bound of a flow's time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lowtide_net::{Blueprint, HostId, LineSpec, LinkSpec, NodeId, ShortestPaths};
use lowtide_units::{Bytes, Duration, Rate};

/// Bytes of a pure ACK: IP and TCP headers, timestamps.
const ACK_BYTES: u64 = 52;
/// Bytes of the packet that compares equal-cost paths.
const FULL_BYTES: u64 = 1500;

/// The paths of a network, computed on demand.
pub(crate) struct PathFinder<'a> {
    /// `None` if the blueprint is no network.
    routes: Option<ShortestPaths<'a>>,
    /// Best next hop, by switch and port to the rack of the other host.
    best: BTreeMap<(u32, u32), BestNextHop>,
}

/// Best path from a switch: rate of the slowest line, time of a full packet, and port.
type BestNextHop = Option<(Rate, Reverse<Duration>, Reverse<u32>)>;

/// A link of a path, and whether it is crossed from its end `b`.
#[derive(Clone, Copy)]
struct Hop<'a> {
    link: &'a LinkSpec,
    reversed: bool,
}

/// A path, from the first hop on.
pub(crate) struct HostPath<'a>(Vec<Hop<'a>>);

impl Hop<'_> {
    fn line(&self, answer: bool) -> &LineSpec {
        self.link.line(self.reversed != answer)
    }

    fn serialization_time(&self, answer: bool, bytes: u64) -> Duration {
        let framed = bytes.saturating_add(self.link.framing.overhead());
        self.line(answer).rate.serialization(Bytes::new(framed))
    }

    fn traversal_time(&self, answer: bool, bytes: u64) -> Duration {
        self.line(answer).delay.saturating_add(self.serialization_time(answer, bytes))
    }
}

impl<'a> PathFinder<'a> {
    pub(crate) fn new(network: &'a Blueprint) -> Self {
        Self { routes: ShortestPaths::find(network).ok(), best: BTreeMap::new() }
    }

    /// Returns the path from one host to another, or `None` without any.
    pub(crate) fn between(&mut self, src: u32, dst: u32) -> Option<HostPath<'a>> {
        let Self { routes, best } = self;
        let routes = routes.as_ref()?;
        let dst = HostId(dst);
        let hop = |port| routes.link(port).map(|(link, back)| Hop { link, reversed: back });
        // The port is the other host's, but the best paths to its rack hold for all hosts there.
        let last = routes.nic(dst)? ^ 1;
        let rack = match routes.far_end(last ^ 1)? {
            NodeId::Switch(rack) => rack,
            NodeId::Host(_) => u32::MAX,
        };
        let mut port = routes.nic(HostId(src)).filter(|_| src != dst.0)?;
        let mut hops = vec![hop(port)?];
        loop {
            let at = match routes.far_end(port)? {
                NodeId::Host(host) => return (host == dst).then_some(HostPath(hops)),
                NodeId::Switch(at) => at,
            };
            port = if at == rack { last } else { best_next_hop(routes, best, at, rack, dst)? };
            hops.push(hop(port)?);
        }
    }
}

/// Returns the port of `from` on the best path to `rack`, where `host` is.
fn best_next_hop(
    routes: &ShortestPaths<'_>,
    best: &mut BTreeMap<(u32, u32), BestNextHop>,
    from: u32,
    rack: u32,
    host: HostId,
) -> Option<u32> {
    let mut open = vec![from];
    while let Some(&at) = open.last() {
        if best.contains_key(&(at, rack)) {
            open.pop();
            continue;
        }
        let ports = routes.next_ports(at, host);
        let next = |port: &u32| match routes.far_end(*port) {
            Some(NodeId::Switch(next)) if next != rack => Some(next),
            _ => None,
        };
        let unknown = ports.iter().filter_map(next).filter(|n| !best.contains_key(&(*n, rack)));
        let before = open.len();
        open.extend(unknown.collect::<Vec<_>>());
        if open.len() > before {
            continue;
        }
        let path = |port: &u32| {
            let (link, back) = routes.link(*port)?;
            let hop = Hop { link, reversed: back };
            let (rate, after) = match next(port) {
                Some(next) => {
                    let (rate, Reverse(after), _) = best.get(&(next, rack)).copied().flatten()?;
                    (rate.min(hop.line(false).rate), after)
                }
                None => (hop.line(false).rate, Duration::ZERO),
            };
            let takes = after.saturating_add(hop.traversal_time(false, FULL_BYTES));
            Some((rate, Reverse(takes), Reverse(*port)))
        };
        let found = ports.iter().filter_map(path).max();
        best.insert((at, rack), found);
    }
    best.get(&(from, rack)).copied().flatten().map(|(_, _, Reverse(port))| port)
}

impl HostPath<'_> {
    /// Returns the time from the first bit of a packet of `mtu` bytes to the last bit of its ACK.
    pub(crate) fn round_trip(&self, mtu: u64) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, hop| {
            let back = hop.traversal_time(true, ACK_BYTES);
            sum.saturating_add(hop.traversal_time(false, mtu)).saturating_add(back)
        })
    }
}

#[cfg(test)]
mod tests {
    use lowtide_host::Setup;
    use lowtide_net::{Framing, PortSpec, Routing, SwitchSpec};
    use lowtide_scenario::Scenario;
    use lowtide_units::Fraction;

    use super::*;

    /// Two hosts on one switch: 1 Gbit/s, 20 us, Ethernet.
    fn setup() -> Setup {
        let plan = Scenario::load("queue-buildup").unwrap().expand().unwrap();
        plan.runs[0].setup().unwrap()
    }

    fn path(of: &Setup) -> HostPath<'_> {
        let flow = &of.flows[0];
        PathFinder::new(&of.network).between(flow.src, flow.dst).unwrap()
    }

    #[test]
    fn the_round_trip_counts_every_line_and_bit() {
        // 4 x 20 us, 2 x 1538 B and 2 x 90 B at 1 Gbit/s.
        let expected = 80_000_000 + 2 * (1538 + 90) * 8000;
        assert_eq!(path(&setup()).round_trip(1500).as_ps(), expected);
    }

    #[test]
    fn unconnected_hosts_have_no_path() {
        let setup = setup();
        let mut network = setup.network.clone();
        network.links.pop();
        let last = setup.hosts.len() as u32 - 1;
        assert!(PathFinder::new(&network).between(0, last).is_none());
        let mut whole = PathFinder::new(&setup.network);
        assert!(whole.between(0, last).is_some());
        assert!(whole.between(0, 0).is_none() && whole.between(0, last + 1).is_none());
    }

    /// Two racks with one host each, connected by three spines; the lines to and from the spines
    /// have these rates in Gbit/s.
    fn spines(routing: Routing, rates: [(u64, u64); 3]) -> Blueprint {
        let switch = |name: String| SwitchSpec { name, ..SwitchSpec::default() };
        let link = |a, b, gbps| {
            let (rate, delay) = (Rate::from_gbps(gbps), Duration::from_us(1));
            let line = LineSpec { rate, delay, port: PortSpec::NIC, loss: Fraction::ZERO };
            LinkSpec { a, b, from_a: line.clone(), from_b: line, framing: Framing::Ip }
        };
        let (host, at) = (|n| NodeId::Host(HostId(n)), NodeId::Switch);
        let mut links = vec![link(host(0), at(0), 10), link(host(1), at(1), 10)];
        for (spine, (up, down)) in (2..).zip(rates) {
            links.push(link(at(0), at(spine), up));
            links.push(link(at(spine), at(1), down));
        }
        Blueprint {
            hosts: vec!["a".to_owned(), "b".to_owned()],
            switches: (0..5).map(|i| switch(format!("switch{i}"))).collect(),
            links,
            routing,
            ..Blueprint::default()
        }
    }

    #[test]
    fn ecmp_counts_the_best_path_and_single_the_one_taken() {
        let rates = |routing, each| {
            let plan = spines(routing, each);
            let path = PathFinder::new(&plan).between(0, 1).unwrap();
            path.0.iter().map(|h| h.line(false).rate.as_bps() / 1_000_000_000).collect::<Vec<_>>()
        };
        let each = [(40, 1), (10, 10), (40, 10)];
        let ecmp = Routing::Ecmp { polarised: false };
        assert_eq!(rates(ecmp, each), [10, 40, 10, 10], "the third: its first line is faster");
        assert_eq!(rates(Routing::Spray, [(40, 1), (10, 10), (1, 40)]), [10, 10, 10, 10]);
        assert_eq!(rates(Routing::Single, each), [10, 40, 1, 10]);
        assert_eq!(rates(ecmp, [(5, 5); 3]), [10, 5, 5, 10]);
    }
}
