//! Addresses and buffers behind the caller's pointers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use libc::{c_int, c_void, iovec, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use lowtide_packetdrill::stack::Errno;

/// Reads an address.
///
/// # Safety
/// `address` is null or points to `len` readable bytes.
pub(crate) unsafe fn read_address(
    address: *const sockaddr,
    len: socklen_t,
) -> Result<(IpAddr, u16), Errno> {
    let len = len as usize;
    if address.is_null() || len < size_of::<sockaddr_in>() {
        return Err(Errno::EINVAL);
    }
    // SAFETY: the minimum length was checked, and every address begins with its family.
    let family = unsafe { address.cast::<libc::sa_family_t>().read_unaligned() };
    match c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: `len` covers a `sockaddr_in`.
            let v4 = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok((ip.into(), u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 if len >= size_of::<sockaddr_in6>() => {
            // SAFETY: `len` covers a `sockaddr_in6`.
            let v6 = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            Ok((Ipv6Addr::from(v6.sin6_addr.s6_addr).into(), u16::from_be(v6.sin6_port)))
        }
        _ => Err(Errno::EAFNOSUPPORT),
    }
}

/// Writes an address, truncated to the available room, and its length.
///
/// # Safety
/// `len` is null or points to a length; `out` is null or points to that many writable bytes.
pub(crate) unsafe fn write_address(out: *mut sockaddr, len: *mut socklen_t, ip: IpAddr, port: u16) {
    if out.is_null() || len.is_null() {
        return;
    }
    // SAFETY: not null, and the caller states that it points to a length.
    let room = unsafe { len.read() } as usize;
    let written = match ip {
        IpAddr::V4(ip) => {
            let address = sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: port.to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: `out` has `room` bytes, which limits the copy.
            unsafe { copy_out(out.cast(), room, &address) }
        }
        IpAddr::V6(ip) => {
            let address = sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: port.to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: ip.octets() },
                sin6_scope_id: 0,
            };
            // SAFETY: as above.
            unsafe { copy_out(out.cast(), room, &address) }
        }
    };
    // SAFETY: checked above.
    unsafe { len.write(written as socklen_t) };
}

/// Copies at most `room` bytes of `value` to `out`; returns its length.
///
/// # Safety
/// `out` points to `room` writable bytes.
pub(crate) unsafe fn copy_out<T: Copy>(out: *mut c_void, room: usize, value: &T) -> usize {
    let len = size_of::<T>();
    let from = std::ptr::from_ref(value).cast::<u8>();
    // SAFETY: `value` is readable for its own size, `out` for `room`; the smaller is copied.
    unsafe { from.copy_to_nonoverlapping(out.cast(), len.min(room)) };
    len
}

/// Copies a buffer: the caller may change it after the call.
///
/// # Safety
/// `from` is null or points to `len` readable bytes.
pub(crate) unsafe fn read_bytes(from: *const c_void, len: usize) -> Vec<u8> {
    if from.is_null() || len == 0 {
        return Vec::new();
    }
    // SAFETY: not null, and the caller states the length.
    unsafe { std::slice::from_raw_parts(from.cast::<u8>(), len) }.to_vec()
}

/// Writes `bytes` to a buffer that has room for them.
///
/// # Safety
/// `to` points to at least `bytes.len()` writable bytes.
pub(crate) unsafe fn write_bytes(to: *mut c_void, bytes: &[u8]) {
    if !to.is_null() {
        // SAFETY: not null, and the caller states that there is room.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(to.cast(), bytes.len()) };
    }
}

/// Buffers of a scatter/gather call.
///
/// # Safety
/// `pieces` is null or points to `count` of them.
pub(crate) unsafe fn iovecs(pieces: *const iovec, count: usize) -> Vec<iovec> {
    if pieces.is_null() {
        return Vec::new();
    }
    // SAFETY: not null, and the caller states the count.
    unsafe { std::slice::from_raw_parts(pieces, count) }.to_vec()
}

/// Concatenates the bytes of all buffers.
///
/// # Safety
/// Every buffer points to as many readable bytes as it states.
pub(crate) unsafe fn gather(pieces: &[iovec]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in pieces {
        // SAFETY: the caller states it of every buffer.
        bytes.extend(unsafe { read_bytes(piece.iov_base, piece.iov_len) });
    }
    bytes
}

/// Fills the buffers in order.
///
/// # Safety
/// Every buffer points to as many writable bytes as it states.
pub(crate) unsafe fn scatter(pieces: &[iovec], mut bytes: &[u8]) {
    for piece in pieces {
        let (now, later) = bytes.split_at(bytes.len().min(piece.iov_len));
        // SAFETY: the caller states it of every buffer; `now` is not longer than the buffer.
        unsafe { write_bytes(piece.iov_base, now) };
        bytes = later;
    }
}
