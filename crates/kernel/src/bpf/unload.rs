//! Unloads a twin: removes its selections and its registration.

use std::fs;
use std::time::Duration;

use super::routes::routes_with;
use super::sockets::sockets;
use super::{bpffs, kernel};
use crate::error::KernelError;
use crate::twin::Twin;

/// Interval and number of the looks whether the kernel has unregistered a control: 10 s.
const UNREGISTER_LOOK: Duration = Duration::from_millis(10);
const UNREGISTER_LOOKS: u32 = 1000;

/// Removes what [`crate::load`] and [`crate::select_for_cgroup`] made for `twin`. Sockets that use
/// it keep it until they close.
///
/// # Errors
/// It is not loaded, or a route of this namespace names it; or sockets use it, unless `force`.
pub fn unload(twin: &'static Twin, force: bool) -> Result<(), KernelError> {
    let not_loaded = || KernelError::NotLoaded(twin.name.to_owned());
    let folder = bpffs::folder().ok_or_else(not_loaded)?.join(twin.name);
    if !folder.exists() {
        return Err(not_loaded());
    }
    if let Some(route) = routes_with(twin.name)?.into_iter().next() {
        return Err(KernelError::RouteInUse { name: twin.name.to_owned(), route });
    }
    if !force {
        let sockets = sockets()?.iter().filter(|socket| socket.control == twin.name).count();
        if sockets > 0 {
            return Err(KernelError::InUse { name: twin.name.to_owned(), sockets });
        }
    }
    // Selections first: afterwards no new socket chooses it.
    let mut pins: Vec<_> = fs::read_dir(&folder)
        .map_err(|e| KernelError::io(&folder, e))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    pins.sort_by_key(|path| path.ends_with("link"));
    for pin in pins {
        fs::remove_file(&pin).map_err(|e| KernelError::io(&pin, e))?;
    }
    fs::remove_dir(&folder).map_err(|e| KernelError::io(&folder, e))?;
    wait_until_gone(twin.name)
}

/// The kernel ends a link after the last pin is gone, in its own time.
fn wait_until_gone(name: &str) -> Result<(), KernelError> {
    for _ in 0..UNREGISTER_LOOKS {
        if !kernel::is_registered(name)? {
            return Ok(());
        }
        std::thread::sleep(UNREGISTER_LOOK);
    }
    Err(KernelError::StillRegistered(name.to_owned()))
}
