//! A raw socket on one interface (packet(7)).
//!
//! Contract: whole frames as the interface has them, both ways, many in one call. The kernel says of every frame
//! what is not done to it yet ([`VirtioNetHeader`]).

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    self, AddressFamily, ControlMessage, MsgFlags, MultiHeaders, SockFlag, SockType,
    SockaddrStorage, setsockopt, sockopt,
};
use smoltcp::phy::{Medium, RawSocket};

use crate::device::RxBatch;
use crate::device::offload::VirtioNetHeader;

/// Memory for frames that wait to be read, bytes as the kernel counts them (two to three times their length).
const RECEIVE_MEMORY: usize = 64 << 20;
/// Memory for frames that wait to be sent.
const SEND_MEMORY: usize = 16 << 20;
/// The most frames of one call.
const FRAMES: usize = 64;

mod options {
    //! Socket options that the library does not name.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Frames that this host sends are not heard.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// Every frame comes after a header that says what is not done to it yet.
        VnetHeader, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Frames for groups of hosts are heard.
        Join, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// The socket.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

impl Socket {
    /// On the interface `name`, which has the number `index`; `groups` says whether it hears frames for groups of
    /// hosts.
    pub(super) fn open(name: &str, index: u32, groups: bool) -> io::Result<Self> {
        // The address of an interface, which binding needs and the library cannot make; the socket that has
        // it is closed again.
        let address: SockaddrStorage = {
            let named = RawSocket::new(name, Medium::Ethernet)?;
            socket::getsockname(named.as_raw_fd())?
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        // Without a protocol: nothing is heard before it is bound.
        let fd = socket::socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        setsockopt(&fd, options::VnetHeader, &true)?;
        setsockopt(&fd, options::IgnoreOutgoing, &true)?;
        setsockopt(&fd, sockopt::RcvBufForce, &RECEIVE_MEMORY)?;
        setsockopt(&fd, sockopt::SndBufForce, &SEND_MEMORY)?;
        if groups {
            let all = libc::packet_mreq {
                mr_ifindex: index.cast_signed(),
                mr_type: libc::PACKET_MR_ALLMULTI as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            setsockopt(&fd, options::Join, &all)?;
        }
        socket::bind(fd.as_raw_fd(), &address)?;
        Ok(Self(fd))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next frame, behind the kernel's header; its length with that, `None` when there is none.
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

    /// Reads what there is room for; each length with the kernel's header.
    pub(super) fn recv_many(
        &self,
        inbox: &mut RxBatch,
        lengths: &mut Vec<usize>,
    ) -> io::Result<()> {
        lengths.clear();
        let (mut places, headers) = inbox.slots();
        let flags = MsgFlags::MSG_DONTWAIT;
        match socket::recvmmsg(self.0.as_raw_fd(), headers, places.iter_mut(), flags, None) {
            Ok(frames) => lengths.extend(frames.map(|frame| frame.bytes)),
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ENETDOWN) => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Sends frames, each a head (the kernel's header and the link's) and a packet; says how many were lost because
    /// the interface had no room or is down.
    pub(super) fn send_many(&self, frames: &[(&[u8], &[u8])]) -> io::Result<u64> {
        let mut lost = 0;
        for some in frames.chunks(FRAMES) {
            let pieces: Vec<[IoSlice<'_>; 2]> = some
                .iter()
                .map(|(head, packet)| [IoSlice::new(head), IoSlice::new(packet)])
                .collect();
            let mut rest = pieces.as_slice();
            while !rest.is_empty() {
                let mut headers = MultiHeaders::<()>::preallocate(rest.len(), None);
                let addresses = vec![None; rest.len()];
                let none: [ControlMessage<'_>; 0] = [];
                let fd = self.0.as_raw_fd();
                let flags = MsgFlags::MSG_DONTWAIT;
                let sent = match socket::sendmmsg(fd, &mut headers, rest, addresses, none, flags) {
                    Ok(sent) => sent.count(),
                    Err(Errno::EINTR) => 0,
                    // What the interface has no room for, or does not take, is lost.
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
                rest = rest.get(sent..).unwrap_or(&[]);
            }
        }
        Ok(lost)
    }

    /// Sends one frame; false when it was lost.
    pub(super) fn send(&self, head: &[u8], packet: &[u8]) -> io::Result<bool> {
        self.send_many(&[(head, packet)]).map(|lost| lost == 0)
    }
}

/// A frame as it was read: what the kernel says of it, and where it is.
pub(super) fn split_vnet_header(bytes: &[u8]) -> Option<(VirtioNetHeader, &[u8])> {
    let (header, frame) = bytes.split_first_chunk::<{ VirtioNetHeader::LEN }>()?;
    Some((VirtioNetHeader::from_bytes(*header), frame))
}
