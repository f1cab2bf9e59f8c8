//! An existing interface (AF_PACKET, packet(7)): the other end of a veth pair, a TUN interface of
//! another program, a network card.
//!
//! Contract: lowtide has addresses on it that the kernel has not, so the kernel ignores their
//! packets. On Ethernet this module answers ARP and neighbour discovery and resolves its
//! neighbours; on a TUN interface packets are plain IP. Packets with a partial checksum or several
//! segments come from a host on this machine. They are completed here and counted, because such
//! segments have no individual ECN mark or arrival time.

mod frame;
mod neighbour_state;
mod neighbours;
mod reader;
mod socket;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_packet_ring::{RingLayout, RxRing};
use lowtide_units::{HostStamp, Instant};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use super::offload::{self, VirtioNetHeader};
use super::plan::DevicePlan;
use super::rx_batch::{MAX_PACKETS, PacketSlot, RxBatch, TxPacket};
use crate::clock::Clock;
use crate::error::LiveError;
use crate::links::{LinkLayer, Links};
use crate::netns;
use frame::HEADER;
use neighbours::{NeighbourTable, Resolution};
use reader::{FrameReader, ReadOutcome};
use socket::Socket;

/// Bytes of the virtio-net header and an Ethernet header.
const HEADERS_LEN: usize = VirtioNetHeader::LEN + HEADER;

/// An existing interface.
pub struct AfPacket {
    socket: Socket,
    /// The receive ring, or why there is none; `None` if none was wanted.
    ring: Option<io::Result<Mutex<RxRing>>>,
    name: String,
    clock: Clock,
    /// `None` without Ethernet.
    neighbours: Option<Mutex<NeighbourTable>>,
    checksum_partial: AtomicU64,
    /// Whether GSO packets are passed on as they are.
    gso: bool,
}

impl fmt::Debug for AfPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({})", self.name)
    }
}

impl AfPacket {
    /// Opens the interface of `plan`.
    ///
    /// # Errors
    /// The interface does not exist, is down, or is neither Ethernet nor IP. The kernel has one of
    /// the addresses or forwards their packets. No permission.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        let name = plan.name.as_str();
        let link = Links::open()?.get(name)?;
        if !link.up {
            return Err(LiveError::InterfaceDown(name.to_owned()));
        }
        let neighbours = match (link.layer, link.mac) {
            (LinkLayer::Ethernet, Some(mac)) => {
                let mac = if link.veth { frame::second_mac(mac) } else { mac };
                let seed = getrandom::u64().map_err(|e| {
                    LiveError::system("draw a random number", io::Error::other(e.to_string()))
                })?;
                Some(Mutex::new(NeighbourTable::new(mac, plan.networks.clone(), seed)))
            }
            (LinkLayer::Ip, _) => None,
            _ => return Err(LiveError::InterfaceKind(name.to_owned())),
        };
        if u32::from(plan.mtu) > link.mtu {
            return Err(LiveError::Mtu {
                name: name.to_owned(),
                interface: link.mtu,
                wanted: plan.mtu,
            });
        }
        check_kernel_ignores_addresses(plan)?;
        let what = || format!("open the interface `{name}`");
        let layout =
            (plan.rx_ring > 0 && !plan.offload).then(|| RingLayout::new(plan.mtu, plan.rx_ring));
        let (socket, ring) = Socket::open(name, link.index, neighbours.is_some(), layout)
            .map_err(|e| LiveError::system(what(), e))?;
        let ring = ring.map(|ring| ring.map(Mutex::new));
        let (clock, name) = (Clock::start(), name.to_owned());
        let (checksum_partial, offload) = (AtomicU64::new(0), plan.offload);
        Ok(Self { socket, ring, name, clock, neighbours, checksum_partial, gso: offload })
    }

    fn lock_neighbours(&self) -> Option<MutexGuard<'_, NeighbourTable>> {
        self.neighbours.as_ref().map(|n| n.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sends queued frames of address resolution.
    fn send_queued_frames(&self, neighbours: &mut NeighbourTable) -> io::Result<()> {
        if neighbours.nothing_to_send() {
            return Ok(());
        }
        for frame in neighbours.take_frames() {
            self.socket.send(&VirtioNetHeader::PLAIN, &frame)?;
        }
        Ok(())
    }

    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut reader = FrameReader::new(self);
        for _ in 0..MAX_PACKETS {
            match reader.read(buffer)? {
                ReadOutcome::Empty => break,
                ReadOutcome::Handled => {}
                ReadOutcome::Packet { start, len, offload, before } => {
                    let packet = buffer.get_mut(start..start + len).unwrap_or_default();
                    if !offload.is_plain() {
                        self.checksum_partial.fetch_add(1, Ordering::Relaxed);
                        offload.fill_checksum(packet, before);
                    }
                    buffer.copy_within(start..start + len, 0);
                    return Ok(Some(len));
                }
            }
        }
        // The ring does not report errors of the interface.
        if reader.has_ring() {
            self.socket.take_error()?;
        }
        Ok(None)
    }

    pub(super) fn recv_many(
        &self,
        batch: &mut RxBatch,
        stamp: impl Fn() -> HostStamp,
    ) -> io::Result<()> {
        let mut reader = FrameReader::new(self);
        if reader.has_ring() {
            batch.clear();
            let stamp = stamp();
            for number in 0..MAX_PACKETS {
                match reader.read(batch.slot(number))? {
                    ReadOutcome::Empty => break,
                    ReadOutcome::Handled => {}
                    ReadOutcome::Packet { start, len, offload, before } => {
                        let start = RxBatch::slot_start(number) + start;
                        self.push_packet(batch, PacketSlot { start, len, stamp, offload }, before);
                    }
                }
            }
            // The ring does not report errors of the interface.
            return if batch.is_empty() { self.socket.take_error() } else { Ok(()) };
        }
        let mut lengths = Vec::new();
        self.socket.recv_many(batch, &mut lengths)?;
        let stamp = stamp();
        for (number, len) in lengths.into_iter().enumerate() {
            let at = RxBatch::slot_start(number);
            let bytes = batch.bytes.get(at..at + len).unwrap_or(&[]);
            let Some((offload, start)) = reader.parse(bytes)? else { continue };
            let slot = PacketSlot { start: at + start, len: len - start, stamp, offload };
            self.push_packet(batch, slot, start - VirtioNetHeader::LEN);
        }
        Ok(())
    }

    /// Adds the packet of `slot`, which `before` bytes precede in its frame, and completes what its
    /// sender left undone.
    fn push_packet(&self, batch: &mut RxBatch, slot: PacketSlot, before: usize) {
        let offload = slot.offload;
        if offload.is_plain() || self.gso {
            batch.packets.push(slot);
            return;
        }
        self.checksum_partial.fetch_add(1, Ordering::Relaxed);
        let slot = PacketSlot { offload: VirtioNetHeader::default(), ..slot };
        if offload.is_gso() {
            push_gso_segments(batch, slot, offload);
        } else {
            let packet = batch.bytes.get_mut(slot.start..slot.start + slot.len);
            offload.fill_checksum(packet.unwrap_or_default(), before);
            batch.packets.push(slot);
        }
    }

    /// Sends packets in order. Returns the number lost.
    pub(super) fn send_many<'a>(
        &self,
        packets: impl Iterator<Item = TxPacket<'a>>,
    ) -> io::Result<u64> {
        let mut headers: Vec<(TxHeader, &[u8])> = Vec::new();
        let Some(mut neighbours) = self.lock_neighbours() else {
            headers.extend(packets.map(|packet| (TxHeader::of(&packet, None), packet.bytes)));
            return self.socket.send_many(&pieces(&headers));
        };
        let now = self.clock.now();
        let mut lost = 0;
        for packet in packets {
            match neighbours.resolve(now, packet.bytes, packet.segment_size) {
                Resolution::Resolved(header) => {
                    headers.push((TxHeader::of(&packet, Some(header)), packet.bytes));
                }
                Resolution::Queued => {}
                Resolution::Unreachable => lost += 1,
            }
        }
        lost += neighbours.take_lost();
        self.send_queued_frames(&mut neighbours)?;
        drop(neighbours);
        Ok(lost + self.socket.send_many(&pieces(&headers))?)
    }

    /// Whether neighbours are resolved here, so that [`Self::on_forward_progress`] has an effect.
    pub(super) fn has_neighbours(&self) -> bool {
        self.neighbours.is_some()
    }

    /// Confirms the neighbours on the way to `peers`, which acknowledged new data.
    pub(super) fn on_forward_progress(&self, peers: &[IpAddr]) {
        if peers.is_empty() {
            return;
        }
        let Some(mut neighbours) = self.lock_neighbours() else { return };
        let now = self.clock.now();
        for peer in peers {
            neighbours.on_forward_progress(now, *peer);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<std::time::Duration> {
        let at = self.lock_neighbours()?.deadline();
        let now = self.clock.now();
        (at < Instant::FAR_FUTURE).then(|| crate::clock::std_duration(at.saturating_since(now)))
    }

    pub(super) fn handle_timeout(&self) -> io::Result<()> {
        let Some(mut neighbours) = self.lock_neighbours() else { return Ok(()) };
        neighbours.handle_timeout(self.clock.now());
        self.send_queued_frames(&mut neighbours)
    }

    pub(super) fn checksum_partial(&self) -> u64 {
        self.checksum_partial.load(Ordering::Relaxed)
    }

    pub(super) fn rx_ring_error(&self) -> Option<&io::Error> {
        self.ring.as_ref().and_then(|ring| ring.as_ref().err())
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Headers before a packet: virtio-net, and Ethernet where used.
#[derive(Clone, Copy)]
struct TxHeader {
    bytes: [u8; HEADERS_LEN],
    len: usize,
}

impl TxHeader {
    fn of(packet: &TxPacket<'_>, frame: Option<[u8; HEADER]>) -> Self {
        let mut bytes = [0; HEADERS_LEN];
        let len = if frame.is_some() { HEADERS_LEN } else { VirtioNetHeader::LEN };
        let size = packet.segment_size;
        let gso = (size > 0)
            .then(|| VirtioNetHeader::gso(packet.bytes, size, len - VirtioNetHeader::LEN));
        let offload = gso.flatten().unwrap_or(VirtioNetHeader::PLAIN);
        bytes[..VirtioNetHeader::LEN].copy_from_slice(&offload);
        bytes[VirtioNetHeader::LEN..].copy_from_slice(&frame.unwrap_or_default());
        Self { bytes, len }
    }
}

/// Headers and packets as the socket takes them.
fn pieces<'a>(headers: &'a [(TxHeader, &'a [u8])]) -> Vec<(&'a [u8], &'a [u8])> {
    headers.iter().map(|(header, packet)| (&header.bytes[..header.len], *packet)).collect()
}

/// Splits a GSO packet and appends its segments behind the slots.
fn push_gso_segments(batch: &mut RxBatch, slot: PacketSlot, offload: VirtioNetHeader) {
    let PacketSlot { start, len, stamp, .. } = slot;
    let packet = batch.bytes.get(start..start + len).unwrap_or(&[]).to_vec();
    offload::gso_segment(&packet, offload.segment_size(), |segment| {
        batch.push_segment(segment, stamp);
    });
}

/// Checks that the kernel ignores packets for our addresses: it has none of them and does not
/// forward.
fn check_kernel_ignores_addresses(plan: &DevicePlan) -> Result<(), LiveError> {
    let all =
        getifaddrs().map_err(|e| LiveError::system("list the kernel's addresses", e.into()))?;
    let address = |a: &SockaddrStorage| {
        let v4 = a.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| a.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    };
    for entry in all {
        let kernel_address = entry.address.as_ref().and_then(address);
        if let Some(network) = plan.networks.iter().find(|s| Some(s.local) == kernel_address) {
            let interface = entry.interface_name;
            return Err(LiveError::AddressInUseByKernel { address: network.local, interface });
        }
    }
    for (family, v4) in [("ipv4", true), ("ipv6", false)] {
        let name = format!("{family}.conf.{}.forwarding", plan.name);
        let forwards = netns::sysctl(&name).is_ok_and(|value| value.trim() != "0");
        if forwards && plan.networks.iter().any(|s| s.local.is_ipv4() == v4) {
            return Err(LiveError::ForwardingEnabled(name));
        }
    }
    Ok(())
}
