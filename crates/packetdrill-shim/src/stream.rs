//! Functions of the interface that read and write bytes. The condition of [`crate::calls`] applies.

use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use lowtide_packetdrill::stack::{CallError, Errno};

use crate::ffi::call_host;
use crate::host::Inner;
use crate::memory::{gather, iovecs, read_bytes, scatter};
use crate::names::message_flags;

/// Maximum buffers of one scatter/gather call (IOV_MAX).
const MAX_IOV: usize = 1024;

/// Reads into several buffers.
///
/// # Safety
/// As for [`call_host`]; every buffer is writable for its length.
unsafe fn read_into(userdata: *mut c_void, fd: c_int, to: &[iovec], flags: c_int) -> ssize_t {
    let call = |host: &mut Inner| {
        let flags = message_flags(flags)?;
        let room = to.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.iov_len));
        let bytes = match host.stack.read(fd, room, flags.peek) {
            Err(CallError::WouldBlock) if flags.no_wait => return Err(Errno::EAGAIN.into()),
            other => other?,
        };
        // SAFETY: the caller states that the buffers are writable; at most `room` bytes were read.
        unsafe { scatter(to, &bytes) };
        Ok(bytes.len() as isize)
    };
    // SAFETY: the caller states it.
    unsafe { call_host(userdata, call) }
}

/// Writes bytes.
///
/// # Safety
/// As for [`call_host`].
unsafe fn write_from(userdata: *mut c_void, fd: c_int, bytes: &[u8], flags: c_int) -> ssize_t {
    let call = |host: &mut Inner| {
        let flags = message_flags(flags)?;
        match host.stack.write(fd, bytes) {
            Err(CallError::WouldBlock) if flags.no_wait => Err(Errno::EAGAIN.into()),
            other => other.map(|n| n as isize),
        }
    };
    // SAFETY: the caller states it.
    unsafe { call_host(userdata, call) }
}

const fn piece(base: *mut c_void, len: size_t) -> iovec {
    iovec { iov_base: base, iov_len: len }
}

pub(crate) unsafe extern "C" fn read(
    userdata: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { read_into(userdata, fd, &[piece(to, len)], 0) }
}

pub(crate) unsafe extern "C" fn readv(
    userdata: *mut c_void,
    fd: c_int,
    to: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe {
        let to = iovecs(to, (count.max(0) as usize).min(MAX_IOV));
        read_into(userdata, fd, &to, 0)
    }
}

pub(crate) unsafe extern "C" fn recv(
    userdata: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { read_into(userdata, fd, &[piece(to, len)], flags) }
}

/// A stream returns no address, as on Linux.
pub(crate) unsafe extern "C" fn recvfrom(
    userdata: *mut c_void,
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
    _address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    if !address_len.is_null() {
        // SAFETY: not null; see the module.
        unsafe { address_len.write(0) };
    }
    // SAFETY: see the module.
    unsafe { read_into(userdata, fd, &[piece(to, len)], flags) }
}

/// Control messages are not supported.
pub(crate) unsafe extern "C" fn recvmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: see the module; the header is valid for reading and writing.
    unsafe {
        let to = iovecs((*message).msg_iov, (*message).msg_iovlen.min(MAX_IOV));
        (*message).msg_controllen = 0;
        (*message).msg_flags = 0;
        read_into(userdata, fd, &to, flags)
    }
}

pub(crate) unsafe extern "C" fn write(
    userdata: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { write_from(userdata, fd, &read_bytes(from, len), 0) }
}

pub(crate) unsafe extern "C" fn writev(
    userdata: *mut c_void,
    fd: c_int,
    from: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe {
        let bytes = gather(&iovecs(from, (count.max(0) as usize).min(MAX_IOV)));
        write_from(userdata, fd, &bytes, 0)
    }
}

pub(crate) unsafe extern "C" fn send(
    userdata: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { write_from(userdata, fd, &read_bytes(from, len), flags) }
}

/// A connected stream ignores the address.
pub(crate) unsafe extern "C" fn sendto(
    userdata: *mut c_void,
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
    _address: *const sockaddr,
    _address_len: socklen_t,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { write_from(userdata, fd, &read_bytes(from, len), flags) }
}

/// Control messages are not supported.
pub(crate) unsafe extern "C" fn sendmsg(
    userdata: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe {
        let bytes = gather(&iovecs((*message).msg_iov, (*message).msg_iovlen.min(MAX_IOV)));
        write_from(userdata, fd, &bytes, flags)
    }
}
