//! Where packets come from and go to.
//!
//! Contract: whole IP packets, one per call or many. Nothing blocks: a driver waits with `poll` on the descriptor. A
//! TUN interface exists as long as its [`Device`], and with it its addresses and routes.

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
    /// An interface that was there already.
    Packet(AfPacket),
    /// One end of a line in memory: another device of this process is at its other end.
    MemoryLink(MemoryLink),
}

impl Device {
    /// Makes the device of `plan`, with its addresses, and brings it up; or opens one that is there.
    ///
    /// # Errors
    /// No right to do so, no TUN, a name or network that is taken; an interface that cannot be used so.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        match plan.kind {
            DeviceKind::Tun => Tun::open(plan).map(Self::Tun),
            DeviceKind::Packet => AfPacket::open(plan).map(Self::Packet),
        }
    }

    /// Two devices joined by a line in memory: what one sends the other receives. Nothing of the system's network
    /// is between them, and no right is needed.
    ///
    /// # Errors
    /// No descriptors left.
    pub fn memory_link() -> Result<(Self, Self), LiveError> {
        let (a, b) = MemoryLink::new_pair()?;
        Ok((Self::MemoryLink(a), Self::MemoryLink(b)))
    }

    /// The next packet that waits, its length in bytes; `None` when there is none.
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

    /// Reads what waits, as much as `inbox` has room for, in place of what was in it; `stamp` tells the time. Where
    /// the device gives many packets in one call they have one stamp.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn recv_many(&self, inbox: &mut RxBatch, stamp: impl Fn() -> HostStamp) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.recv_many(inbox, stamp),
            Self::Tun(tun) => inbox.fill_with(|place| {
                Ok(tun.recv_offload(place)?.map(|(len, offload)| (len, stamp(), offload)))
            }),
            Self::MemoryLink(pair) => inbox.fill_with(|place| {
                Ok(pair.recv(place)?.map(|len| (len, stamp(), VirtioNetHeader::default())))
            }),
        }
    }

    /// Puts a packet on the wire; false when the device has no room for it, which loses it.
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

    /// Puts packets on the wire in order, and says how many were lost because the device had no room.
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

    /// Whether packets may have several segments, which the system cuts ([`TxPacket::segment_size`]).
    pub fn supports_gso(&self) -> bool {
        match self {
            Self::Packet(_) => true,
            Self::Tun(tun) => tun.offload(),
            Self::MemoryLink(_) => false,
        }
    }

    /// In how long [`Self::fire`] is due, if ever.
    pub fn next_timeout(&self) -> Option<Duration> {
        match self {
            Self::Packet(packet) => packet.next_timeout(),
            Self::Tun(_) | Self::MemoryLink(_) => None,
        }
    }

    /// Does what is due: asks again for neighbours that have not answered.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn handle_timeout(&self) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.handle_timeout(),
            Self::Tun(_) | Self::MemoryLink(_) => Ok(()),
        }
    }

    /// Packets that came unfinished, their checksum or their segments left to the interface: the host at the other end
    /// has offloads on, which hides marks and times of single packets (`ethtool -K NAME tx off tso off gso off` there).
    pub fn checksum_partial(&self) -> u64 {
        match self {
            Self::Packet(packet) => packet.checksum_partial(),
            Self::Tun(_) | Self::MemoryLink(_) => 0,
        }
    }

    /// What to wait on.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Packet(packet) => packet.as_fd(),
            Self::MemoryLink(pair) => pair.as_fd(),
        }
    }
}
