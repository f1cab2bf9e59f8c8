//! Routes: from each switch all equally short ways to each host, found when the network is built.
//!
//! Breadth first from the switch of each rack; every link counts one. What a switch knows of a host
//! depends on the host's rack only, so the table has a row per switch and a column per rack; sets of
//! several links are kept once each. A look-up reads the host's rack, then the table: it finds a port,
//! or the host to be here, or a set from which [`Routing`] takes one.

mod edges;
mod shard;

use std::collections::BTreeMap;

use lowtide_sim::{Rng, Seed};

use crate::packet::PacketMeta;
use crate::{BlueprintError, HostId, Routing};

pub(crate) use edges::Edges;

use edges::UNREACHED;

/// In the table: a number below this is a port (see [`lowtide_sim::Entity::MAX_INDEX`]), from this on
/// that of a set, and two more have a meaning of their own.
const SET: u32 = 1 << 30;
/// The rack is on this switch: the port is the other end of the host's.
const LOCAL: u32 = u32::MAX - 1;
/// There is no way.
const UNREACHABLE: u32 = u32::MAX;

/// The most places of the table: half a GiB.
const MOST_PLACES: usize = 1 << 27;

/// How packets find their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    attachments: Vec<Attachment>,
    /// Racks, and one more for hosts to which there is no way.
    columns: usize,
    /// Row by row: switch, then rack.
    table: Vec<u32>,
    next_hop_sets: Vec<NextHopSet>,
    /// The ports of all sets, one set after the other.
    members: Vec<u32>,
    /// Per set; empty unless packets are sprayed.
    spray: Vec<SprayState>,
}

/// Where a host is.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    rack: u32,
    /// The host's own port.
    nic: u32,
}

/// Ports of one switch that lie on equally short ways.
#[derive(Clone, Copy, Debug)]
struct NextHopSet {
    first: u32,
    len: u32,
    /// That of the switch.
    salt: u64,
}

/// Where spraying stands in one set.
#[derive(Clone, Debug)]
struct SprayState {
    rng: Rng,
    /// Packets of this round that were sent.
    sent: u32,
    /// With which link the round began.
    start: u32,
}

impl Routes {
    /// The port of `switch` for this packet; `None` if there is no way.
    #[inline]
    pub(crate) fn port(&mut self, switch: u32, packet: PacketMeta) -> Option<u32> {
        let home = self.attachments[packet.dst.0 as usize];
        let way = self.table[switch as usize * self.columns + home.rack as usize];
        if way < SET {
            return Some(way);
        }
        match way {
            LOCAL => Some(home.nic ^ 1),
            UNREACHABLE => None,
            set => Some(self.choose((set - SET) as usize, packet.flow)),
        }
    }
    /// Reads what [`Self::predicted_port`] will.
    #[inline]
    pub(crate) fn prefetch(&self, switch: u32, packet: &PacketMeta) -> u64 {
        let home = self.attachments.get(packet.dst.0 as usize).map_or(0, |home| home.rack as usize);
        self.table.get(switch as usize * self.columns + home).map_or(0, |way| u64::from(*way))
    }
    /// Which port it will be, as far as that can be told without taking it.
    #[inline]
    pub(crate) fn predicted_port(&self, switch: u32, packet: &PacketMeta) -> u32 {
        let home = self.attachments[packet.dst.0 as usize];
        let way = self.table[switch as usize * self.columns + home.rack as usize];
        match way {
            LOCAL => home.nic ^ 1,
            _ if way < SET || way == UNREACHABLE => way,
            set => {
                let NextHopSet { first, len, salt } = self.next_hop_sets[(set - SET) as usize];
                self.members[(first + ecmp_index(packet.flow, salt, len)) as usize]
            }
        }
    }
    fn choose(&mut self, set: usize, flow: u32) -> u32 {
        let NextHopSet { first, len, salt } = self.next_hop_sets[set];
        let which = match self.spray.get_mut(set) {
            None => ecmp_index(flow, salt, len),
            Some(turn) => turn.next(len),
        };
        self.members[(first + which) as usize]
    }
    /// The host's own port.
    pub(crate) fn nic(&self, host: HostId) -> Option<u32> {
        self.attachments.get(host.0 as usize).map(|home| home.nic)
    }
    /// All ports of `switch` on shortest ways to `host`.
    pub(crate) fn ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        let Some(home) = self.attachments.get(host.0 as usize) else { return Vec::new() };
        let at = switch as usize * self.columns + home.rack as usize;
        match self.table.get(at) {
            None | Some(&UNREACHABLE) => Vec::new(),
            Some(&LOCAL) => vec![home.nic ^ 1],
            Some(&port) if port < SET => vec![port],
            Some(set) => {
                let NextHopSet { first, len, .. } = self.next_hop_sets[(set - SET) as usize];
                self.members[first as usize..(first + len) as usize].to_vec()
            }
        }
    }
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.attachments.as_slice())
            + size_of_val(self.table.as_slice())
            + size_of_val(self.next_hop_sets.as_slice())
            + size_of_val(self.members.as_slice())
            + size_of_val(self.spray.as_slice())
    }
    /// Finds the ways over all links but those that `avoid` names (by number; links beyond its end
    /// are used).
    pub(crate) fn find(
        edges: &Edges,
        routing: Routing,
        salt_seed: u64,
        avoid: &[bool],
    ) -> Result<Self, BlueprintError> {
        let hosts = edges.hosts;
        let usable = |port: u32| !avoid.get(port as usize / 2).is_some_and(|a| *a);
        let (homes, racks) = attachments(edges, usable);
        let columns = racks.len() + 1;
        let (switches, most) = (edges.switches(), MOST_PLACES);
        if switches.saturating_mul(columns) > most {
            return Err(BlueprintError::TooManyRoutes { switches, racks: racks.len(), most });
        }
        let mut routes = Self {
            attachments: homes,
            columns,
            table: vec![UNREACHABLE; switches * columns],
            next_hop_sets: Vec::new(),
            members: Vec::new(),
            spray: Vec::new(),
        };
        let mut numbers = BTreeMap::new();
        let mut ports = Vec::new();
        for (column, &rack) in racks.iter().enumerate() {
            let passes = |port, to| to >= hosts && usable(port);
            let distance = edges.distances(rack, passes);
            for switch in 0..switches {
                let node = hosts + switch;
                if distance[node] == UNREACHED {
                    continue;
                }
                let closer = |&&(port, to): &&(u32, u32)| {
                    let far = distance[to as usize];
                    far != UNREACHED && far + 1 == distance[node] && usable(port)
                };
                let mut near = edges.out(node).iter().filter(closer).map(|&(port, _)| port);
                let way = match routing {
                    _ if node == rack => LOCAL,
                    Routing::Single => near.next().unwrap_or(UNREACHABLE),
                    Routing::Ecmp { .. } | Routing::Spray => {
                        ports.clear();
                        ports.extend(near);
                        routes.table_entry(&ports, &mut numbers)
                    }
                };
                routes.table[switch * columns + column] = way;
            }
        }
        routes.init_selection(edges, routing, salt_seed);
        Ok(routes)
    }
    /// What stands in the table for these ports.
    fn table_entry(&mut self, ports: &[u32], numbers: &mut BTreeMap<Vec<u32>, u32>) -> u32 {
        match *ports {
            [] => UNREACHABLE,
            [port] => port,
            _ => {
                if let Some(&number) = numbers.get(ports) {
                    return SET + number;
                }
                let number = self.next_hop_sets.len() as u32;
                let (first, len) = (self.members.len() as u32, ports.len() as u32);
                self.next_hop_sets.push(NextHopSet { first, len, salt: 0 });
                self.members.extend(ports);
                numbers.insert(ports.to_vec(), number);
                SET + number
            }
        }
    }
    /// Gives each set what it takes to choose.
    fn init_selection(&mut self, edges: &Edges, routing: Routing, salt_seed: u64) {
        match routing {
            Routing::Single => {}
            Routing::Ecmp { polarised } => {
                let salt = |switch| Seed::derive(salt_seed, "switch", switch, "ecmp salt").value();
                let owner = edges.owners();
                for set in &mut self.next_hop_sets {
                    let port = self.members[set.first as usize];
                    set.salt = salt(if polarised { 0 } else { owner[port as usize] });
                }
            }
            Routing::Spray => {
                let turn = |set: &NextHopSet| {
                    let port = self.members[set.first as usize].into();
                    let mut rng = Seed::derive(salt_seed, "port", port, "spray").rng();
                    let start = rng.below(set.len.into()) as u32;
                    SprayState { rng, sent: 0, start }
                };
                self.spray = self.next_hop_sets.iter().map(turn).collect();
            }
        }
    }
}

impl SprayState {
    /// Which of `len` links is next.
    fn next(&mut self, len: u32) -> u32 {
        if self.sent == len {
            self.sent = 0;
            self.start = self.rng.below(len.into()) as u32;
        }
        let which = (self.start + self.sent) % len;
        self.sent += 1;
        which
    }
}

/// Which of `len` links the packets of `flow` take at a switch with that salt, each equally likely.
#[inline]
fn ecmp_index(flow: u32, salt: u64, len: u32) -> u32 {
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
    let hash = (u64::from(flow) ^ salt).wrapping_mul(FACTOR);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(FACTOR);
    (((hash >> 32) * u64::from(len)) >> 32) as u32
}

/// Where each host is, and the node of each rack's switch.
fn attachments(edges: &Edges, usable: impl Fn(u32) -> bool) -> (Vec<Attachment>, Vec<usize>) {
    let mut racks = Vec::new();
    let mut rack_of = BTreeMap::new();
    let mut homes = Vec::with_capacity(edges.hosts);
    for host in 0..edges.hosts {
        let (nic, switch) = edges.out(host).first().copied().unwrap_or_default();
        let known = (switch as usize >= edges.hosts).then(|| {
            *rack_of.entry(switch).or_insert_with(|| {
                racks.push(switch as usize);
                racks.len() as u32 - 1
            })
        });
        homes.push(Attachment { rack: known.filter(|_| usable(nic)).unwrap_or(UNREACHABLE), nic });
    }
    let nowhere = racks.len() as u32;
    for home in &mut homes {
        home.rack = home.rack.min(nowhere);
    }
    (homes, racks)
}
