//! Routes: all shortest paths from each switch to each host, computed when the network is built.
//!
//! Breadth-first search from the switch of each rack; every link counts one. Routes depend only on
//! the host's rack, so the table has a row per switch and a column per rack; distinct sets of
//! several links are stored once. A look-up reads the host's rack, then the table. The entry is a
//! port, or says that the host is local, or is a set from which [`Routing`] chooses.

mod edges;
mod flowlet;
mod shard;
mod weighted;

use std::collections::BTreeMap;
use std::hint::cold_path;

use lowtide_sim::{Rng, Seed};

use crate::packet_pool::Descriptor;
use crate::{BlueprintError, HostId, Routing};

pub(crate) use edges::Edges;

use edges::UNREACHED;
use flowlet::Flowlets;
use weighted::Capacities;

/// Table entries below this are ports (see [`lowtide_sim::Entity::MAX_INDEX`]), from this on set
/// numbers, except the two constants below.
const SET: u32 = 1 << 30;
/// The rack is on this switch: the port is the other end of the host's link.
const LOCAL: u32 = u32::MAX - 1;
/// No path.
const UNREACHABLE: u32 = u32::MAX;

/// Maximum table entries: 0.5 GiB.
const MOST_PLACES: usize = 1 << 27;

/// The routing table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    attachments: Vec<Attachment>,
    /// Racks, plus one for unreachable hosts.
    columns: usize,
    /// Row-major: switch, then rack.
    table: Vec<u32>,
    next_hop_sets: Vec<NextHopSet>,
    /// The ports of all sets, concatenated.
    members: Vec<u32>,
    /// Per set; empty unless packets are sprayed.
    spray: Vec<SprayState>,
    /// Usually none. `table` then has no entry where flowlets choose, so that the look-up of the
    /// other kinds is the same with it.
    flowlets: Option<Box<Flowlets>>,
}

/// The attachment point of a host.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    rack: u32,
    /// The port of the host.
    nic: u32,
}

/// Ports of one switch on equal-cost paths.
#[derive(Clone, Copy, Debug)]
struct NextHopSet {
    first: u32,
    len: u32,
    /// The salt of the switch.
    salt: u64,
}

/// The spraying state of one set.
#[derive(Clone, Debug)]
struct SprayState {
    rng: Rng,
    /// Packets sent in this round.
    sent: u32,
    /// The first link of the round.
    start: u32,
}

impl Routes {
    /// Returns the port of `switch` for this packet; `None` if there is no path.
    #[expect(clippy::inline_always, reason = "every hop; a call costs as much as the look-up")]
    #[inline(always)]
    pub(crate) fn port(&mut self, switch: u32, packet: &Descriptor) -> Option<u32> {
        let attachment = self.attachments[packet.dst.0 as usize];
        let entry = self.table[switch as usize * self.columns + attachment.rack as usize];
        if entry < SET {
            return Some(entry);
        }
        match entry {
            LOCAL => Some(attachment.nic ^ 1),
            UNREACHABLE => None,
            set => Some(self.choose((set - SET) as usize, packet.flow)),
        }
    }
    /// Reads the entry that [`Self::predicted_port`] will read.
    #[inline]
    pub(crate) fn prefetch(&self, switch: u32, packet: &Descriptor) -> u64 {
        let attachment = self
            .attachments
            .get(packet.dst.0 as usize)
            .map_or(0, |attachment| attachment.rack as usize);
        self.table
            .get(switch as usize * self.columns + attachment)
            .map_or(0, |entry| u64::from(*entry))
    }
    /// Returns the expected port, without changing the spraying state.
    #[inline]
    pub(crate) fn predicted_port(&self, switch: u32, packet: &Descriptor) -> u32 {
        let attachment = self.attachments[packet.dst.0 as usize];
        let entry = self.table[switch as usize * self.columns + attachment.rack as usize];
        match entry {
            LOCAL => attachment.nic ^ 1,
            _ if entry < SET || entry == UNREACHABLE => entry,
            set => {
                let NextHopSet { first, len, salt } = self.next_hop_sets[(set - SET) as usize];
                self.members[(first + ecmp_index(packet.flow, salt, len)) as usize]
            }
        }
    }
    #[inline]
    fn choose(&mut self, set: usize, flow: u32) -> u32 {
        let NextHopSet { first, len, salt } = self.next_hop_sets[set];
        let which = if self.spray.is_empty() {
            ecmp_index(flow, salt, len)
        } else {
            cold_path();
            self.spray[set].next(len)
        };
        self.members[(first + which) as usize]
    }
    fn members_of(&self, set: &NextHopSet) -> &[u32] {
        &self.members[set.first as usize..(set.first + set.len) as usize]
    }
    /// Returns the port of the host.
    pub(crate) fn nic(&self, host: HostId) -> Option<u32> {
        self.attachments.get(host.0 as usize).map(|attachment| attachment.nic)
    }
    /// Returns all ports of `switch` on shortest paths to `host`.
    pub(crate) fn ports(&self, switch: u32, host: HostId) -> Vec<u32> {
        let Some(attachment) = self.attachments.get(host.0 as usize) else { return Vec::new() };
        let at = switch as usize * self.columns + attachment.rack as usize;
        match self.table.get(at) {
            Some(&LOCAL) => vec![attachment.nic ^ 1],
            Some(&port) if port < SET => vec![port],
            None | Some(&UNREACHABLE) => {
                let set = self.flowlets.as_ref().and_then(|f| f.set(at));
                set.map_or_else(Vec::new, |set| self.members_of(&self.next_hop_sets[set]).to_vec())
            }
            Some(set) => {
                let mut ports = self.members_of(&self.next_hop_sets[(set - SET) as usize]).to_vec();
                ports.dedup();
                ports
            }
        }
    }
    /// Returns its size in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(self.attachments.as_slice())
            + size_of_val(self.table.as_slice())
            + size_of_val(self.next_hop_sets.as_slice())
            + size_of_val(self.members.as_slice())
            + size_of_val(self.spray.as_slice())
            + self.flowlets.as_ref().map_or(0, |flowlets| flowlets.memory())
    }
    /// Computes the routes over all links except those that `avoid` marks (by number; links beyond
    /// its end are used). `rates` are those of the lines by port, for [`Routing::Wcmp`].
    pub(crate) fn find(
        edges: &Edges,
        routing: Routing,
        salt_seed: u64,
        avoid: &[bool],
        rates: &[u64],
    ) -> Result<Self, BlueprintError> {
        let hosts = edges.hosts;
        let usable = |port: u32| !avoid.get(port as usize / 2).is_some_and(|a| *a);
        let (attachments, racks) = attachments(edges, usable);
        let columns = racks.len() + 1;
        let (switches, most) = (edges.switches(), MOST_PLACES);
        if switches.saturating_mul(columns) > most {
            return Err(BlueprintError::TooManyRoutes { switches, racks: racks.len(), most });
        }
        let mut routes = Self {
            attachments,
            columns,
            table: vec![UNREACHABLE; switches * columns],
            next_hop_sets: Vec::new(),
            members: Vec::new(),
            spray: Vec::new(),
            flowlets: None,
        };
        let mut capacities = Capacities::new(rates);
        let mut numbers = BTreeMap::new();
        let mut ports = Vec::new();
        // Most racks are reached over the same ports as the rack before.
        let mut last = vec![UNREACHABLE; switches];
        for (column, &rack) in racks.iter().enumerate() {
            let passes = |port, to| to >= hosts && usable(port);
            let distance = edges.distances(rack, passes);
            if routing == Routing::Wcmp {
                capacities.compute(edges, rack, &distance, usable);
            }
            for (switch, last) in last.iter_mut().enumerate() {
                let node = hosts + switch;
                if distance[node] == UNREACHED {
                    continue;
                }
                let closer = |&&(port, to): &&(u32, u32)| {
                    let far = distance[to as usize];
                    far != UNREACHED && far + 1 == distance[node] && usable(port)
                };
                let mut near = edges.out(node).iter().filter(closer).map(|&(port, _)| port);
                let entry = match routing {
                    _ if node == rack => LOCAL,
                    Routing::Single => near.next().unwrap_or(UNREACHABLE),
                    Routing::Ecmp { .. } | Routing::Spray | Routing::Wcmp | Routing::Flowlet(_) => {
                        ports.clear();
                        ports.extend(near);
                        if routing == Routing::Wcmp {
                            capacities.repeat(&mut ports);
                        }
                        *last = routes.table_entry(&ports, *last, &mut numbers);
                        *last
                    }
                };
                routes.table[switch * columns + column] = entry;
            }
        }
        routes.init_selection(edges, routing, salt_seed);
        Ok(routes)
    }
    /// Returns the table entry for these ports; it may be `likely`.
    fn table_entry(
        &mut self,
        ports: &[u32],
        likely: u32,
        numbers: &mut BTreeMap<Vec<u32>, u32>,
    ) -> u32 {
        match *ports {
            [] => UNREACHABLE,
            [port] => port,
            _ => {
                let set = self.next_hop_sets.get(likely.wrapping_sub(SET) as usize);
                if set.is_some_and(|set| self.members_of(set) == ports) {
                    return likely;
                }
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
    /// Initialises the selection state of each set.
    fn init_selection(&mut self, edges: &Edges, routing: Routing, salt_seed: u64) {
        match routing {
            Routing::Single => {}
            Routing::Ecmp { .. } | Routing::Wcmp | Routing::Flowlet(_) => {
                let polarised = routing == Routing::Ecmp { polarised: true };
                let salt = |switch| Seed::derive(salt_seed, "switch", switch, "ecmp salt").value();
                let owner = edges.owners();
                for set in &mut self.next_hop_sets {
                    let port = self.members[set.first as usize];
                    set.salt = salt(if polarised { 0 } else { owner[port as usize] });
                }
                if let Routing::Flowlet(gap) = routing {
                    self.flowlets = Some(Box::new(Flowlets::new(gap, &mut self.table)));
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
    /// Returns the index of the next of `len` links.
    #[inline(never)]
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

/// Returns the index of the link, of `len`, for `flow` at a switch with that salt, each equally
/// likely.
#[inline]
fn ecmp_index(flow: u32, salt: u64, len: u32) -> u32 {
    const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;
    let hash = (u64::from(flow) ^ salt).wrapping_mul(FACTOR);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(FACTOR);
    (((hash >> 32) * u64::from(len)) >> 32) as u32
}

/// Returns the attachment of each host, and the node of each rack's switch.
fn attachments(edges: &Edges, usable: impl Fn(u32) -> bool) -> (Vec<Attachment>, Vec<usize>) {
    let mut racks = Vec::new();
    let mut rack_of = BTreeMap::new();
    let mut attachments = Vec::with_capacity(edges.hosts);
    for host in 0..edges.hosts {
        let (nic, switch) = edges.out(host).first().copied().unwrap_or_default();
        let known = (switch as usize >= edges.hosts).then(|| {
            *rack_of.entry(switch).or_insert_with(|| {
                racks.push(switch as usize);
                racks.len() as u32 - 1
            })
        });
        attachments
            .push(Attachment { rack: known.filter(|_| usable(nic)).unwrap_or(UNREACHABLE), nic });
    }
    let nowhere = racks.len() as u32;
    for attachment in &mut attachments {
        attachment.rack = attachment.rack.min(nowhere);
    }
    (attachments, racks)
}
