//! Constants of the C library and their meaning for the stack.

use libc::c_int;
use lowtide_packetdrill::stack::{Errno, Shutdown, SocketOption};

pub(crate) const fn option(level: c_int, name: c_int) -> Result<SocketOption, Errno> {
    Ok(match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => SocketOption::Error,
        (libc::SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT) => SocketOption::Reuse,
        (libc::SOL_SOCKET, libc::SO_LINGER) => SocketOption::Linger,
        (libc::SOL_SOCKET, libc::SO_SNDBUF) => SocketOption::SendBuffer,
        (libc::SOL_SOCKET, libc::SO_RCVBUF) => SocketOption::ReceiveBuffer,
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => SocketOption::NoDelay,
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => SocketOption::MaxSegment,
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => SocketOption::Congestion,
        _ => return Err(Errno::ENOPROTOOPT),
    })
}

pub(crate) const fn shutdown(how: c_int) -> Result<Shutdown, Errno> {
    match how {
        libc::SHUT_RD => Ok(Shutdown::Read),
        libc::SHUT_WR => Ok(Shutdown::Write),
        libc::SHUT_RDWR => Ok(Shutdown::Both),
        _ => Err(Errno::EINVAL),
    }
}

/// Flags of one `recv` or `send`.
#[derive(Clone, Copy)]
pub(crate) struct MessageFlags {
    pub(crate) peek: bool,
    pub(crate) no_wait: bool,
}

pub(crate) const fn message_flags(flags: c_int) -> Result<MessageFlags, Errno> {
    if flags & !(libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    Ok(MessageFlags { peek: flags & libc::MSG_PEEK != 0, no_wait: flags & libc::MSG_DONTWAIT != 0 })
}

/// Properties of a TCP socket of this type: IPv6 or not, non-blocking or not.
pub(crate) const fn socket(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> Result<(bool, bool), Errno> {
    let plain = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    match (domain, plain, protocol) {
        (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => {
            Ok((domain == libc::AF_INET6, kind & libc::SOCK_NONBLOCK != 0))
        }
        (libc::AF_INET | libc::AF_INET6, ..) => Err(Errno::EPROTONOSUPPORT),
        _ => Err(Errno::EAFNOSUPPORT),
    }
}
