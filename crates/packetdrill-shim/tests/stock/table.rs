//! Functions of the shared object, loaded as packetdrill loads it.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;

use libc::{sockaddr_in, sockaddr_in6, socklen_t, timeval};
use lowtide_packetdrill_shim::interface::Interface;

type Init = unsafe extern "C" fn(*const c_char, *mut Interface);

/// Result of a call: its value, or errno.
pub(super) type Outcome = Result<i64, c_int>;

/// One instance of the host in the shared object.
pub(super) struct Table(Interface);

impl Table {
    /// Opens the shared object beside this program and creates a host with these settings.
    pub(super) fn open(flags: &str) -> Self {
        let mut path = std::env::current_exe().expect("this program");
        path.set_file_name("liblowtide_packetdrill_shim.so");
        let name = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        let flags = CString::new(flags).expect("no zero byte");
        let mut table = MaybeUninit::<Interface>::uninit();
        // SAFETY: C strings; the symbol has this type; the table is filled on return.
        unsafe {
            let object = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            let why = || CStr::from_ptr(libc::dlerror()).to_string_lossy();
            assert!(!object.is_null(), "{}", why());
            let init = libc::dlsym(object, c"packetdrill_interface_init".as_ptr());
            assert!(!init.is_null(), "the object has no packetdrill_interface_init");
            let init = std::mem::transmute::<*mut c_void, Init>(init);
            init(flags.as_ptr(), table.as_mut_ptr());
            Self(table.assume_init())
        }
    }

    fn ud(&self) -> *mut c_void {
        self.0.userdata
    }

    pub(super) fn socket(&self, v6: bool, kind: c_int, protocol: c_int) -> Outcome {
        let domain = if v6 { libc::AF_INET6 } else { libc::AF_INET };
        // SAFETY: the table's own userdata.
        outcome(unsafe { (self.0.socket)(self.ud(), domain, kind, protocol) })
    }

    pub(super) fn bind(&self, fd: c_int, ip: IpAddr, port: u16) -> Outcome {
        with_address(ip, port, |at, len| {
            // SAFETY: the table's own userdata; the address lives through the call.
            outcome(unsafe { (self.0.bind)(self.ud(), fd, at.cast(), len) })
        })
    }

    pub(super) fn connect(&self, fd: c_int, ip: IpAddr, port: u16) -> Outcome {
        with_address(ip, port, |at, len| {
            // SAFETY: the table's own userdata; the address lives through the call.
            outcome(unsafe { (self.0.connect)(self.ud(), fd, at.cast(), len) })
        })
    }

    pub(super) fn listen(&self, fd: c_int, backlog: c_int) -> Outcome {
        // SAFETY: the table's own userdata.
        outcome(unsafe { (self.0.listen)(self.ud(), fd, backlog) })
    }

    pub(super) fn accept(&self, fd: c_int) -> Outcome {
        let mut peer = [0_u8; 128];
        let mut len = peer.len() as socklen_t;
        // SAFETY: the table's own userdata; address and length live through the call.
        outcome(unsafe { (self.0.accept)(self.ud(), fd, peer.as_mut_ptr().cast(), &raw mut len) })
    }

    pub(super) fn read(&self, fd: c_int, most: usize, flags: Option<c_int>) -> Outcome {
        let mut bytes = vec![0_u8; most];
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: the table's own userdata; the buffer has as much room as is stated.
        outcome(unsafe {
            match flags {
                None => (self.0.read)(self.ud(), fd, to, most),
                Some(flags) => (self.0.recv)(self.ud(), fd, to, most, flags),
            }
        })
    }

    pub(super) fn write(&self, fd: c_int, len: usize, flags: Option<c_int>) -> Outcome {
        let bytes = vec![0_u8; len];
        let from = bytes.as_ptr().cast();
        // SAFETY: the table's own userdata; the bytes live through the call.
        outcome(unsafe {
            match flags {
                None => (self.0.write)(self.ud(), fd, from, len),
                Some(flags) => (self.0.send)(self.ud(), fd, from, len, flags),
            }
        })
    }

    pub(super) fn fcntl(&self, fd: c_int, command: c_int, argument: c_long) -> Outcome {
        // SAFETY: the table's own userdata.
        outcome(unsafe { (self.0.fcntl)(self.ud(), fd, command, argument) })
    }

    /// The result, and the number that the call wrote.
    pub(super) fn ioctl(&self, fd: c_int, request: u64) -> (Outcome, c_int) {
        let mut value: c_int = -1;
        // SAFETY: the table's own userdata; the value lives through the call.
        let result =
            outcome(unsafe { (self.0.ioctl)(self.ud(), fd, request, (&raw mut value).cast()) });
        (result, value)
    }

    pub(super) fn close(&self, fd: c_int) -> Outcome {
        // SAFETY: the table's own userdata.
        outcome(unsafe { (self.0.close)(self.ud(), fd) })
    }

    pub(super) fn shutdown(&self, fd: c_int, how: c_int) -> Outcome {
        // SAFETY: the table's own userdata.
        outcome(unsafe { (self.0.shutdown)(self.ud(), fd, how) })
    }

    pub(super) fn get_option(
        &self,
        fd: c_int,
        level: c_int,
        name: c_int,
        room: usize,
    ) -> (Outcome, Vec<u8>) {
        let mut value = vec![0_u8; room + 1];
        let mut len = room as socklen_t;
        // SAFETY: the table's own userdata; value and length live through the call.
        let result = outcome(unsafe {
            let to = value.as_mut_ptr().cast();
            (self.0.getsockopt)(self.ud(), fd, level, name, to, &raw mut len)
        });
        value.truncate(len as usize);
        (result, value)
    }

    pub(super) fn set_option(&self, fd: c_int, level: c_int, name: c_int, v: &[u8]) -> Outcome {
        // SAFETY: the table's own userdata; the value lives through the call.
        outcome(unsafe {
            let len = v.len() as socklen_t;
            (self.0.setsockopt)(self.ud(), fd, level, name, v.as_ptr().cast(), len)
        })
    }

    pub(super) fn inject(&self, bytes: &[u8]) {
        // SAFETY: the table's own userdata; the bytes live through the call.
        let sent = unsafe { (self.0.netdev_send)(self.ud(), bytes.as_ptr().cast(), bytes.len()) };
        assert_eq!(sent, 0);
    }

    /// The next packet and its time in microseconds; empty if none was sent.
    pub(super) fn receive(&self) -> (Vec<u8>, i64) {
        let mut bytes = vec![0_u8; 70_000];
        let (mut len, mut at) = (bytes.len(), 0);
        // SAFETY: the table's own userdata; the buffer has as much room as is stated.
        let result = unsafe {
            let to = bytes.as_mut_ptr().cast();
            (self.0.netdev_receive)(self.ud(), to, &raw mut len, &raw mut at)
        };
        assert_eq!(result, 0);
        bytes.truncate(len);
        (bytes, at)
    }

    /// The clock in microseconds.
    pub(super) fn clock(&self) -> i64 {
        let mut now = timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the table's own userdata; the time lives through the call.
        let result =
            unsafe { (self.0.gettimeofday)(self.ud(), &raw mut now, std::ptr::null_mut()) };
        assert_eq!(result, 0);
        now.tv_sec * 1_000_000 + now.tv_usec
    }

    pub(super) fn sleep(&self, us: i64) {
        // SAFETY: the table's own userdata.
        assert_eq!(unsafe { (self.0.usleep)(self.ud(), us as u32) }, 0);
    }

    pub(super) fn free(self) {
        // SAFETY: the table's own userdata, once.
        unsafe { (self.0.free)(self.ud()) }
    }
}

fn outcome(result: impl TryInto<i64>) -> Outcome {
    match result.try_into().ok().expect("a result of C") {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().expect("errno is set")),
        value => Ok(value),
    }
}

fn with_address<T>(ip: IpAddr, port: u16, call: impl FnOnce(*const c_void, socklen_t) -> T) -> T {
    match ip {
        IpAddr::V4(ip) => {
            let at = sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: port.to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
                sin_zero: [0; 8],
            };
            call((&raw const at).cast(), size_of::<sockaddr_in>() as socklen_t)
        }
        IpAddr::V6(ip) => {
            let at = sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: port.to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: ip.octets() },
                sin6_scope_id: 0,
            };
            call((&raw const at).cast(), size_of::<sockaddr_in6>() as socklen_t)
        }
    }
}
