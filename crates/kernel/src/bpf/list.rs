//! The twins that are loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use super::bpffs;
use super::kernel;
use super::select::CGROUP;
use super::sockets::SocketReader;
use crate::error::KernelError;
use crate::twin::{TWINS, decode};
use crate::view::{LoadedTwin, TwinState};

/// Returns the loaded twins, and those that sockets still use.
///
/// # Errors
/// The binary has no programs, or the process may not list sockets.
pub fn list() -> Result<Vec<LoadedTwin>, KernelError> {
    let mut users: BTreeMap<String, usize> = BTreeMap::new();
    for socket in SocketReader::open()?.read()? {
        *users.entry(socket.control).or_default() += 1;
    }
    let folder = bpffs::folder();
    let mut out = Vec::new();
    for twin in TWINS {
        let pins = folder.as_ref().map(|f| f.join(twin.name)).filter(|f| f.exists());
        let sockets = users.get(twin.name).copied().unwrap_or(0);
        let state = match (&pins, kernel::is_registered(twin.name)?) {
            (Some(_), true) => TwinState::Loaded,
            (Some(_), false) => TwinState::Gone,
            (None, _) if sockets > 0 => TwinState::Draining,
            (None, _) => continue,
        };
        let params = pins.as_deref().map(params).unwrap_or_default();
        let cgroups = pins.as_deref().map(cgroups).unwrap_or_default();
        out.push(LoadedTwin { twin, state, params, sockets, cgroups });
    }
    Ok(out)
}

fn cgroups(pins: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(pins) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut out: Vec<PathBuf> =
        names.filter_map(|name| Some(bpffs::path_of_pin(name.strip_prefix(CGROUP)?))).collect();
    out.sort();
    out
}

fn params(pins: &Path) -> Vec<(&'static str, String)> {
    let value = MapHandle::from_pinned_path(pins.join("params"))
        .and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY));
    value.ok().flatten().map(|bytes| decode(&bytes)).unwrap_or_default()
}
