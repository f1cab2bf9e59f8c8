//! Unloads a twin: removes its selections and its registration.

use std::fs;

use super::bpffs;
use super::routes::routes_with;
use super::sockets::sockets;
use crate::error::KernelError;
use crate::twin::Twin;

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
    fs::remove_dir(&folder).map_err(|e| KernelError::io(&folder, e))
}
