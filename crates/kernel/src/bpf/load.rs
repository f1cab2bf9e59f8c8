//! Loads a twin: registers it with the kernel and pins it.

use std::fs;
use std::path::Path;

use libbpf_rs::{MapCore as _, Object};
use lowtide_schema::Values;

use super::{bpffs, kernel, objects};
use crate::error::KernelError;
use crate::twin::{Twin, encode};

/// Registers `twin` with the kernel, for the whole machine, with these values of its parameters
/// (the others have their defaults). Its pins keep it registered until [`crate::unload`] or a
/// reboot.
///
/// # Errors
/// A parameter is wrong, the kernel lacks something, refuses the program, or knows the name;
/// nothing remains loaded then.
pub fn load(twin: &'static Twin, given: &[(&str, &str)]) -> Result<(), KernelError> {
    let values =
        Values::parse(twin.params, given).map_err(|e| KernelError::Param(e.to_string()))?;
    register(twin, &values)
}

fn register(twin: &'static Twin, values: &Values) -> Result<(), KernelError> {
    kernel::check()?;
    if kernel::is_registered(twin.name)? {
        return Err(KernelError::AlreadyRegistered(twin.name.to_owned()));
    }
    let object = objects::control(twin.name).ok_or(KernelError::NotBuilt)?;
    let params = encode(values);
    let object = objects::open(twin.name, object, Some(&params))?;
    let folder = bpffs::folder_or_mount()?.join(twin.name);
    fs::create_dir_all(&folder).map_err(|e| KernelError::io(&folder, e))?;
    pin(twin, object, &folder).inspect_err(|_| {
        // Nothing is registered without its pin: the link ends with this process.
        for file in ["link", "params"] {
            let _ = fs::remove_file(folder.join(file));
        }
        let _ = fs::remove_dir(&folder);
    })
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
