//! Classes of ports, and flows that meet at one port of a class.
//!
//! Contract: a class has the ports of one rate that lead from one kind of switch to another kind,
//! or to hosts. Paths are those of one equal-cost choice for all flows, the worst that ECMP can
//! make; packets that are sprayed use all of them.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_host::{HostSetup, Setup};
use lowtide_net::{Blueprint, HostId, NodeId, Routing, ShortestPaths};
use lowtide_units::{Bytes, Duration, Rate};

use crate::analysis::gso_packets;

/// MTU of Ethernet, bytes.
const DEFAULT_MTU: u64 = 1500;
/// IP bytes of an ACK with timestamps.
const ACK_BYTES: u64 = 52;
/// Numbers of flows of a class are the fewest that fill a port, twice and four times as many.
const PATTERNS: u32 = 3;

/// A class of ports.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PortClass {
    /// Its name: `leaf-spine`, `leaf-host`.
    pub(super) name: String,
    /// The kinds at both ends; `host` for hosts.
    pub(super) ends: [String; 2],
    pub(super) rate: Rate,
    pub(super) ports: Vec<u32>,
    /// Whether data of the traffic uses it.
    pub(super) loaded: bool,
    /// Longest round trip of a full packet and its ACK through it, without queues and hosts.
    pub(super) rtt: Duration,
    /// IP bytes of the largest packet through it.
    pub(super) mtu: u64,
    /// Most IP bytes that a host sends through it at once; one packet without offload.
    pub(super) burst: u64,
    /// Flows that meet at one of its ports; none if they would fill another port first.
    pub(super) patterns: Vec<Pattern>,
}

/// Long flows from distinct hosts that one port limits.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Pattern {
    /// Source and destination of each flow.
    pub(super) pairs: Vec<(u32, u32)>,
    /// The port.
    pub(super) port: u32,
}

/// The paths of a network.
struct Paths<'a> {
    routes: ShortestPaths<'a>,
    racks: Vec<u32>,
    hosts: &'a [HostSetup],
}

/// IP bytes of a full packet between two hosts: the smaller MSS of both is used (RFC 9293 §3.7.1).
fn full_packet(hosts: &[HostSetup], (src, dst): (u32, u32)) -> u64 {
    let mtu = |host: u32| hosts.get(host as usize).map_or(u32::MAX, |h| h.config.mtu);
    mtu(src).min(mtu(dst)).into()
}

/// A full packet and a burst from one host to another, IP bytes.
fn largest(hosts: &[HostSetup], pair: (u32, u32)) -> [u64; 2] {
    let mtu = full_packet(hosts, pair);
    [mtu, burst(hosts, pair.0, mtu)]
}

fn max_of(a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
    [a[0].max(b[0]), a[1].max(b[1])]
}

/// Most IP bytes that a host passes to its NIC at once, in packets of `mtu`.
pub(super) fn burst(hosts: &[HostSetup], host: u32, mtu: u64) -> u64 {
    let Some(HostSetup { config, .. }) = hosts.get(host as usize) else { return mtu };
    let fit = gso_packets(u32::try_from(mtu).unwrap_or(u32::MAX), config);
    u64::from(config.most_segments().min(fit).max(1)) * mtu
}

/// The kind of a node: a switch's name without its number, or `host`.
fn kind(plan: &Blueprint, node: NodeId) -> &str {
    match node {
        NodeId::Host(_) => "host",
        NodeId::Switch(_) => plan.name(node).trim_end_matches(|c: char| c.is_ascii_digit()),
    }
}

/// Returns the classes of the ports of all switches, those to hosts first, with the flows that fill
/// them; `None` if the hosts are not connected.
pub(super) fn classes(setup: &Setup) -> Option<Vec<PortClass>> {
    let routing = match setup.network.routing {
        Routing::Spray => Routing::Spray,
        _ => Routing::Single,
    };
    let plan = Blueprint { routing, ..setup.network.clone() };
    let routes = ShortestPaths::find(&plan).ok()?;
    let paths = Paths { routes, racks: plan.racks(), hosts: &setup.hosts };
    let mut groups: BTreeMap<(bool, String, String, u64), Vec<u32>> = BTreeMap::new();
    for (link, i) in plan.links.iter().zip(0_u32..) {
        for (from, to, back) in [(link.a, link.b, false), (link.b, link.a, true)] {
            if let NodeId::Switch(_) = from {
                let [from, to] = [from, to].map(|node| kind(&plan, node).to_owned());
                let rate = link.line(back).rate.as_bps();
                let key = (to != "host", from, to, rate);
                groups.entry(key).or_default().push(2 * i + u32::from(back));
            }
        }
    }
    let used = paths.used(setup);
    let same_ends: Vec<[String; 2]> =
        groups.keys().map(|(_, from, to, _)| [from.clone(), to.clone()]).collect();
    let class = |((_, from, to, rate), ports): ((bool, String, String, u64), Vec<u32>)| {
        let ends = [from, to];
        let mut name = ends.join("-");
        if same_ends.iter().filter(|other| **other == ends).count() > 1 {
            name = format!("{name}-{}M", rate / 1_000_000);
        }
        let rate = Rate::from_bps(rate)?;
        let data = ports.iter().filter_map(|port| used.get(port)).copied();
        let data = data.reduce(max_of);
        let loaded = data.is_some();
        let patterns = if loaded { paths.patterns(&ports) } else { Vec::new() };
        let pairs: Vec<(u32, u32)> = match patterns.last() {
            Some(pattern) => pattern.pairs.clone(),
            None => paths.through(&ports).into_iter().next().into_iter().collect(),
        };
        let round_trip = |(src, dst): (u32, u32)| paths.round_trip(src, dst);
        let rtt = pairs.iter().copied().filter_map(round_trip).max().unwrap_or(Duration::ZERO);
        let tests = pairs.iter().map(|pair| largest(&setup.hosts, *pair));
        let both = tests.chain(data).reduce(max_of);
        let [mtu, burst] = both.unwrap_or([DEFAULT_MTU; 2]);
        Some(PortClass { name, ends, rate, ports, loaded, rtt, mtu, burst, patterns })
    };
    groups.into_iter().map(class).collect()
}

/// Returns one flow from each host of a rack to a host of another one; empty without a second rack.
pub(super) fn between_racks(setup: &Setup) -> Vec<(u32, u32)> {
    let racks = setup.network.racks();
    let of = |rack: u32| (0_u32..).zip(&racks).filter(move |(_, r)| **r == rack).map(|(h, _)| h);
    of(0).zip(of(1)).collect()
}

impl Paths<'_> {
    /// The ports from one host to another, hop by hop, with the share of the flow that takes each.
    fn path(&self, src: u32, dst: u32) -> Option<Vec<Vec<(u32, f64)>>> {
        let (first, last) = (self.routes.nic(HostId(src))?, self.routes.nic(HostId(dst))? ^ 1);
        let rack = self.routes.far_end(last ^ 1)?;
        let mut hops = vec![vec![(first, 1.0)]];
        let mut at = BTreeMap::from([(self.routes.far_end(first)?, 1.0)]);
        while src != dst && at.keys().any(|node| *node != rack) {
            let (mut hop, mut next) = (Vec::new(), BTreeMap::new());
            for (node, share) in at {
                let NodeId::Switch(switch) = node else { return None };
                let ports = self.routes.next_ports(switch, HostId(dst));
                for port in &ports {
                    let part = share / ports.len() as f64;
                    hop.push((*port, part));
                    *next.entry(self.routes.far_end(*port)?).or_insert(0.0) += part;
                }
            }
            if next.is_empty() {
                return None;
            }
            hops.push(hop);
            at = next;
        }
        hops.push(vec![(last, 1.0)]);
        (src != dst).then_some(hops)
    }

    /// The ports of all hops.
    fn ports(&self, (src, dst): (u32, u32)) -> Vec<(u32, f64)> {
        self.path(src, dst).unwrap_or_default().concat()
    }

    /// Round trip of a full packet and its ACK over empty queues.
    fn round_trip(&self, src: u32, dst: u32) -> Option<Duration> {
        let packet = full_packet(self.hosts, (src, dst));
        let one_way = |src, dst, bytes: u64| {
            self.path(src, dst)?.iter().try_fold(Duration::ZERO, |sum, hop| {
                let (link, back) = self.routes.link(hop.first()?.0)?;
                let line = link.line(back);
                let framed = Bytes::new(bytes + link.framing.overhead());
                Some(sum.saturating_add(line.delay).saturating_add(line.rate.serialization(framed)))
            })
        };
        Some(one_way(src, dst, packet)?.saturating_add(one_way(dst, src, ACK_BYTES)?))
    }

    /// Ports that the data of flows and answers use, with the largest packet and burst.
    fn used(&self, setup: &Setup) -> BTreeMap<u32, [u64; 2]> {
        let mut pairs: BTreeSet<(u32, u32)> = setup.flows.iter().map(|f| (f.src, f.dst)).collect();
        for client in &setup.query_clients {
            pairs.extend(client.servers.iter().map(|server| (*server, client.client)));
        }
        let mut used = BTreeMap::new();
        for pair in pairs {
            let own = largest(self.hosts, pair);
            for (port, _) in self.ports(pair) {
                let known = used.entry(port).or_insert(own);
                *known = max_of(*known, own);
            }
        }
        used
    }

    /// One pair of hosts of each pair of racks whose path uses one of the ports.
    fn through(&self, ports: &[u32]) -> Vec<(u32, u32)> {
        let wanted: BTreeSet<u32> = ports.iter().copied().collect();
        let mut firsts: BTreeMap<u32, [u32; 2]> = BTreeMap::new();
        for (host, rack) in (0_u32..).zip(&self.racks) {
            firsts.entry(*rack).or_insert([host; 2])[1] = host;
        }
        let uses = |src, dst| self.ports((src, dst)).iter().any(|(port, _)| wanted.contains(port));
        let pairs =
            firsts.values().flat_map(|[_, src]| firsts.values().map(|[dst, _]| (*src, *dst)));
        pairs.filter(|(src, dst)| src != dst && uses(*src, *dst)).collect()
    }

    /// Flows that meet at the port of the class that the most pairs of racks use.
    fn patterns(&self, ports: &[u32]) -> Vec<Pattern> {
        let through = self.through(ports);
        let mut by_port: BTreeMap<u32, (Vec<(u32, u32)>, u64)> = BTreeMap::new();
        for (src, dst) in through {
            for (port, _) in self.ports((src, dst)) {
                if ports.contains(&port) {
                    let (racks, packet) = by_port.entry(port).or_default();
                    racks.push((self.rack(src), self.rack(dst)));
                    *packet = (*packet).max(full_packet(self.hosts, (src, dst)));
                }
            }
        }
        let busiest = by_port
            .into_iter()
            .max_by_key(|(port, (racks, packet))| (racks.len(), *packet, u32::MAX - port));
        let Some((port, (racks, _))) = busiest else { return Vec::new() };
        self.flows_at(port, &racks)
    }

    fn rack(&self, host: u32) -> u32 {
        self.racks.get(host as usize).copied().unwrap_or_default()
    }

    /// Adds flows between these racks one by one, from and to the racks with the fewest, for as
    /// long as the port is the first that they fill.
    fn flows_at(&self, port: u32, racks: &[(u32, u32)]) -> Vec<Pattern> {
        let to_host = match self.routes.far_end(port) {
            Some(NodeId::Host(host)) => Some(host.0),
            _ => None,
        };
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut load: BTreeMap<u32, f64> = BTreeMap::new();
        let (mut out, mut fewest) = (Vec::new(), None);
        let free = |rack: u32, taken: &BTreeSet<u32>| {
            let hosts = (0_u32..).zip(&self.racks).filter(|(_, r)| **r == rack);
            let free = hosts.map(|(host, _)| host).filter(|host| !taken.contains(host));
            // Those with the largest packets first: they need the largest K.
            free.min_by_key(|host| (u64::MAX - full_packet(self.hosts, (*host, *host)), *host))
        };
        loop {
            let sources: BTreeSet<u32> = pairs.iter().map(|(src, _)| *src).chain(to_host).collect();
            let sinks: BTreeSet<u32> = pairs.iter().map(|(_, dst)| *dst).collect();
            let count = |rack: u32, hosts: &BTreeSet<u32>| {
                hosts.iter().filter(|host| self.rack(**host) == rack).count()
            };
            let next = racks.iter().filter_map(|(from, to)| {
                let src = free(*from, &sources)?;
                let dst = to_host.or_else(|| free(*to, &sinks))?;
                let smaller = u64::MAX - full_packet(self.hosts, (src, dst));
                Some(((count(*from, &sources), count(*to, &sinks), smaller), (src, dst)))
            });
            let Some((_, (src, dst))) = next.min() else { break };
            let path = self.ports((src, dst));
            let Some(nic) = path.first().and_then(|(port, _)| self.routes.line(*port)) else {
                break;
            };
            let rate = nic.rate.as_bps() as f64;
            for (port, share) in &path {
                *load.entry(*port).or_insert(0.0) += rate * share;
            }
            pairs.push((src, dst));
            let n = pairs.len() as u32;
            if fewest.is_none() && self.is_bottleneck(port, &pairs, &load) {
                fewest = Some(n);
            }
            let Some(least) = fewest else { continue };
            if (0..PATTERNS).any(|i| n == least << i) && self.is_bottleneck(port, &pairs, &load) {
                out.push(Pattern { pairs: pairs.clone(), port });
            }
            if n >= least << (PATTERNS - 1) {
                return out;
            }
        }
        let last = out.last().map_or(0, |p| p.pairs.len());
        if fewest.is_some() && pairs.len() > last && self.is_bottleneck(port, &pairs, &load) {
            out.push(Pattern { pairs, port });
        }
        out
    }

    /// Whether the flows fill the port, and none before it on their paths as much.
    fn is_bottleneck(&self, port: u32, pairs: &[(u32, u32)], load: &BTreeMap<u32, f64>) -> bool {
        let part = |port: u32| {
            let rate = self.routes.line(port).map_or(f64::INFINITY, |l| l.rate.as_bps() as f64);
            load.get(&port).copied().unwrap_or_default() / rate
        };
        let filled = part(port);
        let before = |pair: &(u32, u32)| {
            let ports = self.ports(*pair).into_iter().map(|(p, _)| p);
            ports.take_while(|p| *p != port).all(|p| part(p) < filled)
        };
        filled >= 1.0 && pairs.iter().all(before)
    }
}
