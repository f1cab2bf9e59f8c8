//! The twins that are loaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use super::bpffs;
use super::kernel;
use super::load::LINK;
use super::select::{CGROUP, is_attached};
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
        let is_ours = pins.as_ref().is_some_and(|pins| pins.join(LINK).exists());
        let state = match kernel::is_registered(twin.name)? {
            true if is_ours => TwinState::Loaded,
            true => TwinState::Elsewhere,
            false if pins.is_some() => TwinState::Gone,
            false if sockets > 0 => TwinState::Draining,
            false => continue,
        };
        let params = pins.as_deref().map(params).unwrap_or_default();
        let cgroups = pins.as_deref().map(cgroups).unwrap_or_default();
        out.push(LoadedTwin { twin, state, params, sockets, cgroups });
    }
    Ok(out)
}

fn cgroups(pins: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(pins) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let cgroup = |pin: PathBuf| {
        let path = bpffs::path_of_pin(pin.file_name()?.to_str()?.strip_prefix(CGROUP)?);
        is_attached(&pin).then_some(path)
    };
    let mut out: Vec<PathBuf> = paths.filter_map(cgroup).collect();
    out.sort();
    out
}

fn params(pins: &Path) -> Vec<(&'static str, String)> {
    let value = MapHandle::from_pinned_path(pins.join("params"))
        .and_then(|map| map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY));
    value.ok().flatten().map(|bytes| decode(&bytes)).unwrap_or_default()
}
