//! Functions of the interface, except those that carry bytes ([`crate::stream`]).
//!
//! Each is called with the `userdata` of `Interface::new` and with pointers that are valid as in
//! the C call of its name; every `unsafe` below relies on that.

use libc::{
    c_int, c_long, c_uint, c_ulong, c_void, epoll_event, linger, nfds_t, pollfd, size_t, sockaddr,
    socklen_t, ssize_t, timeval,
};
use lowtide_output::streams;
use lowtide_packetdrill::stack::{CallError, Errno, SocketValue};

use crate::ffi::{Outcome, call_host_int};
use crate::host::{Host, Inner};
use crate::memory::{copy_out, read_address, read_bytes, write_address, write_bytes};
use crate::names;

pub(crate) unsafe extern "C" fn free(userdata: *mut c_void) {
    // SAFETY: `Interface::new` boxed it, and packetdrill frees it once.
    let host = unsafe { Box::from_raw(userdata.cast::<Host>()) };
    let clean = host.lock().finish();
    if !clean {
        std::process::abort();
    }
}

pub(crate) unsafe extern "C" fn socket(
    userdata: *mut c_void,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    let call = |host: &mut Inner| {
        let (v6, nonblocking) = names::socket(domain, kind, protocol)?;
        let fd = host.stack.socket(v6);
        host.stack.set_nonblocking(fd, nonblocking)?;
        Ok(fd)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn bind(
    userdata: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let call = |host: &mut Inner| {
        // SAFETY: see the module.
        let (ip, port) = unsafe { read_address(address, len) }?;
        host.stack.bind(fd, ip, port).map(|()| 0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn listen(userdata: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    let call = |host: &mut Inner| host.stack.listen(fd, backlog.max(0) as usize).map(|()| 0);
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn accept(
    userdata: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    let call = |host: &mut Inner| {
        let (accepted, ip, port) = host.stack.accept(fd)?;
        // SAFETY: see the module.
        unsafe { write_address(address, len, ip, port) };
        Ok(accepted)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn connect(
    userdata: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    let call = |host: &mut Inner| {
        // SAFETY: see the module.
        let (ip, port) = unsafe { read_address(address, len) }?;
        host.stack.connect(fd, ip, port).map(|()| 0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn fcntl(
    userdata: *mut c_void,
    fd: c_int,
    command: c_int,
    argument: c_long,
) -> c_int {
    let call = |host: &mut Inner| match command {
        libc::F_GETFL => {
            let on = host.stack.nonblocking(fd)?;
            Ok(libc::O_RDWR | if on { libc::O_NONBLOCK } else { 0 })
        }
        libc::F_SETFL => {
            let on = argument & c_long::from(libc::O_NONBLOCK) != 0;
            host.stack.set_nonblocking(fd, on).map(|()| 0)
        }
        _ => Err(Errno::EINVAL.into()),
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

/// FIONREAD only.
pub(crate) unsafe extern "C" fn ioctl(
    userdata: *mut c_void,
    fd: c_int,
    request: c_ulong,
    argument: *mut c_void,
) -> c_int {
    let call = |host: &mut Inner| {
        if request != libc::FIONREAD || argument.is_null() {
            return Err(Errno::ENOSYS.into());
        }
        let unread = c_int::try_from(host.stack.unread(fd)?).unwrap_or(c_int::MAX);
        // SAFETY: FIONREAD takes a pointer to an `int`; see the module.
        unsafe { argument.cast::<c_int>().write(unread) };
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn close(userdata: *mut c_void, fd: c_int) -> c_int {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, |host| host.stack.close(fd).map(|()| 0)) }
}

pub(crate) unsafe extern "C" fn shutdown(userdata: *mut c_void, fd: c_int, how: c_int) -> c_int {
    let call = |host: &mut Inner| host.stack.shutdown(fd, names::shutdown(how)?).map(|()| 0);
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn getsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let call = |host: &mut Inner| {
        if value.is_null() || len.is_null() {
            return Err(Errno::EINVAL.into());
        }
        let got = host.stack.option(fd, names::option(level, name)?)?;
        // SAFETY: neither is null; `value` has `len` bytes. See the module.
        unsafe {
            let room = len.read() as usize;
            let written = match got {
                SocketValue::Int(n) => copy_out(value, room, &n),
                SocketValue::Linger { on, seconds } => {
                    let linger = linger { l_onoff: on.into(), l_linger: seconds as c_int };
                    copy_out(value, room, &linger)
                }
                SocketValue::Text(text) => {
                    let bytes = text.as_bytes();
                    write_bytes(value, &bytes[..bytes.len().min(room)]);
                    bytes.len()
                }
            };
            len.write(written.min(room) as socklen_t);
        }
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn setsockopt(
    userdata: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    let call = |host: &mut Inner| {
        // SAFETY: see the module.
        let bytes = unsafe { read_bytes(value, len as usize) };
        let word = |at: usize| {
            let four = bytes.get(at..at + 4).and_then(|b| <[u8; 4]>::try_from(b).ok());
            four.map(c_int::from_ne_bytes).ok_or(Errno::EINVAL)
        };
        let value = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                SocketValue::Linger { on: word(0)? != 0, seconds: word(4)?.max(0) as u32 }
            }
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => {
                let text = bytes.split(|b| *b == 0).next().unwrap_or(&[]);
                SocketValue::Text(String::from_utf8_lossy(text).into_owned())
            }
            _ => SocketValue::Int(word(0)?),
        };
        host.stack.set_option(fd, names::option(level, name)?, &value).map(|()| 0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

/// Reports what is ready now; a timeout is refused.
pub(crate) unsafe extern "C" fn poll(
    userdata: *mut c_void,
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
) -> c_int {
    let call = |host: &mut Inner| {
        let mut ready = 0;
        for i in 0..count as usize {
            // SAFETY: the caller states that there are `count` entries; see the module.
            let entry = unsafe { &mut *fds.add(i) };
            let bits = match host.stack.readiness(entry.fd) {
                _ if entry.fd < 0 => 0,
                Err(_) => libc::POLLNVAL,
                Ok(r) => {
                    let asked = [
                        (r.readable, libc::POLLIN),
                        (r.writable, libc::POLLOUT),
                        (r.peer_closed, libc::POLLRDHUP),
                    ];
                    let always = [(r.error, libc::POLLERR), (r.hung_up, libc::POLLHUP)];
                    let pick = |(on, bit): &(bool, i16)| if *on { *bit } else { 0 };
                    asked.iter().map(pick).fold(0, |a, b| a | b) & entry.events
                        | always.iter().map(pick).fold(0, |a, b| a | b)
                }
            };
            entry.revents = bits;
            ready += i32::from(bits != 0);
        }
        if ready == 0 && timeout != 0 { Err(CallError::WouldBlock) } else { Ok(ready) }
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

/// Delivers a packet to the host. A packet that is not TCP is dropped, as by a host.
pub(crate) unsafe extern "C" fn netdev_send(
    userdata: *mut c_void,
    from: *const c_void,
    len: size_t,
) -> c_int {
    let call = |host: &mut Inner| {
        // SAFETY: see the module.
        let bytes = unsafe { read_bytes(from, len) };
        if let Err(error) = host.inject(&bytes) {
            streams::note(format_args!("lowtide: the host drops a packet: {error}"));
        }
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

/// The next packet from the host and its time; empty if none is sent within 75 s.
pub(crate) unsafe extern "C" fn netdev_receive(
    userdata: *mut c_void,
    to: *mut c_void,
    len: *mut size_t,
    time_us: *mut i64,
) -> c_int {
    let call = |host: &mut Inner| {
        let Some((packet, at)) = host.receive() else {
            streams::note("lowtide: no packet was sent within 75 s of virtual time");
            // SAFETY: see the module.
            unsafe { len.write(0) };
            return Ok(0);
        };
        // SAFETY: `len` is the size of `to`; see the module.
        unsafe {
            let n = packet.bytes.len().min(len.read());
            write_bytes(to, &packet.bytes[..n]);
            len.write(n);
            time_us.write(at);
        }
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn usleep(userdata: *mut c_void, us: c_uint) -> c_int {
    let call = |host: &mut Inner| {
        host.sleep(u64::from(us));
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

pub(crate) unsafe extern "C" fn gettimeofday(
    userdata: *mut c_void,
    time: *mut timeval,
    _zone: *mut c_void,
) -> c_int {
    let call = |host: &mut Inner| {
        let us = host.read_clock();
        if !time.is_null() {
            let now = timeval { tv_sec: us / 1_000_000, tv_usec: us % 1_000_000 };
            // SAFETY: not null; see the module.
            unsafe { time.write(now) };
        }
        Ok(0)
    };
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, call) }
}

fn enosys(_: &mut Inner) -> Outcome<i32> {
    Err(Errno::ENOSYS.into())
}

pub(crate) unsafe extern "C" fn epoll_create(userdata: *mut c_void, _size: c_int) -> c_int {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, enosys) }
}

pub(crate) unsafe extern "C" fn epoll_ctl(
    userdata: *mut c_void,
    _set: c_int,
    _operation: c_int,
    _fd: c_int,
    _event: *mut epoll_event,
) -> c_int {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, enosys) }
}

pub(crate) unsafe extern "C" fn epoll_wait(
    userdata: *mut c_void,
    _set: c_int,
    _events: *mut epoll_event,
    _most: c_int,
    _timeout: c_int,
) -> c_int {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, enosys) }
}

pub(crate) unsafe extern "C" fn pipe(userdata: *mut c_void, _ends: *mut c_int) -> c_int {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, enosys) }
}

pub(crate) unsafe extern "C" fn splice(
    userdata: *mut c_void,
    _from: c_int,
    _from_offset: *mut i64,
    _to: c_int,
    _to_offset: *mut i64,
    _len: size_t,
    _flags: c_uint,
) -> ssize_t {
    // SAFETY: see the module.
    unsafe { call_host_int(userdata, enosys) as ssize_t }
}
