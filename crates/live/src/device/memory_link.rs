//! A link in memory between two devices of one process: whole packets, in order, without the
//! kernel's network stack.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, recv, send, setsockopt, socketpair, sockopt,
};

use crate::error::LiveError;

/// Send buffer, bytes: about 1800 full packets with the kernel's overhead. Without CAP_NET_ADMIN it
/// is limited to `net.core.wmem_max`.
const MEMORY: usize = 4 << 20;

/// One end of a link in memory.
#[derive(Debug)]
pub struct MemoryLink(OwnedFd);

impl MemoryLink {
    pub(super) fn new_pair() -> Result<(Self, Self), LiveError> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)
            .map_err(|e| LiveError::system("create a link in memory", e.into()))?;
        for end in [&a, &b] {
            if setsockopt(end, sockopt::SndBufForce, &MEMORY).is_err() {
                // Without the privilege, a smaller buffer will do.
                let _ = setsockopt(end, sockopt::SndBuf, &MEMORY);
            }
        }
        Ok((Self(a), Self(b)))
    }

    pub(super) fn recv(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recv(self.0.as_raw_fd(), buffer, MsgFlags::empty()) {
                Ok(0) => return Err(closed()),
                Ok(n) => return Ok(Some(n)),
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    pub(super) fn send(&self, packet: &[u8]) -> io::Result<bool> {
        // The peer would read an empty packet as the end of the link.
        if packet.is_empty() {
            return Ok(false);
        }
        loop {
            match send(self.0.as_raw_fd(), packet, MsgFlags::MSG_NOSIGNAL) {
                Ok(_) => return Ok(true),
                Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::EMSGSIZE) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Err(closed()),
                Err(e) => return Err(e.into()),
            }
        }
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the other end of the link was closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_arrive_whole_and_in_order_until_an_end_closes() {
        let (a, b) = MemoryLink::new_pair().unwrap();
        let mut buffer = [0; 100];
        assert_eq!(b.recv(&mut buffer).unwrap(), None);
        assert!(a.send(b"one").unwrap() && a.send(b"three").unwrap() && b.send(b"back").unwrap());
        assert!(!a.send(b"").unwrap());
        assert_eq!((b.recv(&mut buffer).unwrap(), &buffer[..3]), (Some(3), &b"one"[..]));
        assert_eq!((b.recv(&mut buffer).unwrap(), &buffer[..5]), (Some(5), &b"three"[..]));
        assert_eq!((a.recv(&mut buffer).unwrap(), &buffer[..4]), (Some(4), &b"back"[..]));
        let room = (0..1_000_000).take_while(|_| a.send(&[7; 1500]).unwrap()).count();
        assert!((50..100_000).contains(&room), "{room}");
        drop(b);
        assert_eq!(a.send(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(a.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
