//! A call of the table over its host: locked, its failure in `errno`.

use libc::{c_int, c_void};
use lowtide_packetdrill::stack::{CallError, Errno};

use crate::host::{Host, Inner};

pub(crate) type Outcome<T> = Result<T, CallError>;

/// Runs `call` over the host; -1 and `errno` when it fails.
///
/// # Safety
/// `userdata` comes from `Interface::over` and was not freed.
pub(crate) unsafe fn call_host(
    userdata: *mut c_void,
    call: impl FnOnce(&mut Inner) -> Outcome<isize>,
) -> isize {
    // SAFETY: it points to the host that `Interface::over` boxed; only `free` ends it.
    let host = unsafe { &*userdata.cast::<Host>() };
    let outcome = call(&mut host.lock());
    let errno = match outcome {
        Ok(value) => return value,
        Err(CallError::Errno(errno)) => errno,
        // Time does not move while a call runs, so it would wait for ever.
        Err(CallError::WouldBlock) => Errno::EOPNOTSUPP,
    };
    // SAFETY: the C library gives every thread its own errno.
    unsafe { *libc::__errno_location() = errno.number() };
    -1
}

/// As [`with`], for calls that give an `int`.
///
/// # Safety
/// As [`with`].
pub(crate) unsafe fn call_host_int(
    userdata: *mut c_void,
    call: impl FnOnce(&mut Inner) -> Outcome<i32>,
) -> c_int {
    // SAFETY: the same condition.
    unsafe { call_host(userdata, |host| call(host).map(|n| n as isize)) as c_int }
}
