//! Loads a twin: registers it with the kernel and pins it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use libbpf_rs::{MapCore as _, Object};
use lowtide_schema::Values;

use super::register::{attach_pinned, end_pinned};
use super::select::select_locked;
use super::{bpffs, kernel, objects};
use crate::error::KernelError;
use crate::twin::{Twin, encode};
use crate::view::Selections;

/// Pin of the registration.
pub(super) const LINK: &str = "link";

/// Limit of the wait for the kernel to unregister a control after its pins are removed.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Limit of the wait for the kernel to unregister the control of a loader that was killed.
const MAX_WAIT_FOR_KILLED: Duration = Duration::from_secs(1);

/// Registers `twin` with the kernel, for the whole machine, with these values of its parameters
/// (the others have their defaults), and selects it as [`crate::select`] does. Its pins keep it
/// registered until [`crate::unload`] or a reboot. Only processes with `CAP_NET_ADMIN` may choose
/// it, unless it is `unrestricted`.
///
/// # Errors
/// A parameter is wrong, the kernel lacks something, refuses the program, or knows the name, or a
/// selection fails; nothing remains loaded then.
pub fn load(
    twin: &'static Twin,
    given: &[(&str, &str)],
    unrestricted: bool,
    selections: &Selections,
) -> Result<(), KernelError> {
    let values =
        Values::parse(twin.params, given).map_err(|e| KernelError::Param(e.to_string()))?;
    kernel::check("loading a BPF congestion control")?;
    let _lock = bpffs::lock()?;
    register(twin, &values, unrestricted)?;
    select_locked(twin, selections).or_else(|error| {
        unregister(twin)?;
        Err(error)
    })
}

fn register(twin: &'static Twin, values: &Values, unrestricted: bool) -> Result<(), KernelError> {
    let folder = bpffs::folder_or_mount()?.join(twin.name);
    if folder.join(LINK).exists() && kernel::is_registered(twin.name)? {
        return Err(KernelError::AlreadyLoaded(twin.name.to_owned()));
    }
    if !kernel::is_unregistered(twin.name, MAX_WAIT_FOR_KILLED)? {
        return Err(KernelError::RegisteredElsewhere(twin.name.to_owned()));
    }
    let object = objects::control(twin.name).ok_or(KernelError::NotBuilt)?;
    let params = encode(values);
    let object = objects::open(twin.name, object, Some(&params), unrestricted)?;
    if folder.exists() {
        // Pins of a loader that was killed, or of a control that was unregistered by other means.
        unpin(&folder)?;
    }
    fs::create_dir_all(&folder).map_err(|e| KernelError::io(&folder, e))?;
    pin(twin, object, &folder).inspect_err(|_| {
        // Nothing is registered without its pin: the link ends with this process.
        let _ = unpin(&folder);
    })
}

/// Removes all pins of a loaded twin, and waits until the kernel has unregistered it.
///
/// # Errors
/// A pin cannot be removed, or the kernel still knows it after 10 s.
pub(super) fn unregister(twin: &'static Twin) -> Result<(), KernelError> {
    unpin(&bpffs::folder_or_mount()?.join(twin.name))?;
    if kernel::is_unregistered(twin.name, MAX_WAIT)? {
        return Ok(());
    }
    Err(KernelError::StillRegistered(twin.name.to_owned()))
}

/// Removes all pins of a twin: selections first, so that afterwards no new socket chooses it.
fn unpin(folder: &Path) -> Result<(), KernelError> {
    let mut pins: Vec<_> = fs::read_dir(folder)
        .map_err(|e| KernelError::io(folder, e))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    pins.sort_by_key(|path| path.ends_with(LINK));
    for pin in pins {
        if pin.ends_with(LINK) {
            end_pinned(&pin)?;
        }
        fs::remove_file(&pin).map_err(|e| KernelError::io(&pin, e))?;
    }
    fs::remove_dir(folder).map_err(|e| KernelError::io(folder, e))
}

fn pin(twin: &'static Twin, mut object: Object, folder: &Path) -> Result<(), KernelError> {
    let refused = |error: libbpf_rs::Error| objects::refused(twin.name, &error);
    if let Some(mut map) = object.maps_mut().find(|map| map.name() == objects::PARAMS) {
        map.pin(folder.join("params")).map_err(refused)?;
    }
    // The last pin: it keeps the control registered.
    attach_pinned(twin.name, &mut object, &folder.join(LINK))
}
