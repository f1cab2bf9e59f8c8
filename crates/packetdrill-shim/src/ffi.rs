//! Executes a call on its host: locks the host and reports failure in `errno`.

use libc::{c_int, c_void};
use lowtide_packetdrill::stack::{CallError, Errno};

use crate::host::{Host, Inner};

pub(crate) type Outcome<T> = Result<T, CallError>;

/// Runs `call` on the host; returns -1 and sets `errno` if it fails.
///
/// # Safety
/// `userdata` comes from `Interface::new` and was not freed.
pub(crate) unsafe fn call_host(
    userdata: *mut c_void,
    call: impl FnOnce(&mut Inner) -> Outcome<isize>,
) -> isize {
    // SAFETY: it points to the host that `Interface::new` boxed; only `free` drops it.
    let host = unsafe { &*userdata.cast::<Host>() };
    let outcome = call(&mut host.lock());
    let errno = match outcome {
        Ok(value) => return value,
        Err(CallError::Errno(errno)) => errno,
        // Time does not advance during a call, so it would wait forever.
        Err(CallError::WouldBlock) => Errno::EOPNOTSUPP,
    };
    // SAFETY: the C library gives every thread its own errno.
    unsafe { *libc::__errno_location() = errno.number() };
    -1
}

/// Like [`call_host`], for calls that return an `int`.
///
/// # Safety
/// As for [`call_host`].
pub(crate) unsafe fn call_host_int(
    userdata: *mut c_void,
    call: impl FnOnce(&mut Inner) -> Outcome<i32>,
) -> c_int {
    // SAFETY: the same condition.
    unsafe { call_host(userdata, |host| call(host).map(|n| n as isize)) as c_int }
}
