//! The ideal time of a flow: a lower bound on the time from its open to its last byte delivered.
//!
//! Contract: a lower bound for any flow that is written at once. The handshake takes a SYN and a
//! SYN-ACK, with their hosts' options, unless the connection opens early. The data are back-to-back
//! packets of the agreed MSS with the agreed options, never limited by a window. Serialisation is
//! exact to the picosecond of each line.
//!
//! `single` has one path. With `ecmp` it is the minimum over all equal-cost paths, separately for
//! each direction, as the hash may choose any. With `spray` and `flowlet` packets of one flow
//! overtake each other and use all lines of a hop at once. One packet then takes the fastest line,
//! all together the sum of the rates. A pair of hosts with more than [`MAX_PATHS`] distinct paths
//! has the best rate, delay and framing of each hop. Links that fail during the run count as up.

use std::collections::BTreeMap;
use std::rc::Rc;

use lowtide_host::Setup;
use lowtide_net::{Blueprint, HostId, LinkSpec, NodeId, ShortestPaths};
use lowtide_record::RunTables;
use lowtide_rows::FlowRow;
use lowtide_tcp::Config;
use lowtide_units::{Bytes, Duration, Rate};
use lowtide_wire::{DelayStamps, Options, Segment, Timestamps};

/// Distinct paths per pair of hosts.
const MAX_PATHS: usize = 32;
/// The MTU must exceed this for the delay option: headers, timestamps, the option.
const MTU_WITHOUT_DELAY_OPTION: u32 = 40 + 12 + DelayStamps::WIRE_LEN as u32;

/// The lines at one hop of a path: one, or all that a packet may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct IdealHop {
    /// Rate of the fastest line.
    rate: Rate,
    /// Minimum delay.
    delay: Duration,
    /// Minimum framing, bytes per packet.
    overhead: u64,
    /// Sum of the rates that one flow can use at a time, bits per second.
    total_rate: u128,
}

/// Lengths of a flow's IP packets in bytes, and the number with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packets {
    syn: u64,
    syn_ack: u64,
    /// Length of each packet with data except the last.
    full: u64,
    last: u64,
    count: u64,
}

/// A step from a switch: the port, and the index of the path behind it.
type PathStep = (u32, usize);

/// The paths of a network, computed on demand.
struct IdealPaths<'a> {
    routes: ShortestPaths<'a>,
    sprays: bool,
    /// By switch and rack: the distinct paths, or `None` if they are too many.
    paths: BTreeMap<(u32, u32), Option<Vec<PathStep>>>,
    /// Hops by switch and rack.
    hops: BTreeMap<(u32, u32), Rc<[IdealHop]>>,
}

impl IdealHop {
    fn of((link, back): (&LinkSpec, bool)) -> Self {
        let line = link.line(back);
        let overhead = link.framing.overhead();
        let together = u128::from(line.rate.as_bps());
        Self { rate: line.rate, delay: line.delay, overhead, total_rate: together }
    }

    /// Combines two lines into their best values; `sprays` if a flow uses both.
    fn combine(self, other: Self, sprays: bool) -> Self {
        Self {
            rate: self.rate.max(other.rate),
            delay: self.delay.min(other.delay),
            overhead: self.overhead.min(other.overhead),
            total_rate: if sprays {
                self.total_rate.saturating_add(other.total_rate)
            } else {
                self.total_rate.max(other.total_rate)
            },
        }
    }

    /// Returns whether no packet is faster over the other line.
    fn dominates(&self, other: &Self) -> bool {
        self.rate >= other.rate && self.delay <= other.delay && self.overhead <= other.overhead
    }

    fn serialization_time(&self, bytes: u64) -> Duration {
        self.rate.serialization(Bytes::new(bytes.saturating_add(self.overhead)))
    }

    /// Returns the time to serialise all packets with data.
    fn train_time(&self, packets: &Packets) -> Duration {
        let &Packets { full, last, count, .. } = packets;
        if self.total_rate == u128::from(self.rate.as_bps()) {
            let full = self.serialization_time(full).saturating_mul(count - 1);
            return full.saturating_add(self.serialization_time(last));
        }
        let framed = |bytes: u64| u128::from(bytes.saturating_add(self.overhead));
        let bytes = framed(full).saturating_mul(u128::from(count - 1)).saturating_add(framed(last));
        let ps = bytes.saturating_mul(8_000_000_000_000) / self.total_rate.max(1);
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)).max(self.serialization_time(last))
    }
}

/// Returns the time of a packet over a path.
fn path_time(path: &[IdealHop], bytes: u64) -> Duration {
    path.iter().fold(Duration::ZERO, |sum, line| {
        sum.saturating_add(line.delay).saturating_add(line.serialization_time(bytes))
    })
}

/// Returns the time of the data over a path.
///
/// The packets have one size, except a smaller last one. The result is the maximum over all lines
/// of this sum: the first packet crosses the lines before, all packets cross the line, and the last
/// crosses the rest. If packets `overtake`, the last may be the first from the second line on.
fn transfer(path: &[IdealHop], packets: &Packets, overtake: bool) -> Duration {
    let flight = path.iter().fold(Duration::ZERO, |sum, line| sum.saturating_add(line.delay));
    let first = if packets.count > 1 { packets.full } else { packets.last };
    let mut after = path.iter().fold(Duration::ZERO, |sum, line| {
        sum.saturating_add(line.serialization_time(packets.last))
    });
    let (mut before, mut longest) = (Duration::ZERO, Duration::ZERO);
    for (i, line) in path.iter().enumerate() {
        after = after.saturating_sub(line.serialization_time(packets.last));
        longest =
            longest.max(before.saturating_add(line.train_time(packets)).saturating_add(after));
        let ahead = if overtake && i > 0 { packets.last } else { first };
        before = before.saturating_add(line.serialization_time(ahead));
    }
    flight.saturating_add(longest)
}

impl<'a> IdealPaths<'a> {
    /// Returns `None` if the blueprint is no network.
    fn new(plan: &'a Blueprint) -> Option<Self> {
        let routes = ShortestPaths::find(plan).ok()?;
        let sprays = plan.routing.splits_flows();
        Some(Self { routes, sprays, paths: BTreeMap::new(), hops: BTreeMap::new() })
    }

    fn line(&self, port: u32) -> Option<IdealHop> {
        self.routes.link(port).map(IdealHop::of)
    }

    /// Returns the distinct paths from one host to another, or `None` if there is none.
    fn between(&mut self, src: u32, dst: u32) -> Option<Vec<Vec<IdealHop>>> {
        let (src, dst) = (HostId(src), HostId(dst));
        let (first, last) = (self.routes.nic(src)?, self.routes.nic(dst)? ^ 1);
        if src == dst {
            return None;
        }
        let (on, off) = (self.line(first)?, self.line(last)?);
        let from = match self.routes.far_end(first)? {
            NodeId::Host(host) => return (host == dst).then(|| vec![vec![on]]),
            NodeId::Switch(from) => from,
        };
        let NodeId::Switch(rack) = self.routes.far_end(last ^ 1)? else { return None };
        let whole = |middle: &[IdealHop]| {
            std::iter::once(on)
                .chain(middle.iter().copied())
                .chain([off])
                .collect::<Vec<IdealHop>>()
        };
        if from == rack {
            return Some(vec![whole(&[])]);
        }
        if !self.sprays {
            self.find(from, rack, dst);
            if let Some(Some(steps)) = self.paths.get(&(from, rack)) {
                let all = steps.iter().map(|step| whole(&self.follow(*step, rack)));
                return Some(all.collect()).filter(|all: &Vec<_>| !all.is_empty());
            }
        }
        let hops = self.hop_by_hop(from, rack, dst)?;
        Some(vec![whole(&hops)])
    }

    /// Returns the lines from a step on.
    fn follow(&self, (mut port, mut which): PathStep, rack: u32) -> Vec<IdealHop> {
        let mut lines = Vec::new();
        while let Some(line) = self.line(port) {
            lines.push(line);
            let Some(NodeId::Switch(at)) = self.routes.far_end(port) else { break };
            let steps = self.paths.get(&(at, rack)).and_then(Option::as_ref);
            let Some(&step) = steps.and_then(|steps| steps.get(which)) else { break };
            (port, which) = step;
        }
        lines
    }

    /// Computes the paths from a switch to `rack`, where `host` is.
    fn find(&mut self, from: u32, rack: u32, host: HostId) {
        let mut open = vec![from];
        while let Some(&at) = open.last() {
            if self.paths.contains_key(&(at, rack)) {
                open.pop();
                continue;
            }
            let ports = self.routes.next_ports(at, host);
            let next = |port: &u32| match self.routes.far_end(*port) {
                Some(NodeId::Switch(next)) if next != rack => Some(next),
                _ => None,
            };
            let unknown = ports.iter().filter_map(next);
            let unknown: Vec<u32> =
                unknown.filter(|next| !self.paths.contains_key(&(*next, rack))).collect();
            if unknown.is_empty() {
                let steps = ports.iter().map(|port| match next(port) {
                    None => Some(vec![(*port, 0)]),
                    Some(next) => {
                        let behind = self.paths.get(&(next, rack))?.as_ref()?;
                        Some((0..behind.len()).map(|which| (*port, which)).collect())
                    }
                });
                let steps: Option<Vec<Vec<PathStep>>> = steps.collect();
                let kept = steps.and_then(|steps| self.non_dominated(&steps.concat(), rack));
                self.paths.insert((at, rack), kept);
            } else {
                open.extend(unknown);
            }
        }
    }

    /// Keeps the steps to paths that no other path dominates at every hop; `None` if they are too
    /// many.
    fn non_dominated(&self, steps: &[PathStep], rack: u32) -> Option<Vec<PathStep>> {
        if let [only] = steps {
            return Some(vec![*only]);
        }
        let as_good = |a: &[IdealHop], b: &[IdealHop]| a.iter().zip(b).all(|(a, b)| a.dominates(b));
        let mut kept: Vec<(PathStep, Vec<IdealHop>)> = Vec::new();
        for step in steps {
            let path = self.follow(*step, rack);
            if kept.iter().any(|(_, other)| as_good(other, &path)) {
                continue;
            }
            kept.retain(|(_, other)| !as_good(&path, other));
            kept.push((*step, path));
            if kept.len() > MAX_PATHS {
                return None;
            }
        }
        Some(kept.into_iter().map(|(step, _)| step).collect())
    }

    /// Returns the hops from a switch to `rack`, where `host` is: the combined lines of each.
    fn hop_by_hop(&mut self, from: u32, rack: u32, host: HostId) -> Option<Rc<[IdealHop]>> {
        if let Some(known) = self.hops.get(&(from, rack)) {
            return Some(Rc::clone(known));
        }
        let (mut at, mut hops) = (vec![from], Vec::new());
        while at != [rack] {
            let mut ports: Vec<u32> =
                at.iter().flat_map(|at| self.routes.next_ports(*at, host)).collect();
            ports.sort_unstable();
            ports.dedup();
            let lines = ports.iter().filter_map(|port| self.line(*port));
            hops.push(lines.reduce(|a, b| a.combine(b, self.sprays))?);
            at = ports
                .iter()
                .filter_map(|port| match self.routes.far_end(*port)? {
                    NodeId::Switch(next) => Some(next),
                    NodeId::Host(_) => None,
                })
                .collect();
            at.sort_unstable();
            at.dedup();
        }
        let hops: Rc<[IdealHop]> = hops.into();
        self.hops.insert((from, rack), Rc::clone(&hops));
        Some(hops)
    }

    /// Returns the ideal time of a flow with these packets, without its handshake if its connection
    /// opens `early`. `None` if its hosts are unconnected.
    fn ideal(&mut self, src: u32, dst: u32, packets: &Packets, early: bool) -> Option<Duration> {
        if early {
            let forth = self.between(src, dst)?;
            return forth.iter().map(|path| transfer(path, packets, self.sprays)).min();
        }
        let back = self.between(dst, src)?;
        let back = back.iter().map(|path| path_time(path, packets.syn_ack)).min()?;
        let forth = self.between(src, dst)?;
        // All packets of a connection take one path, unless they are sprayed.
        let forth = forth.iter().map(|path| {
            path_time(path, packets.syn).saturating_add(transfer(path, packets, self.sprays))
        });
        Some(forth.min()?.saturating_add(back))
    }
}

/// Returns the IP length of a segment without payload, bytes.
fn ip_bytes(options: Options) -> u64 {
    u64::from(Segment { options, ..Segment::default() }.ipv4_len())
}

/// Returns the options of a SYN or SYN-ACK that all of `hosts` want.
fn syn_options(hosts: &[&Config]) -> Options {
    let all = |wish: fn(&Config) -> bool| hosts.iter().all(|config| wish(config));
    let mut options = Options {
        mss: Some(0),
        window_scale: all(|c| c.window_scaling).then_some(0),
        sack_permitted: all(|c| c.sack),
        timestamps: all(|c| c.timestamps).then(Timestamps::default),
        ..Options::default()
    };
    if all(|c| c.delay_option && c.mtu > MTU_WITHOUT_DELAY_OPTION) {
        options.offer_delay();
    }
    options
}

/// Returns the packets of a flow, or `None` if it has no size or never opened.
fn packets(setup: &Setup, (src, dst): (u32, u32), row: &FlowRow) -> Option<Packets> {
    let config = |host: u32| setup.hosts.get(host as usize).map(|h| &h.config);
    let (client, server) = (config(src)?, config(dst)?);
    let (size, mss) = (row.size_bytes?, u64::from(row.mss_bytes?).max(1));
    let timestamps = (client.timestamps && server.timestamps).then(Timestamps::default);
    let mut options = Options { timestamps, ..Options::default() };
    if row.delay_option {
        options.set_delay(DelayStamps::default());
    }
    let headers = ip_bytes(options);
    let count = size.div_ceil(mss).max(1);
    let last = size.saturating_sub((count - 1).saturating_mul(mss));
    Some(Packets {
        syn: ip_bytes(syn_options(&[client])),
        syn_ack: ip_bytes(syn_options(&[client, server])),
        full: mss.saturating_add(headers),
        last: last.saturating_add(headers),
        count,
    })
}

/// Adds the ideal time to every flow that has a size and was opened.
pub(crate) fn with_ideals(mut tables: RunTables, setup: &Setup) -> RunTables {
    let Some(mut network) = IdealPaths::new(&setup.network) else { return tables };
    for row in &mut tables.flows {
        let Some(flow) = setup.flows.get(row.flow as usize) else { continue };
        let packets = packets(setup, (flow.src, flow.dst), row);
        let early = setup.opens_early(flow.group);
        let ideal = packets.and_then(|packets| network.ideal(flow.src, flow.dst, &packets, early));
        row.ideal_ps = ideal.map(Duration::as_ps);
    }
    tables
}

#[cfg(test)]
mod tests;
