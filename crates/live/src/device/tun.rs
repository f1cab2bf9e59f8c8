//! A TUN interface (`/dev/net/tun`) for IPv4 and IPv6. Without offload every packet keeps its own
//! ECN mark, stamp and acknowledgement. With offload several segments may be one packet in both
//! directions (virtio-net header).

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use nix::errno::Errno;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::offload::VirtioNetHeader;
use super::plan::DevicePlan;
use super::routes;
use super::rx_batch::TxPacket;
use crate::error::LiveError;

/// Packets from the kernel that wait to be read; further ones are dropped.
const QUEUE: u32 = 4096;

/// An open TUN interface.
pub struct Tun {
    device: SyncDevice,
    name: String,
    offload: bool,
}

impl fmt::Debug for Tun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tun({})", self.name)
    }
}

impl Tun {
    /// Creates the interface, adds the kernel's addresses and brings it up.
    ///
    /// # Errors
    /// As [`super::Device::open`].
    pub fn open(plan: &DevicePlan) -> Result<Self, LiveError> {
        if !Path::new("/dev/net/tun").exists() {
            return Err(LiveError::NoTun);
        }
        routes::check(plan)?;
        let mut builder = DeviceBuilder::new()
            .name(&plan.name)
            .mtu(plan.mtu)
            .tx_queue_len(QUEUE)
            .offload(plan.offload);
        for network in &plan.networks {
            builder = match network.peer {
                IpAddr::V4(address) => builder.ipv4(address, network.prefix, None),
                IpAddr::V6(address) => builder.ipv6(address, network.prefix),
            };
        }
        let what = || format!("create the interface `{}`", plan.name);
        let device = builder.build_sync().map_err(|e| {
            if e.kind() == io::ErrorKind::ResourceBusy {
                return LiveError::NameTaken(plan.name.clone());
            }
            LiveError::system(what(), e)
        })?;
        routes::wait_for_addresses(plan)?;
        device.set_nonblocking(true).map_err(|e| LiveError::system(what(), e))?;
        Ok(Self { device, name: plan.name.clone(), offload: plan.offload })
    }

    pub(super) const fn offload(&self) -> bool {
        self.offload
    }

    /// Reads the next single packet. Returns an error if it has several segments.
    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some((len, offload)) = self.recv_offload(buffer)? else { return Ok(None) };
        if offload.is_gso() {
            let why = "a TUN interface with offload must be read with `Device::recv_many`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        offload.fill_checksum(buffer.get_mut(..len).unwrap_or_default(), 0);
        Ok(Some(len))
    }

    /// Reads the next packet. Returns its length and virtio-net header.
    pub(super) fn recv_offload(
        &self,
        buffer: &mut [u8],
    ) -> io::Result<Option<(usize, VirtioNetHeader)>> {
        let mut header = VirtioNetHeader::PLAIN;
        loop {
            let read = if self.offload {
                self.device
                    .recv_vectored(&mut [IoSliceMut::new(&mut header), IoSliceMut::new(buffer)])
            } else {
                self.device.recv(buffer)
            };
            match read {
                Ok(n) if self.offload => {
                    let len = n.saturating_sub(VirtioNetHeader::LEN);
                    return Ok(Some((len, VirtioNetHeader::from_bytes(header))));
                }
                Ok(n) => return Ok(Some((n, VirtioNetHeader::default()))),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn send(&self, packet: &[u8]) -> io::Result<bool> {
        self.send_offload(&packet.into())
    }

    pub(super) fn send_offload(&self, packet: &TxPacket<'_>) -> io::Result<bool> {
        let gso = || VirtioNetHeader::gso(packet.bytes, packet.segment_size, 0);
        let header = if packet.segment_size > 0 { gso() } else { None };
        let header = header.unwrap_or(VirtioNetHeader::PLAIN);
        loop {
            let sent = if self.offload {
                self.device.send_vectored(&[IoSlice::new(&header), IoSlice::new(packet.bytes)])
            } else {
                self.device.send(packet.bytes)
            };
            match sent {
                Ok(_) => return Ok(true),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The interface is down; it may come up again.
                Err(e) if e.raw_os_error() == Some(Errno::EIO as i32) => return Ok(false),
                // The kernel rejects the packet, for example for an invalid address: it is lost.
                Err(e) if e.kind() == io::ErrorKind::InvalidInput => return Ok(false),
                Err(e) => return Err(e),
            }
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
