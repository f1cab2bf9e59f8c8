//! Function table of packetdrill's interface, in its layout.

use libc::{
    c_char, c_int, c_long, c_uint, c_ulong, c_void, epoll_event, iovec, msghdr, nfds_t, pollfd,
    size_t, sockaddr, socklen_t, ssize_t, timeval,
};

use crate::calls;
use crate::host::Host;
use crate::stream;

/// `struct packetdrill_interface`: the `userdata` argument, then 32 functions in fixed order. Each
/// takes the arguments of the C call of its name, and returns -1 with `errno` on failure.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, reason = "each field is the C call of its name")]
pub struct Interface {
    pub userdata: *mut c_void,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub socket: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int,
    pub bind: unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int,
    pub listen: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int,
    pub accept: unsafe extern "C" fn(*mut c_void, c_int, *mut sockaddr, *mut socklen_t) -> c_int,
    pub connect: unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int,
    pub read: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t) -> ssize_t,
    pub readv: unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t,
    pub recv: unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t, c_int) -> ssize_t,
    pub recvfrom: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t,
    pub recvmsg: unsafe extern "C" fn(*mut c_void, c_int, *mut msghdr, c_int) -> ssize_t,
    pub write: unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t) -> ssize_t,
    pub writev: unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t,
    pub send: unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t, c_int) -> ssize_t,
    pub sendto: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *const c_void,
        size_t,
        c_int,
        *const sockaddr,
        socklen_t,
    ) -> ssize_t,
    pub sendmsg: unsafe extern "C" fn(*mut c_void, c_int, *const msghdr, c_int) -> ssize_t,
    // Variadic in C; a fixed argument is in the same register on x86-64 and AArch64 Linux.
    pub fcntl: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_long) -> c_int,
    pub ioctl: unsafe extern "C" fn(*mut c_void, c_int, c_ulong, *mut c_void) -> c_int,
    pub close: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub shutdown: unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int,
    pub getsockopt: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        c_int,
        c_int,
        *mut c_void,
        *mut socklen_t,
    ) -> c_int,
    pub setsockopt:
        unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int,
    pub poll: unsafe extern "C" fn(*mut c_void, *mut pollfd, nfds_t, c_int) -> c_int,
    pub netdev_send: unsafe extern "C" fn(*mut c_void, *const c_void, size_t) -> c_int,
    pub netdev_receive:
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut size_t, *mut i64) -> c_int,
    pub usleep: unsafe extern "C" fn(*mut c_void, c_uint) -> c_int,
    pub gettimeofday: unsafe extern "C" fn(*mut c_void, *mut timeval, *mut c_void) -> c_int,
    pub epoll_create: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    pub epoll_ctl:
        unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut epoll_event) -> c_int,
    pub epoll_wait:
        unsafe extern "C" fn(*mut c_void, c_int, *mut epoll_event, c_int, c_int) -> c_int,
    pub pipe: unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int,
    pub splice: unsafe extern "C" fn(
        *mut c_void,
        c_int,
        *mut i64,
        c_int,
        *mut i64,
        size_t,
        c_uint,
    ) -> ssize_t,
}

/// Size check: the table is one pointer and 32 functions, without padding.
const _: () = assert!(size_of::<Interface>() == 33 * size_of::<*const c_char>());

impl Interface {
    /// Creates the table over `host`, which `free` drops.
    pub(crate) fn new(host: Host) -> Self {
        Self {
            userdata: Box::into_raw(Box::new(host)).cast(),
            free: calls::free,
            socket: calls::socket,
            bind: calls::bind,
            listen: calls::listen,
            accept: calls::accept,
            connect: calls::connect,
            read: stream::read,
            readv: stream::readv,
            recv: stream::recv,
            recvfrom: stream::recvfrom,
            recvmsg: stream::recvmsg,
            write: stream::write,
            writev: stream::writev,
            send: stream::send,
            sendto: stream::sendto,
            sendmsg: stream::sendmsg,
            fcntl: calls::fcntl,
            ioctl: calls::ioctl,
            close: calls::close,
            shutdown: calls::shutdown,
            getsockopt: calls::getsockopt,
            setsockopt: calls::setsockopt,
            poll: calls::poll,
            netdev_send: calls::netdev_send,
            netdev_receive: calls::netdev_receive,
            usleep: calls::usleep,
            gettimeofday: calls::gettimeofday,
            epoll_create: calls::epoll_create,
            epoll_ctl: calls::epoll_ctl,
            epoll_wait: calls::epoll_wait,
            pipe: calls::pipe,
            splice: calls::splice,
        }
    }
}
