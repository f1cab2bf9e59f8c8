//! The neighbour table of an Ethernet interface: bounded, with queues of waiting packets.
//!
//! Contract: no socket and no clock. [`NeighbourTable::receive`] takes every frame,
//! [`NeighbourTable::resolve`] every outgoing packet, [`NeighbourTable::on_forward_progress`] the
//! hosts that acknowledged new data. [`NeighbourTable::handle_timeout`] is due at
//! [`NeighbourTable::deadline`]. [`NeighbourTable::take_frames`] returns the frames to send. The
//! latest packets to an unresolved host are kept (RFC 1122 §2.3.2.2). [`NeighbourState`] has the
//! rules for one neighbour.
//!
//! A flood of addresses does not evict hosts in use. An entry that was never confirmed is evicted
//! first, the oldest before others. Confirmed entries have three quarters of the table; beyond,
//! the least recently used is evicted.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use lowtide_units::{Duration, Instant};

use super::frame::{self, FrameKind, HEADER, Mac, NeighbourMessage};
use super::neighbour_state::{Claim, NeighbourState, Override, REACHABLE_TIME, TimeoutAction};
use crate::device::DeviceNetwork;
use crate::device::offload;
use crate::mix::mix;

/// Most hosts (Linux: `gc_thresh3`).
const MAX_ENTRIES: usize = 1024;
/// Most hosts that were confirmed: the others always have some room.
const MAX_CONFIRMED: usize = MAX_ENTRIES / 4 * 3;
/// Most packets that wait for one host.
const MAX_QUEUED: usize = 16;

#[derive(Debug)]
struct NeighbourEntry {
    state: NeighbourState,
    /// Time of the last packet to it, or of its creation.
    last_used: Instant,
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
    /// Seed of random times, which changes with each of them.
    seed: u64,
}

impl NeighbourTable {
    /// A table for a host at `mac`. Off-link packets go to the `peer` of one of the `networks`.
    /// `seed` decides the random times.
    pub(super) fn new(mac: Mac, networks: Vec<DeviceNetwork>, seed: u64) -> Self {
        Self {
            mac,
            networks,
            hosts: BTreeMap::new(),
            out: Vec::new(),
            earliest: Instant::FAR_FUTURE,
            lost: 0,
            seed,
        }
    }

    /// Time that a confirmation is valid: uniform in 0.5 to 1.5 times [`REACHABLE_TIME`], so that
    /// hosts do not probe in step (RFC 4861 §6.3.2).
    fn draw_reachable_time(&mut self) -> Duration {
        self.seed = mix(self.seed.wrapping_add(1));
        let mean = REACHABLE_TIME.as_us();
        Duration::from_us(mean / 2 + self.seed % (mean + 1))
    }

    /// Handles a frame. Returns true if an IP packet for this host follows its header.
    pub(super) fn receive(&mut self, now: Instant, bytes: &[u8]) -> bool {
        let message = match frame::parse(bytes, self.mac) {
            FrameKind::Ip => return true,
            FrameKind::Other => return false,
            FrameKind::Neighbour(message) => message,
        };
        match message {
            NeighbourMessage::Solicitation { target, sender } => {
                let for_us = self.networks.iter().any(|s| s.local == target);
                if for_us {
                    self.out.extend(frame::advertisement(target, self.mac, sender));
                }
                // RFC 826: requests for other hosts update known addresses, too. Neighbour
                // discovery discards them (RFC 4861 §7.2.3).
                if let Some((address, mac)) = sender.filter(|_| for_us || target.is_ipv4()) {
                    let always = for_us || target == address;
                    let overrides = if always { Override::Always } else { Override::AfterLocktime };
                    let claim = Claim { mac: Some(mac), solicited: false, overrides };
                    // The sender will be sent a reply next, so its address is needed.
                    self.learn(now, address, claim, for_us);
                }
            }
            NeighbourMessage::Advertisement { address, mac, solicited, overrides } => {
                let overrides = match overrides {
                    Some(true) => Override::Always,
                    Some(false) => Override::Never,
                    None => Override::AfterLocktime,
                };
                self.learn(now, address, Claim { mac, solicited, overrides }, false);
            }
        }
        false
    }

    /// Passes a claim about `address` to its entry. An unknown host is added only if it is
    /// `wanted`.
    fn learn(&mut self, now: Instant, address: IpAddr, claim: Claim, wanted: bool) {
        let on_link = self.networks.iter().any(|s| s.contains(address) && s.local != address);
        // No host has a multicast address, none or ours.
        let host_mac = |mac: Mac| mac[0] & 1 == 0 && mac != [0; 6] && mac != self.mac;
        if !on_link
            || !claim.mac.is_none_or(host_mac)
            || !(wanted || self.hosts.contains_key(&address))
        {
            return;
        }
        let reachable_time = self.draw_reachable_time();
        let entry = self.entry(now, address);
        let was_confirmed = entry.state.was_confirmed();
        entry.state.on_claim(now, claim, reachable_time);
        if let Some(mac) = entry.state.mac()
            && !entry.queue.is_empty()
        {
            let waiting = std::mem::take(&mut entry.queue);
            entry.state.on_send(now);
            let ours = self.mac;
            self.out.extend(waiting.into_iter().map(|packet| {
                let header = frame::header(mac, ours, address.is_ipv6());
                [&header[..], &packet].concat()
            }));
        }
        self.after_change(address, was_confirmed);
    }

    /// Notes the timer of an entry, and makes room if it was confirmed for the first time.
    fn after_change(&mut self, address: IpAddr, was_confirmed: bool) {
        let Some(entry) = self.hosts.get(&address) else { return };
        self.earliest = self.earliest.min(entry.state.deadline());
        if was_confirmed || !entry.state.was_confirmed() {
            return;
        }
        let confirmed = self.hosts.iter().filter(|(_, entry)| entry.state.was_confirmed());
        let others = confirmed.clone().filter(|(a, _)| **a != address);
        if confirmed.count() > MAX_CONFIRMED
            && let Some((oldest, _)) = others.min_by_key(|(_, entry)| entry.last_used)
        {
            self.forget(*oldest);
        }
    }

    fn forget(&mut self, address: IpAddr) {
        if let Some(removed) = self.hosts.remove(&address) {
            self.lost += removed.queue.len() as u64;
        }
    }

    /// The entry of `address`. A new one in a full table replaces the oldest that was never
    /// confirmed.
    fn entry(&mut self, now: Instant, address: IpAddr) -> &mut NeighbourEntry {
        if self.hosts.len() >= MAX_ENTRIES && !self.hosts.contains_key(&address) {
            let order = |entry: &NeighbourEntry| (entry.state.was_confirmed(), entry.last_used);
            let first = self.hosts.iter().min_by_key(|(_, entry)| order(entry)).map(|(a, _)| *a);
            if let Some(first) = first {
                self.forget(first);
            }
        }
        self.hosts.entry(address).or_insert_with(|| NeighbourEntry {
            state: NeighbourState::incomplete(now),
            last_used: now,
            queue: VecDeque::new(),
        })
    }

    /// Address of the next hop to `to`, if there is a route.
    fn next_hop(&self, to: IpAddr) -> Option<IpAddr> {
        if self.networks.iter().any(|s| s.contains(to)) {
            return Some(to);
        }
        // Off-link packets go to the peer of the first network of their family.
        let gateway = self.networks.iter().find(|s| s.local.is_ipv4() == to.is_ipv4());
        gateway.map(|network| network.peer)
    }

    /// Resolves the next hop of a packet. If it must wait, a packet with a `segment_size` is split
    /// first.
    pub(super) fn resolve(&mut self, now: Instant, packet: &[u8], segment_size: u16) -> Resolution {
        let Some(next) = destination(packet).and_then(|to| self.next_hop(to)) else {
            return Resolution::Unreachable;
        };
        let mac = self.mac;
        let entry = self.entry(now, next);
        if let Some(to) = entry.state.mac() {
            entry.last_used = now;
            entry.state.on_send(now);
            let deadline = entry.state.deadline();
            self.earliest = self.earliest.min(deadline);
            return Resolution::Resolved(frame::header(to, mac, next.is_ipv6()));
        }
        if segment_size == 0 {
            entry.queue.push_back(packet.to_vec());
        } else {
            let mut wait = |segment: &[u8]| entry.queue.push_back(segment.to_vec());
            offload::gso_segment(packet, segment_size, &mut wait);
        }
        let over = entry.queue.len().saturating_sub(MAX_QUEUED);
        entry.queue.drain(..over);
        self.lost += over as u64;
        self.handle_timeout_of(now, next);
        Resolution::Queued
    }

    /// Handles new data that the host `peer` has acknowledged.
    pub(super) fn on_forward_progress(&mut self, now: Instant, peer: IpAddr) {
        let reachable_time = self.draw_reachable_time();
        let Some(next) = self.next_hop(peer) else { return };
        let Some(entry) = self.hosts.get_mut(&next) else { return };
        let was_confirmed = entry.state.was_confirmed();
        entry.state.on_forward_progress(now, reachable_time);
        self.after_change(next, was_confirmed);
    }

    /// Sends the solicitation of a neighbour if it is due, or forgets the neighbour.
    fn handle_timeout_of(&mut self, now: Instant, address: IpAddr) {
        let Some(entry) = self.hosts.get_mut(&address) else { return };
        let known = match entry.state.handle_timeout(now) {
            TimeoutAction::Nothing => return,
            TimeoutAction::SolicitMulticast => None,
            TimeoutAction::SolicitUnicast(mac) => Some(mac),
            // A later packet to it starts over.
            TimeoutAction::Forget => return self.forget(address),
        };
        self.earliest = self.earliest.min(entry.state.deadline());
        let ours = self.networks.iter().find(|s| s.contains(address)).map(|s| s.local);
        let solicit = |ours| frame::solicitation(address, ours, self.mac, known);
        self.out.extend(ours.and_then(solicit));
    }

    /// Time at which [`Self::handle_timeout`] is due. May be early, never late.
    pub(super) fn deadline(&self) -> Instant {
        self.earliest
    }

    /// Repeats solicitations or gives up.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if now < self.earliest {
            return;
        }
        let due = self.hosts.iter().filter(|(_, entry)| entry.state.deadline() <= now);
        for address in due.map(|(address, _)| *address).collect::<Vec<_>>() {
            self.handle_timeout_of(now, address);
        }
        let next = self.hosts.values().map(|entry| entry.state.deadline()).min();
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
        NeighbourTable::new(OURS, networks.to_vec(), 1)
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

    /// RFC 4861 §7.3.3, also for ARP: REACHABLE for 15 to 45 s, then 5 s of DELAY, three probes to
    /// the known address, and resolution by broadcast.
    #[test]
    fn used_entries_are_probed_at_their_address_and_kept_until_they_fail() {
        for to in ["10.77.0.1", "fd77::1"] {
            let mut n = neighbours();
            n.resolve(at(0), &packet(to), 0);
            n.receive(at(0), &advertisement(to));
            n.take_frames();
            let header = Resolution::Resolved(frame::header(THEIRS, OURS, to.contains(':')));
            for second in [1, 14, 46, 50] {
                assert_eq!(n.resolve(at(second), &packet(to), 0), header, "{to} at {second} s");
                n.handle_timeout(at(second));
                assert!(n.nothing_to_send(), "{to} at {second} s");
            }
            for second in 51..54 {
                assert_eq!(n.deadline(), at(second));
                n.handle_timeout(at(second));
                let probes = n.take_frames();
                assert_eq!((probes.len(), &probes[0][..6]), (1, &THEIRS[..]), "unicast");
                assert!(is_solicitation(&probes[0], to));
                assert_eq!(n.resolve(at(second), &packet(to), 0), header);
            }
            n.handle_timeout(at(54));
            assert_eq!(n.resolve(at(54), &packet(to), 0), Resolution::Queued, "it is gone");
            assert_ne!(&n.take_frames()[0][..6], &THEIRS[..], "to all hosts");
        }
    }

    #[test]
    fn a_host_that_acknowledges_data_is_never_probed() {
        let mut n = neighbours();
        n.resolve(at(0), &packet("192.0.2.1"), 0);
        n.receive(at(0), &advertisement("10.77.0.1"));
        n.take_frames();
        for second in 0..200 {
            n.resolve(at(second), &packet("192.0.2.1"), 0);
            n.on_forward_progress(at(second), "192.0.2.1".parse().unwrap());
            n.handle_timeout(at(second));
        }
        assert!(n.nothing_to_send() && n.deadline() == Instant::FAR_FUTURE);
    }

    /// Gratuitous ARP, an unsolicited advertisement, a request with a forged sender: the host is at
    /// its own address again after 3 s.
    #[test]
    fn forged_addresses_are_probed_and_replaced_by_the_answer() {
        const FORGED: Mac = [2, 0xde, 0xad, 0xbe, 0xef, 1];
        for to in ["10.77.0.1", "fd77::1"] {
            let address: IpAddr = to.parse().unwrap();
            let us: IpAddr =
                if address.is_ipv4() { "10.77.0.2" } else { "fd77::2" }.parse().unwrap();
            let forgeries = [
                frame::solicitation(address, address, FORGED, None),
                frame::solicitation(us, address, FORGED, None),
                frame::advertisement(address, FORGED, None),
                frame::advertisement(address, FORGED, Some((us, OURS))),
            ];
            // Neighbour discovery has no gratuitous solicitation.
            let skipped = usize::from(address.is_ipv6());
            for (number, forged) in forgeries.into_iter().enumerate().skip(skipped) {
                let mut n = neighbours();
                n.resolve(at(0), &packet(to), 0);
                n.receive(at(0), &advertisement(to));
                n.take_frames();
                n.receive(at(10), &forged.unwrap());
                let mut back = None;
                for tenth in 100..300 {
                    let now = Instant::ZERO + Duration::from_ms(100 * tenth);
                    n.handle_timeout(now);
                    let resolved = n.resolve(now, &packet(to), 0);
                    n.on_forward_progress(now, address);
                    if n.take_frames().iter().any(|f| f[..6] != FORGED && is_solicitation(f, to)) {
                        n.receive(now, &advertisement(to));
                    }
                    let true_address = frame::header(THEIRS, OURS, address.is_ipv6());
                    if resolved == Resolution::Resolved(true_address) {
                        back = Some(tenth);
                        break;
                    }
                }
                assert!(
                    back.is_some_and(|at| (130..=132).contains(&at)),
                    "{to} {number}: {back:?}"
                );
            }
        }
    }

    /// Requests from many addresses, and packets to hosts that do not exist.
    #[test]
    fn a_flood_of_addresses_does_not_evict_a_host_in_use() {
        let wide = vec![DeviceNetwork::parse("10.0.0.2/8").unwrap()];
        let us = "10.0.0.2".parse().unwrap();
        let live: IpAddr = "10.0.0.1".parse().unwrap();
        for (answers, requests) in [(false, true), (false, false), (true, true)] {
            let mut n = NeighbourTable::new(OURS, wide.clone(), 1);
            n.resolve(at(0), &packet("10.0.0.1"), 0);
            n.receive(at(0), &frame::advertisement(live, THEIRS, Some((us, OURS))).unwrap());
            for host in 0..5000_u32 {
                let now = Instant::ZERO + Duration::from_ms(u64::from(host) + 1);
                let from = Ipv4Addr::from_bits(0x0a01_0000 + host);
                if requests {
                    let mac = [2, 0, 1, (host >> 16) as u8, (host >> 8) as u8, host as u8];
                    n.receive(now, &frame::solicitation(us, from.into(), mac, None).unwrap());
                }
                n.resolve(now, &packet(&from.to_string()), 0);
                if answers {
                    n.on_forward_progress(now, from.into());
                }
                let resolved = n.resolve(now, &packet("10.0.0.1"), 0);
                assert!(matches!(resolved, Resolution::Resolved(_)), "after {host} addresses");
                n.take_frames();
            }
            assert!(n.hosts.contains_key(&live) && n.hosts.len() <= MAX_ENTRIES);
        }
    }

    #[test]
    fn claims_of_our_own_or_of_no_address_are_ignored() {
        let mut n = neighbours();
        n.resolve(at(0), &packet("10.77.0.1"), 0);
        n.take_frames();
        let host = "10.77.0.1".parse().unwrap();
        for mac in [OURS, [0; 6], [3, 0, 0, 0, 0, 1]] {
            let us = ("10.77.0.2".parse().unwrap(), OURS);
            n.receive(at(0), &frame::advertisement(host, mac, Some(us)).unwrap());
            assert_eq!(n.resolve(at(0), &packet("10.77.0.1"), 0), Resolution::Queued);
        }
    }

    #[test]
    fn only_solicitations_for_our_addresses_are_answered() {
        for (ours, sender) in [("10.77.0.2", "10.77.0.7"), ("fd77::2", "fd77::7")] {
            let mut n = neighbours();
            let (sender, us) = (sender.parse().unwrap(), ours.parse().unwrap());
            n.receive(at(0), &frame::solicitation(us, sender, THEIRS, None).unwrap());
            let expected = FrameKind::Neighbour(NeighbourMessage::Advertisement {
                address: us,
                mac: Some(OURS),
                solicited: true,
                overrides: us.is_ipv6().then_some(true),
            });
            assert_eq!(frame::parse(&n.take_frames()[0], THEIRS), expected);
            assert!(n.hosts.contains_key(&sender), "the sender is resolved");
            let other = if us.is_ipv4() { "10.77.0.3" } else { "fd77::3" };
            n.receive(
                at(0),
                &frame::solicitation(other.parse().unwrap(), sender, THEIRS, None).unwrap(),
            );
            assert!(n.nothing_to_send());
        }
    }

    #[test]
    fn off_link_packets_go_to_the_gateway_and_the_table_is_bounded() {
        let mut n = neighbours();
        assert_eq!(n.resolve(at(0), &packet("192.0.2.1"), 0), Resolution::Queued);
        assert!(is_solicitation(&n.take_frames()[0], "10.77.0.1"));
        let wide = vec![DeviceNetwork::parse("10.0.0.2/8").unwrap()];
        let mut n = NeighbourTable::new(OURS, wide, 1);
        for host in 0..2000_u32 {
            let to = Ipv4Addr::from_bits(0x0a01_0000 + host);
            n.resolve(at(u64::from(host)), &packet(&to.to_string()), 0);
        }
        assert_eq!(n.hosts.len(), MAX_ENTRIES);
        assert_eq!(n.resolve(at(0), &packet("fd77::1"), 0), Resolution::Unreachable);
        assert_eq!(n.resolve(at(0), &[], 0), Resolution::Unreachable);
    }
}
