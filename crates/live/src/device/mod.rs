//! Where packets come from and go to.
//!
//! Contract: whole IP packets, one per call or many. Nothing blocks: a driver waits with `poll` on the descriptor. A
//! TUN interface exists as long as its [`Device`], and with it its addresses and routes.

mod inbox;
mod offload;
mod packet;
mod pair;
mod plan;
mod routes;
mod tun;

pub(crate) use inbox::Incoming;
pub use inbox::{Inbox, Outgoing};
pub use packet::Packet;
pub use pair::Pair;
pub use plan::{DeviceKind, DevicePlan, Side};
pub use tun::Tun;

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use lowtide_units::HostStamp;

use crate::error::LiveError;
use offload::Offload;

/// An open device.
#[derive(Debug)]
pub enum Device {
    /// A TUN interface: the kernel's stack is at its other end.
    Tun(Tun),
    /// An interface that was there already.
    Packet(Packet),
    /// One end of a line in memory: another device of this process is at its other end.
    Pair(Pair),
}

impl Device {
    /// Makes the device of `plan`, with its addresses, and brings it up; or opens one that is there.
    ///
    /// # Errors
    /// No right to do so, no TUN, a name or network that is taken; an interface that cannot be used so.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        match plan.kind {
            DeviceKind::Tun => Tun::open(plan).map(Self::Tun),
            DeviceKind::Packet => Packet::open(plan).map(Self::Packet),
        }
    }

    /// Two devices joined by a line in memory: what one sends the other receives. Nothing of the system's network
    /// is between them, and no right is needed.
    ///
    /// # Errors
    /// No descriptors left.
    pub fn pair() -> Result<(Self, Self), LiveError> {
        let (a, b) = Pair::both()?;
        Ok((Self::Pair(a), Self::Pair(b)))
    }

    /// The next packet that waits, its length in bytes; `None` when there is none.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.recv(buffer),
            Self::Packet(packet) => packet.recv(buffer),
            Self::Pair(pair) => pair.recv(buffer),
        }
    }

    /// Reads what waits, as much as `inbox` has room for, in place of what was in it; `stamp` tells the time. Where
    /// the device gives many packets in one call they have one stamp.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn fill(&self, inbox: &mut Inbox, stamp: impl Fn() -> HostStamp) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.fill(inbox, stamp),
            Self::Tun(tun) => inbox.one_by_one(|place| {
                Ok(tun.recv_offload(place)?.map(|(len, offload)| (len, stamp(), offload)))
            }),
            Self::Pair(pair) => inbox.one_by_one(|place| {
                Ok(pair.recv(place)?.map(|len| (len, stamp(), Offload::default())))
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
            Self::Pair(pair) => pair.send(packet),
        }
    }

    /// Puts packets on the wire in order, and says how many were lost because the device had no room.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn send_many<'a, P: Into<Outgoing<'a>>>(
        &self,
        packets: impl Iterator<Item = P>,
    ) -> io::Result<u64> {
        let mut packets = packets.map(Into::into);
        match self {
            Self::Packet(device) => device.send_many(packets),
            Self::Tun(tun) => packets
                .try_fold(0, |lost, packet| Ok(lost + u64::from(!tun.send_offload(&packet)?))),
            Self::Pair(pair) => {
                packets.try_fold(0, |lost, packet| Ok(lost + u64::from(!pair.send(packet.bytes)?)))
            }
        }
    }

    /// Whether packets may have several segments, which the system cuts ([`Outgoing::segment_size`]).
    pub fn takes_several(&self) -> bool {
        match self {
            Self::Packet(_) => true,
            Self::Tun(tun) => tun.offload(),
            Self::Pair(_) => false,
        }
    }

    /// In how long [`Self::fire`] is due, if ever.
    pub fn deadline(&self) -> Option<Duration> {
        match self {
            Self::Packet(packet) => packet.deadline(),
            Self::Tun(_) | Self::Pair(_) => None,
        }
    }

    /// Does what is due: asks again for neighbours that have not answered.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn fire(&self) -> io::Result<()> {
        match self {
            Self::Packet(packet) => packet.fire(),
            Self::Tun(_) | Self::Pair(_) => Ok(()),
        }
    }

    /// Packets that came unfinished, their checksum or their segments left to the interface: the host at the other end
    /// has offloads on, which hides marks and times of single packets (`ethtool -K NAME tx off tso off gso off` there).
    pub fn unfinished(&self) -> u64 {
        match self {
            Self::Packet(packet) => packet.unfinished(),
            Self::Tun(_) | Self::Pair(_) => 0,
        }
    }

    /// What to wait on.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Packet(packet) => packet.as_fd(),
            Self::Pair(pair) => pair.as_fd(),
        }
    }
}
