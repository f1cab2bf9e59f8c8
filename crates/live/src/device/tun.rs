//! A TUN interface (`/dev/net/tun`), IPv4 and IPv6, packet by packet: no offload, so that every packet keeps
//! its own ECN mark, stamp and acknowledgement.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use nix::errno::Errno;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::plan::DevicePlan;
use super::routes;
use crate::error::LiveError;

/// Packets from the kernel that wait to be read; more are lost, as in any queue.
const QUEUE: u32 = 4096;

/// An open TUN interface.
pub struct Tun {
    device: SyncDevice,
    name: String,
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tun({})", self.name)
    }
}

impl Tun {
    /// Makes the interface, gives it the kernel's addresses and brings it up.
    ///
    /// # Errors
    /// As [`super::Device::open`].
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        if !Path::new("/dev/net/tun").exists() {
            return Err(LiveError::NoTun);
        }
        routes::check(plan)?;
        let mut builder =
            DeviceBuilder::new().name(&plan.name).mtu(plan.mtu).tx_queue_len(QUEUE).offload(false);
        for side in &plan.sides {
            builder = match side.kernels {
                IpAddr::V4(address) => builder.ipv4(address, side.prefix, None),
                IpAddr::V6(address) => builder.ipv6(address, side.prefix),
            };
        }
        let what = || format!("make the interface `{}`", plan.name);
        let device = builder.build_sync().map_err(|e| {
            if e.kind() == io::ErrorKind::ResourceBusy {
                return LiveError::NameTaken(plan.name.clone());
            }
            LiveError::system(what(), e)
        })?;
        routes::wait_for_addresses(plan)?;
        device.set_nonblocking(true).map_err(|e| LiveError::system(what(), e))?;
        Ok(Self { device, name: plan.name.clone() })
    }

    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match self.device.recv(buffer) {
                Ok(n) => return Ok(Some(n)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn send(&self, packet: &[u8]) -> io::Result<bool> {
        loop {
            match self.device.send(packet) {
                Ok(_) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The interface is down; it may come up again.
                Err(e) if e.raw_os_error() == Some(Errno::EIO as i32) => return Ok(false),
                // What the kernel does not want to take (an address that is not valid there) is lost.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => return Ok(false),
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
