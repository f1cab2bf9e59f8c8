//! Loads a twin: registers it with the kernel and pins it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use libbpf_rs::{MapCore as _, Object};
use lowtide_schema::Values;

use super::select::select;
use super::{bpffs, kernel, objects};
use crate::error::KernelError;
use crate::twin::{Twin, encode};
use crate::view::Selections;

/// Interval and number of the questions whether the kernel has unregistered a control.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLLS: u32 = 1000;

/// Registers `twin` with the kernel, for the whole machine, with these values of its parameters
/// (the others have their defaults), and selects it as [`crate::select`] does. Its pins keep it
/// registered until [`crate::unload`] or a reboot.
///
/// # Errors
/// A parameter is wrong, the kernel lacks something, refuses the program, or knows the name, or a
/// selection fails; nothing remains loaded then.
pub fn load(
    twin: &'static Twin,
    given: &[(&str, &str)],
    selections: &Selections,
) -> Result<(), KernelError> {
    let values =
        Values::parse(twin.params, given).map_err(|e| KernelError::Param(e.to_string()))?;
    register(twin, &values)?;
    select(twin, selections).or_else(|error| {
        unregister(twin)?;
        Err(error)
    })
}

fn register(twin: &'static Twin, values: &Values) -> Result<(), KernelError> {
    kernel::check()?;
    if kernel::is_registered(twin.name)? {
        let name = twin.name.to_owned();
        let pinned = bpffs::folder().is_some_and(|pins| pins.join(&name).exists());
        let error = if pinned { KernelError::AlreadyLoaded } else { KernelError::NotOurs };
        return Err(error(name));
    }
    let object = objects::control(twin.name).ok_or(KernelError::NotBuilt)?;
    let params = encode(values);
    let object = objects::open(twin.name, object, Some(&params))?;
    let folder = bpffs::folder_or_mount()?.join(twin.name);
    if folder.exists() {
        // Pins of a control that was unregistered by other means.
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
    // The kernel ends a link after the last pin is gone, in its own time.
    for _ in 0..MAX_POLLS {
        if !kernel::is_registered(twin.name)? {
            return Ok(());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Err(KernelError::StillRegistered(twin.name.to_owned()))
}

/// Removes all pins of a twin: selections first, so that afterwards no new socket chooses it.
fn unpin(folder: &Path) -> Result<(), KernelError> {
    let mut pins: Vec<_> = fs::read_dir(folder)
        .map_err(|e| KernelError::io(folder, e))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    pins.sort_by_key(|path| path.ends_with("link"));
    for pin in pins {
        fs::remove_file(&pin).map_err(|e| KernelError::io(&pin, e))?;
    }
    fs::remove_dir(folder).map_err(|e| KernelError::io(folder, e))
}

fn pin(twin: &'static Twin, mut object: Object, folder: &Path) -> Result<(), KernelError> {
    let refused = |error: libbpf_rs::Error| KernelError::Refused {
        name: twin.name.to_owned(),
        reason: format!("{error:#}"),
    };
    let mut link = None;
    for mut map in object.maps_mut() {
        if map.name() == twin.name {
            link = Some(map.attach_struct_ops().map_err(refused)?);
        } else if map.name() == ".rodata.params" {
            map.pin(folder.join("params")).map_err(refused)?;
        }
    }
    let mut link = link.ok_or(KernelError::NotBuilt)?;
    link.pin(folder.join("link")).map_err(refused)
}
