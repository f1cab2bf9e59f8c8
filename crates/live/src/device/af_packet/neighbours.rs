//! The neighbour table of an Ethernet interface: bounded, with repeated probes and queues of
//! waiting packets.
//!
//! Contract: no socket and no clock. [`NeighbourTable::receive`] takes every frame,
//! [`NeighbourTable::resolve`] every outgoing packet. [`NeighbourTable::handle_timeout`] is due at
//! [`NeighbourTable::deadline`]. [`NeighbourTable::take_frames`] returns the frames to send. The
//! latest packets to an unresolved host are kept (RFC 1122 §2.3.2.2).

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_units::{Duration, Instant};

use super::frame::{self, FrameKind, HEADER, Mac, NeighbourMessage};
use crate::device::DeviceNetwork;
use crate::device::offload;

/// Most hosts; a new one replaces the one that was confirmed longest ago.
const MAX_ENTRIES: usize = 1024;
/// Most packets that wait for one host.
const MAX_QUEUED: usize = 16;
/// Most probes for a host (Linux: `mcast_solicit`), and their interval (`retrans_time_ms`).
const MAX_PROBES: u32 = 3;
const RETRANS_TIMER: Duration = Duration::from_secs(1);
/// Time after which an entry in use is probed again.
const REACHABLE_TIME: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct NeighbourEntry {
    /// Its MAC address once it is resolved.
    mac: Option<Mac>,
    /// Time of the last confirmation or the first probe.
    confirmed: Instant,
    /// Probes since then.
    probes: u32,
    /// Time of the next probe or of the failure; [`Instant::FAR_FUTURE`] until the host is used.
    next_probe: Instant,
    /// Packets that wait for resolution.
    queue: VecDeque<Vec<u8>>,
}

/// Resolution of the next hop of an outgoing packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resolution {
    /// Send it in a frame with this header.
    Resolved([u8; HEADER]),
    /// It waits until the host is resolved.
    Queued,
    /// There is no route to it.
    Unreachable,
}

/// The neighbour table of an interface.
#[derive(Debug)]
pub(super) struct NeighbourTable {
    mac: Mac,
    networks: Vec<DeviceNetwork>,
    hosts: BTreeMap<IpAddr, NeighbourEntry>,
    out: Vec<Vec<u8>>,
    /// Lower bound of all deadlines.
    earliest: Instant,
    /// Queued packets that were dropped.
    lost: u64,
}

impl NeighbourTable {
    /// A table for a host at `mac`. Off-link packets go to the `peer` of one of the `networks`.
    pub(super) fn new(mac: Mac, networks: Vec<DeviceNetwork>) -> Self {
        let earliest = Instant::FAR_FUTURE;
        Self { mac, networks, hosts: BTreeMap::new(), out: Vec::new(), earliest, lost: 0 }
    }

    /// Handles a frame. Returns true if an IP packet for this host follows its header.
    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) -> bool {
        match frame::parse(bytes, self.mac) {
            FrameKind::Ip => true,
            FrameKind::Other => false,
            FrameKind::Neighbour(NeighbourMessage::Solicitation { target, asker }) => {
                if self.networks.iter().any(|s| s.local == target) {
                    self.out.extend(frame::advertisement(target, self.mac, asker));
                    // The asker will be sent a reply next, so its address is needed.
                    if let Some((address, mac)) = asker {
                        self.learn(now, address, mac, true);
                    }
                } else if let Some((address, mac)) = asker {
                    self.learn(now, address, mac, false);
                }
                false
            }
            FrameKind::Neighbour(NeighbourMessage::Advertisement { address, mac }) => {
                self.learn(now, address, mac, false);
                false
            }
        }
    }

    /// Records that `address` is at `mac`. An unknown host is added only if it is `wanted`.
    fn learn(&mut self, now: Instant, address: IpAddr, mac: Mac, wanted: bool) {
        let on_link = self.networks.iter().any(|s| s.contains(address) && s.local != address);
        if !on_link || mac[0] & 1 == 1 || !(wanted || self.hosts.contains_key(&address)) {
            return;
        }
        let host = self.entry(now, address);
        host.mac = Some(mac);
        (host.confirmed, host.probes, host.next_probe) = (now, 0, Instant::FAR_FUTURE);
        let waiting = std::mem::take(&mut host.queue);
        let ours = self.mac;
        self.out.extend(waiting.into_iter().map(|packet| {
            let header = frame::header(mac, ours, address.is_ipv6());
            [&header[..], &packet].concat()
        }));
    }

    /// The entry of `address`, which replaces the oldest entry if the table is full.
    fn entry(&mut self, now: Instant, address: IpAddr) -> &mut NeighbourEntry {
        if self.hosts.len() >= MAX_ENTRIES && !self.hosts.contains_key(&address) {
            let oldest = self.hosts.iter().min_by_key(|(_, host)| host.confirmed).map(|(a, _)| *a);
            if let Some(removed) = oldest.and_then(|oldest| self.hosts.remove(&oldest)) {
                self.lost += removed.queue.len() as u64;
            }
        }
        self.hosts.entry(address).or_insert_with(|| NeighbourEntry {
            mac: None,
            confirmed: now,
            probes: 0,
            next_probe: Instant::FAR_FUTURE,
            queue: VecDeque::new(),
        })
    }

    /// Resolves the next hop of a packet. If it must wait, a packet with a `segment_size` is split
    /// first.
    pub(super) fn resolve(&mut self, now: Instant, packet: &[u8], segment_size: u16) -> Resolution {
        let Some(to) = destination(packet) else { return Resolution::Unreachable };
        let network = self.networks.iter().find(|s| s.contains(to));
        // Off-link packets go to the peer of the first network of their family.
        let gateway = || self.networks.iter().find(|s| s.local.is_ipv4() == to.is_ipv4());
        let next = match (network, gateway()) {
            (Some(_), _) => to,
            (None, Some(network)) => network.peer,
            (None, None) => return Resolution::Unreachable,
        };
        let mac = self.mac;
        let host = self.entry(now, next);
        let known = host.mac;
        if known.is_none() {
            if segment_size == 0 {
                host.queue.push_back(packet.to_vec());
            } else {
                let mut wait = |segment: &[u8]| host.queue.push_back(segment.to_vec());
                offload::gso_segment(packet, segment_size, &mut wait);
            }
            let over = host.queue.len().saturating_sub(MAX_QUEUED);
            host.queue.drain(..over);
            self.lost += over as u64;
        }
        self.solicit(now, next);
        known.map_or(Resolution::Queued, |to| {
            Resolution::Resolved(frame::header(to, mac, next.is_ipv6()))
        })
    }

    /// Probes a host in use if that is due.
    fn solicit(&mut self, now: Instant, address: IpAddr) {
        let Some(host) = self.hosts.get_mut(&address) else { return };
        let stale = host.mac.is_none() || now.saturating_since(host.confirmed) >= REACHABLE_TIME;
        if !stale || (host.probes > 0 && now < host.next_probe) {
            return;
        }
        if host.probes >= MAX_PROBES {
            // The host does not answer; a later packet to it starts over.
            self.lost += host.queue.len() as u64;
            self.hosts.remove(&address);
            return;
        }
        host.probes += 1;
        host.next_probe = now + RETRANS_TIMER;
        self.earliest = self.earliest.min(host.next_probe);
        let ours = self.networks.iter().find(|s| s.contains(address)).map(|s| s.local);
        self.out.extend(ours.and_then(|ours| frame::solicitation(address, ours, self.mac)));
    }

    /// Time at which [`Self::handle_timeout`] is due. May be early, never late.
    pub(super) fn deadline(&self) -> Instant {
        self.earliest
    }

    /// Repeats probes or gives up.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if now < self.earliest {
            return;
        }
        let due = self.hosts.iter().filter(|(_, h)| h.probes > 0 && h.next_probe <= now);
        for address in due.map(|(address, _)| *address).collect::<Vec<_>>() {
            self.solicit(now, address);
        }
        let next = self.hosts.values().filter(|h| h.probes > 0).map(|h| h.next_probe).min();
        self.earliest = next.unwrap_or(Instant::FAR_FUTURE);
    }

    /// Takes the frames to send.
    pub(super) fn take_frames(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.out)
    }

    /// Whether no frame is to be sent.
    pub(super) fn nothing_to_send(&self) -> bool {
        self.out.is_empty()
    }

    /// Queued packets that were dropped since the last call.
    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

/// Destination address of an IP packet.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    if packet.first()? >> 4 == 6 {
        let octets = packet.get(24..40)?.first_chunk()?;
        return Some(Ipv6Addr::from_octets(*octets).into());
    }
    let octets = packet.get(16..20)?.first_chunk()?;
    Some(Ipv4Addr::from_octets(*octets).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Mac = [2, 0, 0, 0, 0, 2];
    const THEIRS: Mac = [2, 0, 0, 0, 0, 1];

    fn neighbours() -> NeighbourTable {
        let networks = ["10.77.0.2/24", "fd77::2/64"].map(|s| DeviceNetwork::parse(s).unwrap());
        NeighbourTable::new(OURS, networks.to_vec())
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// A packet to that address, as far as this module reads it.
    fn packet(to: &str) -> Vec<u8> {
        match to.parse().unwrap() {
            IpAddr::V4(to) => [&[0x45; 16][..], &to.octets()].concat(),
            IpAddr::V6(to) => [&[0x60; 24][..], &to.octets()].concat(),
        }
    }

    fn advertisement(from: &str) -> Vec<u8> {
        let ours = if from.contains(':') { "fd77::2" } else { "10.77.0.2" };
        frame::advertisement(from.parse().unwrap(), THEIRS, Some((ours.parse().unwrap(), OURS)))
            .unwrap()
    }

    fn is_solicitation(frame: &[u8], target: &str) -> bool {
        let target: IpAddr = target.parse().unwrap();
        matches!(frame::parse(frame, THEIRS), FrameKind::Neighbour(NeighbourMessage::Solicitation { target: t, .. }) if t == target)
    }

    #[test]
    fn packets_wait_for_resolution_and_leave_in_order() {
        for to in ["10.77.0.9", "fd77::9"] {
            let mut n = neighbours();
            let mut first = packet(to);
            first.push(1);
            assert_eq!(n.resolve(at(0), &first, 0), Resolution::Queued);
            assert_eq!(n.resolve(at(0), &packet(to), 0), Resolution::Queued);
            let solicitations = n.take_frames();
            assert_eq!(solicitations.len(), 1, "one solicitation for both");
            assert!(is_solicitation(&solicitations[0], to));
            assert!(!n.receive(at(0), &advertisement(to)));
            let sent = n.take_frames();
            assert_eq!((&sent[0][HEADER..], &sent[1][HEADER..]), (&first[..], &packet(to)[..]));
            let header = frame::header(THEIRS, OURS, to.contains(':'));
            assert_eq!(n.resolve(at(1), &packet(to), 0), Resolution::Resolved(header));
            assert!(n.nothing_to_send());
        }
    }

    #[test]
    fn a_host_that_does_not_answer_fails_and_is_probed_again() {
        let mut n = neighbours();
        for _ in 0..MAX_QUEUED + 3 {
            assert_eq!(n.resolve(at(0), &packet("10.77.0.9"), 0), Resolution::Queued);
        }
        assert_eq!(n.take_lost(), 3);
        for second in 1..3 {
            assert_eq!(n.deadline(), at(second));
            n.handle_timeout(at(second));
        }
        assert_eq!(n.take_frames().len(), 3);
        n.handle_timeout(at(3));
        assert_eq!((n.take_lost(), n.deadline()), (MAX_QUEUED as u64, Instant::FAR_FUTURE));
        assert!(n.nothing_to_send() && n.hosts.is_empty());
        n.resolve(at(4), &packet("10.77.0.9"), 0);
        assert!(is_solicitation(&n.take_frames()[0], "10.77.0.9"));
    }

    #[test]
    fn used_entries_are_probed_again_and_kept_until_they_fail() {
        let mut n = neighbours();
        n.resolve(at(0), &packet("10.77.0.1"), 0);
        n.receive(at(0), &advertisement("10.77.0.1"));
        n.take_frames();
        assert!(
            matches!(n.resolve(at(29), &packet("10.77.0.1"), 0), Resolution::Resolved(_))
                && n.nothing_to_send()
        );
        assert!(matches!(n.resolve(at(31), &packet("10.77.0.1"), 0), Resolution::Resolved(_)));
        assert!(is_solicitation(&n.take_frames()[0], "10.77.0.1"));
        n.receive(at(31), &advertisement("10.77.0.1"));
        assert_eq!(
            n.resolve(at(40), &packet("10.77.0.1"), 0),
            n.resolve(at(50), &packet("10.77.0.1"), 0)
        );
        n.resolve(at(70), &packet("10.77.0.1"), 0);
        (71..74).for_each(|second| n.handle_timeout(at(second)));
        assert_eq!(
            n.resolve(at(74), &packet("10.77.0.1"), 0),
            Resolution::Queued,
            "it no longer answers"
        );
    }

    #[test]
    fn only_solicitations_for_our_addresses_are_answered() {
        for (ours, asker) in [("10.77.0.2", "10.77.0.7"), ("fd77::2", "fd77::7")] {
            let mut n = neighbours();
            let (asker, us) = (asker.parse().unwrap(), ours.parse().unwrap());
            n.receive(at(0), &frame::solicitation(us, asker, THEIRS).unwrap());
            let expected =
                FrameKind::Neighbour(NeighbourMessage::Advertisement { address: us, mac: OURS });
            assert_eq!(frame::parse(&n.take_frames()[0], THEIRS), expected);
            assert!(n.hosts.contains_key(&asker), "the asker is resolved");
            let other = if us.is_ipv4() { "10.77.0.3" } else { "fd77::3" };
            n.receive(at(0), &frame::solicitation(other.parse().unwrap(), asker, THEIRS).unwrap());
            assert!(n.nothing_to_send());
        }
    }

    #[test]
    fn off_link_packets_go_to_the_gateway_and_the_table_is_bounded() {
        let mut n = neighbours();
        assert_eq!(n.resolve(at(0), &packet("192.0.2.1"), 0), Resolution::Queued);
        assert!(is_solicitation(&n.take_frames()[0], "10.77.0.1"));
        let wide = vec![DeviceNetwork::parse("10.0.0.2/8").unwrap()];
        let mut n = NeighbourTable::new(OURS, wide);
        for host in 0..2000_u32 {
            let to = Ipv4Addr::from_bits(0x0a01_0000 + host);
            n.resolve(at(u64::from(host)), &packet(&to.to_string()), 0);
        }
        assert_eq!(n.hosts.len(), MAX_ENTRIES);
        assert_eq!(n.resolve(at(0), &packet("fd77::1"), 0), Resolution::Unreachable);
        assert_eq!(n.resolve(at(0), &[], 0), Resolution::Unreachable);
    }
}
