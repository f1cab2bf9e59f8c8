//! Where packets come from and go to.
//!
//! Contract: whole IP packets, one per call, nothing kept. Nothing blocks: a driver waits with `poll` on
//! the descriptor. A TUN interface exists as long as its [`Device`], and with it its addresses and routes.

mod pair;
mod plan;
mod routes;
mod tun;

pub use pair::Pair;
pub use plan::{DevicePlan, Side};
pub use tun::Tun;

use std::io;
use std::os::fd::BorrowedFd;

use crate::error::LiveError;

/// An open device.
#[derive(Debug)]
pub enum Device {
    /// A TUN interface: the kernel's stack is at its other end.
    Tun(Tun),
    /// One end of a line in memory: another device of this process is at its other end.
    Pair(Pair),
}

impl Device {
    /// Makes the device of `plan`, with its addresses, and brings it up.
    ///
    /// # Errors
    /// No right to do so, no TUN, a name or network that is taken.
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        Tun::open(plan).map(Self::Tun)
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
            Self::Pair(pair) => pair.recv(buffer),
        }
    }

    /// Puts a packet on the wire; false when the device has no room for it, which loses it.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        match self {
            Self::Tun(tun) => tun.send(packet),
            Self::Pair(pair) => pair.send(packet),
        }
    }

    /// What to wait on.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Pair(pair) => pair.as_fd(),
        }
    }
}
