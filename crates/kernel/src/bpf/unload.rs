//! Unloads a twin: removes its selections and its registration.

use super::load::unregister;
use super::namespaces::in_each;
use super::routes::Route;
use super::sockets::SocketReader;
use super::{bpffs, kernel};
use crate::error::KernelError;
use crate::twin::Twin;

/// Control of a namespace whose default was a twin that is unloaded by force: every kernel has it.
const FALLBACK: &str = "reno";

/// Removes what [`crate::load`] and [`crate::select`] made for `twin`, in all network namespaces.
///
/// # Errors
/// It is not loaded. Unless `force`: a route or a default names it, or sockets use it. With `force`
/// routes lose the control, defaults become `reno`, and sockets keep the twin until they close.
pub fn unload(twin: &'static Twin, force: bool) -> Result<(), KernelError> {
    kernel::check("unloading a BPF congestion control")?;
    let _lock = bpffs::lock()?;
    if !bpffs::folder_or_mount()?.join(twin.name).exists() {
        let name = twin.name.to_owned();
        return Err(if kernel::is_registered(twin.name)? {
            KernelError::RegisteredElsewhere(name)
        } else {
            KernelError::NotLoaded(name)
        });
    }
    // The kernel silently takes its own default for a route that names an unknown control, and
    // keeps an unregistered control as the default of a namespace.
    in_each(|| leave_routes(twin, force))?;
    in_each(|| leave_default(twin, force))?;
    if !force {
        let sockets = SocketReader::open()?.read()?;
        let sockets = sockets.iter().filter(|socket| socket.control == twin.name).count();
        if sockets > 0 {
            return Err(KernelError::InUse { name: twin.name.to_owned(), sockets });
        }
    }
    unregister(twin)
}

fn leave_routes(twin: &'static Twin, force: bool) -> Result<(), KernelError> {
    for route in Route::with(twin.name)? {
        if !force {
            return Err(KernelError::RouteInUse { name: twin.name.to_owned(), route: route.text });
        }
        route.change(None)?;
    }
    Ok(())
}

fn leave_default(twin: &'static Twin, force: bool) -> Result<(), KernelError> {
    match kernel::default_control()? == twin.name {
        true if force => kernel::set_default(FALLBACK),
        true => Err(KernelError::DefaultInUse(twin.name.to_owned())),
        false => Ok(()),
    }
}
