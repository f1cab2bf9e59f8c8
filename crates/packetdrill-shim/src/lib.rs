//! The shared object that stock packetdrill loads (`--so_filename`): lowtide's TCP under an
//! independent judge, in virtual time.
//!
//! Contract: [`packetdrill_interface_init`] fills [`table::Interface`] with functions over one
//! [`lowtide_packetdrill::stack::Stack`]. packetdrill's clock is the stack's: it moves by `usleep`, by
//! one microsecond with each `gettimeofday` (packetdrill spins on it), and by `netdev_receive`, which
//! runs from timer to timer until a packet leaves. Calls never block: what would is EOPNOTSUPP on a
//! blocking socket. `free` prints a digest of all packets, in which addresses, ports and initial
//! numbers do not count, because packetdrill draws them. It aborts when packets were sent that nobody
//! fetched, which packetdrill itself does not notice (`strict=0` turns that off). The challenge ACK that
//! answers packetdrill's own closing RST (RFC 5961 §3.2) is none of them.
//!
//! Layout and behaviour were written from the interface's description; nothing of packetdrill is in
//! here, and it is no dependency. `docs/packetdrill.md` says how to use it.

mod calls;
mod ffi;
mod host;
pub mod interface;
mod memory;
mod names;
mod stream;

use std::ffi::{CStr, c_char};

use lowtide_packetdrill::so_flags::SoFlags;

use host::Host;
use interface::Interface;

/// Makes a host out of `flags` (`--so_flags`) and fills `out`.
///
/// Wrong settings are reported on stderr and end the process with status 2: the interface has no other
/// way to refuse.
///
/// # Safety
/// `flags` is null or a string that ends in a zero byte; `out` points to memory for one
/// [`Interface`]. The table's functions take the `userdata` in it and nothing else, until `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(flags: *const c_char, out: *mut Interface) {
    let text = if flags.is_null() {
        String::new()
    } else {
        // SAFETY: not null, and the caller states that it is a C string.
        unsafe { CStr::from_ptr(flags) }.to_string_lossy().into_owned()
    };
    match SoFlags::parse(&text) {
        // SAFETY: the caller states that `out` points to memory for one table.
        Ok(flags) => unsafe { out.write(Interface::new(Host::new(flags))) },
        Err(error) => {
            eprintln!("lowtide: --so_flags: {error}");
            std::process::exit(2);
        }
    }
}
