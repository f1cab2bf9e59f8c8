//! A raw socket on one interface (packet(7)).
//!
//! Contract: whole frames in both directions, many per call. The kernel prepends a
//! [`VirtioNetHeader`] to each.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use lowtide_packet_ring::{RingLayout, RxRing};
use nix::errno::Errno;
use nix::sys::socket::{
    self, AddressFamily, ControlMessage, MsgFlags, MultiHeaders, SockFlag, SockType,
    SockaddrStorage, setsockopt, sockopt,
};
use smoltcp::phy::{Medium, RawSocket};

use crate::device::RxBatch;
use crate::device::offload::VirtioNetHeader;

/// Receive buffer, bytes as the kernel counts them (two to three times the frames' length).
const RECEIVE_MEMORY: usize = 64 << 20;
/// Send buffer, bytes.
const SEND_MEMORY: usize = 16 << 20;
/// Most frames per call.
const FRAMES: usize = 64;

mod options {
    //! Socket options that nix does not have.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Outgoing frames of this host are not received.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// Every frame is preceded by a virtio-net header.
        VnetHeader, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Multicast frames are received.
        Join, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// A packet socket.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    /// Opens a socket on the interface `name` with index `index`, optionally receiving multicast.
    /// Also returns the receive ring of this `layout`, or the reason why there is none.
    pub(super) fn open(
        name: &str,
        index: u32,
        multicast: bool,
        layout: Option<RingLayout>,
    ) -> io::Result<(Self, Option<io::Result<RxRing>>)> {
        // Binding needs the link-layer address, which nix cannot construct. Take it from a
        // temporary socket.
        let address: SockaddrStorage = {
            let named = RawSocket::new(name, Medium::Ethernet)?;
            socket::getsockname(named.as_raw_fd())?
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Without a protocol, nothing is received before the socket is bound.
        let fd = socket::socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&fd, options::VnetHeader, &true)?;
        setsockopt(&fd, options::IgnoreOutgoing, &true)?;
        setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_MEMORY)?;
        setsockopt(&fd, sockopt::SndBufForce, &SEND_MEMORY)?;
        if multicast {
            let all = libc::packet_mreq {
                mr_ifindex: index.cast_signed(),
                mr_type: libc::PACKET_MR_ALLMULTI as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            setsockopt(&fd, options::Join, &all)?;
        }
        let ring = layout.map(|layout| RxRing::new(&fd, layout, VirtioNetHeader::LEN));
        socket::bind(fd.as_raw_fd(), &address)?;
        Ok((Self(fd), ring))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Reads the next frame with its virtio-net header. Returns their length, `None` if no frame
    /// waits.
    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match socket::recv(self.0.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(n) => return Ok(Some(n)),
                Err(Errno::EAGAIN) => return Ok(None),
                // The interface is down; it may come up again.
                Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Takes the pending error of the socket. Reads without a ring return it by themselves.
    pub(super) fn take_error(&self) -> io::Result<()> {
        match socket::getsockopt(&self.0, sockopt::SocketError)? {
            // The interface is down; it may come up again.
            0 | libc::ENETDOWN => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Reads frames into the slots of `batch`. Each length includes the virtio-net header.
    pub(super) fn recv_many(
        &self,
        batch: &mut RxBatch,
        lengths: &mut Vec<usize>,
    ) -> io::Result<()> {
        lengths.clear();
        let (mut slots, headers) = batch.slots();
        let flags = MsgFlags::MSG_DONTWAIT;
        match socket::recvmmsg(self.0.as_raw_fd(), headers, slots.iter_mut(), flags, None) {
            Ok(frames) => lengths.extend(frames.map(|frame| frame.bytes)),
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Sends frames, each a header (virtio-net and link layer) and a packet. Returns the number
    /// lost because the interface had no room or is down.
    pub(super) fn send_many(&self, frames: &[(&[u8], &[u8])]) -> io::Result<u64> {
        let mut lost = 0;
        for chunk in frames.chunks(FRAMES) {
            let pieces: Vec<[IoSlice<'_>; 2]> = chunk
                .iter()
                .map(|(head, packet)| [IoSlice::new(head), IoSlice::new(packet)])
                .collect();
            let mut remaining = pieces.as_slice();
            while !remaining.is_empty() {
                let mut headers = MultiHeaders::<()>::preallocate(remaining.len(), None);
                let addresses = vec![None; remaining.len()];
                let none: [ControlMessage<'_>; 0] = [];
                let fd = self.0.as_raw_fd();
                let flags = MsgFlags::MSG_DONTWAIT;
                let sent =
                    match socket::sendmmsg(fd, &mut headers, remaining, addresses, none, flags) {
                        Ok(sent) => sent.count(),
                        Err(Errno::EINTR) => 0,
                        // The interface has no room or rejects the frame: it is lost.
                        Err(
                            Errno::EAGAIN
                            | Errno::ENOBUFS
                            | Errno::ENOMEM
                            | Errno::ENETDOWN
                            | Errno::EMSGSIZE
                            | Errno::EINVAL
                            | Errno::EIO,
                        ) => {
                            lost += 1;
                            1
                        }
                        Err(e) => return Err(e.into()),
                    };
                remaining = remaining.get(sent..).unwrap_or(&[]);
            }
        }
        Ok(lost)
    }

    /// Sends one frame. Returns false if it was lost.
    pub(super) fn send(&self, head: &[u8], packet: &[u8]) -> io::Result<bool> {
        self.send_many(&[(head, packet)]).map(|lost| lost == 0)
    }
}

/// Splits the virtio-net header off a received frame.
pub(super) fn split_vnet_header(bytes: &[u8]) -> Option<(VirtioNetHeader, &[u8])> {
    let (header, frame) = bytes.split_first_chunk::<{ VirtioNetHeader::LEN }>()?;
    Some((VirtioNetHeader::from_bytes(*header), frame))
}
