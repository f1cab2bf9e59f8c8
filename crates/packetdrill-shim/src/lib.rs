//! Shared object for stock packetdrill (`--so_filename`): tests lowtide's TCP with an independent
//! tool, in virtual time.
//!
//! Contract: [`packetdrill_interface_init`] fills [`interface::Interface`] with functions over one
//! [`lowtide_packetdrill::stack::Stack`]. packetdrill's clock is the stack's. It advances by
//! `usleep`, by one microsecond with each `gettimeofday` (packetdrill spins on it), and by
//! `netdev_receive`, which runs timer by timer until a packet is sent. Calls never block: they
//! return EOPNOTSUPP on a blocking socket. `free` prints a digest of all packets without addresses,
//! ports and initial numbers, which packetdrill draws at random. It aborts if packets were never
//! fetched, which packetdrill does not notice (`strict=0` disables this). The challenge ACK for
//! packetdrill's own closing RST (RFC 5961 §3.2) is excluded.
//!
//! Layout and behaviour follow the interface's description. The crate contains no packetdrill code
//! and does not depend on it. `docs/howto/packetdrill.md` says how to use it.

mod calls;
mod ffi;
mod host;
pub mod interface;
mod memory;
mod names;
mod stream;

use lowtide_output::streams;
use std::ffi::{CStr, c_char};

use lowtide_packetdrill::so_flags::SoFlags;

use host::Host;
use interface::Interface;

/// Creates a host from `flags` (`--so_flags`) and fills `out`.
///
/// Wrong settings are reported on stderr and end the process with status 2: the interface has no
/// error result.
///
/// # Safety
/// `flags` is null or a null-terminated string; `out` points to memory for one [`Interface`]. The
/// table's functions take only the `userdata` in it, until `free`.
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
            streams::note(format_args!("lowtide: --so_flags: {error}"));
            std::process::exit(2);
        }
    }
}
