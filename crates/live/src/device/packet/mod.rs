//! An interface that is there already (AF_PACKET, packet(7)): the other end of a veth pair, a TUN interface of
//! somebody else, a network card.
//!
//! Contract: lowtide has addresses on it that the kernel has not, so that the kernel leaves their packets alone. On
//! Ethernet it answers for them and finds its neighbours; on a TUN interface packets are as they are. What another
//! host on this machine has left to be done to a packet (its checksum, cutting it into segments) is done here, and
//! counted: such a packet had no mark and no time of its own.

mod frame;
mod neighbours;
mod socket;

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lowtide_units::{HostStamp, Instant};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use super::inbox::{Inbox, Outgoing, Place};
use super::offload::{self, Offload};
use super::plan::DevicePlan;
use crate::clock::Clock;
use crate::error::LiveError;
use crate::links::{Layer, Links};
use crate::netns;
use frame::HEADER;
use neighbours::{Neighbours, Way};
use socket::Socket;

/// The kernel's header and an Ethernet header.
const HEAD: usize = Offload::LEN + HEADER;

/// An interface of somebody else.
pub struct Packet {
    socket: Socket,
    name: String,
    clock: Clock,
    /// `None` without Ethernet.
    neighbours: Option<Mutex<Neighbours>>,
    unfinished: AtomicU64,
    /// What is unfinished is passed on as it is.
    offload: bool,
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({})", self.name)
    }
}

impl Packet {
    /// Opens the interface of `plan` for the addresses that are ours.
    ///
    /// # Errors
    /// It is not there, is down or no Ethernet or IP interface; the kernel has one of the addresses, or would send
    /// their packets on; no right to do so.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        let name = plan.name.as_str();
        let link = Links::open()?.get(name)?;
        if !link.up {
            return Err(LiveError::InterfaceDown(name.to_owned()));
        }
        let neighbours = match (link.layer, link.mac) {
            (Layer::Ethernet, Some(mac)) => {
                Some(Mutex::new(Neighbours::new(mac, plan.sides.clone())))
            }
            (Layer::Ip, _) => None,
            _ => return Err(LiveError::InterfaceKind(name.to_owned())),
        };
        if u32::from(plan.mtu) > link.mtu {
            return Err(LiveError::Mtu {
                name: name.to_owned(),
                interface: link.mtu,
                wanted: plan.mtu,
            });
        }
        leave_to_us(plan)?;
        let what = || format!("open the interface `{name}`");
        let socket = Socket::open(name, link.index, neighbours.is_some())
            .map_err(|e| LiveError::system(what(), e))?;
        let (clock, name) = (Clock::start(), name.to_owned());
        let (unfinished, offload) = (AtomicU64::new(0), plan.offload);
        Ok(Self { socket, name, clock, neighbours, unfinished, offload })
    }

    fn ethernet(&self) -> Option<MutexGuard<'_, Neighbours>> {
        self.neighbours.as_ref().map(|n| n.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Frames of the neighbours' talk go out.
    fn talk(&self, neighbours: &mut Neighbours) -> io::Result<()> {
        if neighbours.is_quiet() {
            return Ok(());
        }
        for frame in neighbours.take() {
            self.socket.send(&Offload::PLAIN, &frame)?;
        }
        Ok(())
    }

    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            let Some(len) = self.socket.recv(buffer)? else { return Ok(None) };
            let bytes = buffer.get(..len).unwrap_or(&[]);
            let Some((offload, start)) = self.take(bytes)? else { continue };
            if !offload.is_plain() {
                self.unfinished.fetch_add(1, Ordering::Relaxed);
                offload.complete(&mut buffer[start..len], start - Offload::LEN);
            }
            buffer.copy_within(start..len, 0);
            return Ok(Some(len - start));
        }
    }

    /// Looks at a frame as it was read; where the IP packet in it begins, if there is one.
    fn take(&self, bytes: &[u8]) -> io::Result<Option<(Offload, usize)>> {
        let Some((offload, frame)) = socket::split(bytes) else { return Ok(None) };
        let Some(mut neighbours) = self.ethernet() else {
            return Ok(Some((offload, Offload::LEN)));
        };
        let ip = neighbours.receive(self.clock.now(), frame);
        self.talk(&mut neighbours)?;
        Ok(ip.then_some((offload, HEAD)))
    }

    pub(super) fn fill(&self, inbox: &mut Inbox, stamp: impl Fn() -> HostStamp) -> io::Result<()> {
        let mut lengths = Vec::new();
        self.socket.recv_many(inbox, &mut lengths)?;
        let stamp = stamp();
        for (number, len) in lengths.into_iter().enumerate() {
            let at = Inbox::start_of(number);
            let bytes = inbox.bytes.get(at..at + len).unwrap_or(&[]);
            let Some((offload, start)) = self.take(bytes)? else { continue };
            let place = Place { start: at + start, len: len - start, stamp, offload };
            if offload.is_plain() || self.offload {
                inbox.packets.push(place);
                continue;
            }
            self.unfinished.fetch_add(1, Ordering::Relaxed);
            let place = Place { offload: Offload::default(), ..place };
            if offload.is_several() {
                cut(inbox, place, offload);
            } else {
                let packet = inbox.bytes.get_mut(place.start..place.start + place.len);
                offload.complete(packet.unwrap_or_default(), start - Offload::LEN);
                inbox.packets.push(place);
            }
        }
        Ok(())
    }

    /// Sends packets in order; says how many were lost.
    pub(super) fn send_many<'a>(
        &self,
        packets: impl Iterator<Item = Outgoing<'a>>,
    ) -> io::Result<u64> {
        let mut heads: Vec<(Head, &[u8])> = Vec::new();
        let Some(mut neighbours) = self.ethernet() else {
            heads.extend(packets.map(|packet| (Head::of(&packet, None), packet.bytes)));
            return self.socket.send_many(&pieces(&heads));
        };
        let now = self.clock.now();
        let mut lost = 0;
        for packet in packets {
            match neighbours.route(now, packet.bytes, packet.segment_size) {
                Way::Frame(header) => heads.push((Head::of(&packet, Some(header)), packet.bytes)),
                Way::Waits => {}
                Way::None => lost += 1,
            }
        }
        lost += neighbours.take_lost();
        self.talk(&mut neighbours)?;
        drop(neighbours);
        Ok(lost + self.socket.send_many(&pieces(&heads))?)
    }

    pub(super) fn deadline(&self) -> Option<std::time::Duration> {
        let at = self.ethernet()?.deadline();
        let now = self.clock.now();
        (at < Instant::FAR_FUTURE).then(|| crate::clock::std_duration(at.saturating_since(now)))
    }

    pub(super) fn fire(&self) -> io::Result<()> {
        let Some(mut neighbours) = self.ethernet() else { return Ok(()) };
        neighbours.fire(self.clock.now());
        self.talk(&mut neighbours)
    }

    pub(super) fn unfinished(&self) -> u64 {
        self.unfinished.load(Ordering::Relaxed)
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What goes before a packet: the kernel's header, and on Ethernet a frame's.
#[derive(Clone, Copy)]
struct Head {
    bytes: [u8; HEAD],
    len: usize,
}

impl Head {
    fn of(packet: &Outgoing<'_>, frame: Option<[u8; HEADER]>) -> Self {
        let mut bytes = [0; HEAD];
        let len = if frame.is_some() { HEAD } else { Offload::LEN };
        let size = packet.segment_size;
        let several = (size > 0).then(|| Offload::several(packet.bytes, size, len - Offload::LEN));
        let offload = several.flatten().unwrap_or(Offload::PLAIN);
        bytes[..Offload::LEN].copy_from_slice(&offload);
        bytes[Offload::LEN..].copy_from_slice(&frame.unwrap_or_default());
        Self { bytes, len }
    }
}

/// Heads and packets as the socket takes them.
fn pieces<'a>(heads: &'a [(Head, &'a [u8])]) -> Vec<(&'a [u8], &'a [u8])> {
    heads.iter().map(|(head, packet)| (&head.bytes[..head.len], *packet)).collect()
}

/// The segments of a packet that has several go behind all places.
fn cut(inbox: &mut Inbox, place: Place, offload: Offload) {
    let Place { start, len, stamp, .. } = place;
    let packet = inbox.bytes.get(start..start + len).unwrap_or(&[]).to_vec();
    offload::cut(&packet, offload.segment_size(), |segment| {
        inbox.push_behind(segment, stamp);
    });
}

/// The kernel leaves packets for our addresses alone: it has none of them, and does not send on what it receives.
fn leave_to_us(plan: &DevicePlan) -> Result<(), LiveError> {
    let all =
        getifaddrs().map_err(|e| LiveError::system("list the kernel's addresses", e.into()))?;
    let address = |a: &SockaddrStorage| {
        let v4 = a.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| a.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    };
    for entry in all {
        let kernels = entry.address.as_ref().and_then(address);
        if let Some(side) = plan.sides.iter().find(|s| Some(s.ours) == kernels) {
            let interface = entry.interface_name;
            return Err(LiveError::KernelsAddress { address: side.ours, interface });
        }
    }
    for (family, v4) in [("ipv4", true), ("ipv6", false)] {
        let name = format!("{family}.conf.{}.forwarding", plan.name);
        let forwards = netns::sysctl(&name).is_ok_and(|value| value.trim() != "0");
        if forwards && plan.sides.iter().any(|s| s.ours.is_ipv4() == v4) {
            return Err(LiveError::Forwards(name));
        }
    }
    Ok(())
}
