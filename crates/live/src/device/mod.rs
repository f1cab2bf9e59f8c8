//! Devices: sources and sinks of IP packets.
//!
//! Contract: whole IP packets, one or many per call. Nothing blocks: a driver waits with `poll` on
//! the descriptor. A TUN interface, its addresses and its routes exist as long as its [`Device`].

mod af_packet;
mod memory_link;
mod offload;
mod plan;
mod routes;
mod rx_batch;
mod tun;

pub use af_packet::AfPacket;
pub use memory_link::MemoryLink;
pub use plan::{DeviceKind, DeviceNetwork, DevicePlan};
pub(crate) use rx_batch::RxPacket;
pub use rx_batch::{RxBatch, TxPacket};
pub use tun::Tun;

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use lowtide_units::HostStamp;

use crate::error::LiveError;
use offload::VirtioNetHeader;

/// An open device.
#[derive(Debug)]
pub enum Device {
    /// A TUN interface: the kernel's stack is at its other end.
    Tun(Tun),
    /// An existing interface.
    Packet(AfPacket),
    /// One end of a link in memory; the other end is another device of this process.
    MemoryLink(MemoryLink),
}

impl Device {
    /// Creates the device of `plan` with its addresses and brings it up, or opens an existing one.
    ///
    /// # Errors
    /// No permission, no TUN, a name or network that is taken, or an unsuitable interface.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        match plan.kind {
            DeviceKind::Tun => Tun::open(plan).map(Self::Tun),
            DeviceKind::Packet => AfPacket::open(plan).map(Self::Packet),
        }
    }

    /// Two devices joined by a link in memory. It bypasses the kernel's network stack and needs no
    /// privileges.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn memory_link() -> Result<(Self, Self), LiveError> {
        let (a, b) = MemoryLink::new_pair()?;
        Ok((Self::MemoryLink(a), Self::MemoryLink(b)))
    }

    /// Reads the next waiting packet. Returns its length in bytes, `None` if no packet waits.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.recv(buffer),
            Self::Packet(packet) => packet.recv(buffer),
            Self::MemoryLink(pair) => pair.recv(buffer),
        }
    }

    /// Replaces the contents of `inbox` by waiting packets, as many as fit. `stamp` returns the
    /// time. Packets that the device returns in one call share a stamp.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn recv_many(&self, inbox: &mut RxBatch, stamp: impl Fn() -> HostStamp) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.recv_many(inbox, stamp),
            Self::Tun(tun) => inbox.fill_with(|slot| {
                Ok(tun.recv_offload(slot)?.map(|(len, offload)| (len, stamp(), offload)))
            }),
            Self::MemoryLink(pair) => inbox.fill_with(|slot| {
                Ok(pair.recv(slot)?.map(|len| (len, stamp(), VirtioNetHeader::default())))
            }),
        }
    }

    /// Sends a packet. Returns false if the device has no room and drops it.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        match self {
            Self::Tun(tun) => tun.send(packet),
            Self::Packet(device) => {
                device.send_many(std::iter::once(packet.into())).map(|lost| lost == 0)
            }
            Self::MemoryLink(pair) => pair.send(packet),
        }
    }

    /// Sends packets in order. Returns the number dropped because the device had no room.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn send_many<'a, P: Into<TxPacket<'a>>>(
        &self,
        packets: impl Iterator<Item = P>,
    ) -> io::Result<u64> {
        let mut packets = packets.map(Into::into);
        match self {
            Self::Packet(device) => device.send_many(packets),
            Self::Tun(tun) => packets
                .try_fold(0, |lost, packet| Ok(lost + u64::from(!tun.send_offload(&packet)?))),
            Self::MemoryLink(pair) => {
                packets.try_fold(0, |lost, packet| Ok(lost + u64::from(!pair.send(packet.bytes)?)))
            }
        }
    }

    /// Whether packets may have several segments, which the kernel splits
    /// ([`TxPacket::segment_size`]).
    pub fn supports_gso(&self) -> bool {
        match self {
            Self::Packet(_) => true,
            Self::Tun(tun) => tun.offload(),
            Self::MemoryLink(_) => false,
        }
    }

    /// Whether [`Self::on_forward_progress`] has an effect.
    pub(crate) fn has_neighbours(&self) -> bool {
        match self {
            Self::Packet(packet) => packet.has_neighbours(),
            Self::Tun(_) | Self::MemoryLink(_) => false,
        }
    }

    /// Confirms that packets reach `peers`: they acknowledged new data (RFC 4861 §7.3.1).
    pub(crate) fn on_forward_progress(&self, peers: &[IpAddr]) {
        match self {
            Self::Packet(packet) => packet.on_forward_progress(peers),
            Self::Tun(_) | Self::MemoryLink(_) => {}
        }
    }

    /// Time until [`Self::handle_timeout`] is due, if ever.
    pub fn next_timeout(&self) -> Option<Duration> {
        match self {
            Self::Packet(packet) => packet.next_timeout(),
            Self::Tun(_) | Self::MemoryLink(_) => None,
        }
    }

    /// Handles due timers: repeats probes for neighbours that have not answered.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn handle_timeout(&self) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.handle_timeout(),
            Self::Tun(_) | Self::MemoryLink(_) => Ok(()),
        }
    }

    /// Packets that arrived with a partial checksum or several segments. The sending host has
    /// offloads on, which hides ECN marks and times of single packets
    /// (`ethtool -K NAME tx off tso off gso off` there).
    pub fn checksum_partial(&self) -> u64 {
        match self {
            Self::Packet(packet) => packet.checksum_partial(),
            Self::Tun(_) | Self::MemoryLink(_) => 0,
        }
    }

    /// Why the device has no receive ring although its plan has one. Its packets are then read with
    /// system calls, which is slower.
    pub fn rx_ring_error(&self) -> Option<&io::Error> {
        match self {
            Self::Packet(packet) => packet.rx_ring_error(),
            Self::Tun(_) | Self::MemoryLink(_) => None,
        }
    }

    /// The descriptor to wait on.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Packet(packet) => packet.as_fd(),
            Self::MemoryLink(pair) => pair.as_fd(),
        }
    }
}
