//! Selects a loaded twin for the sockets of a cgroup.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use super::{bpffs, objects};
use crate::error::KernelError;
use crate::twin::Twin;
use crate::view::CgroupSelection;

/// Prefix of the pins of selections.
pub(crate) const CGROUP: &str = "cgroup-";

/// Makes `twin` the control of sockets in a cgroup that connect or listen from now on. It stays
/// until [`crate::unload`]. Sockets that exist already are untouched.
///
/// # Errors
/// The twin is not loaded, or the folder is no cgroup of version 2.
pub fn select_for_cgroup(
    twin: &'static Twin,
    selection: &CgroupSelection,
) -> Result<(), KernelError> {
    if !is_cgroup2(&selection.cgroup) {
        return Err(KernelError::NotCgroup2(selection.cgroup.clone()));
    }
    attach(twin, selection)
}

/// `cgroup.controllers` exists in every cgroup of version 2 and in none of version 1.
fn is_cgroup2(cgroup: &Path) -> bool {
    cgroup.join("cgroup.controllers").is_file()
}

fn attach(twin: &'static Twin, selection: &CgroupSelection) -> Result<(), KernelError> {
    let not_loaded = || KernelError::NotLoaded(twin.name.to_owned());
    let folder = bpffs::folder().ok_or_else(not_loaded)?.join(twin.name);
    if !folder.join("link").exists() {
        return Err(not_loaded());
    }
    let cgroup = selection.cgroup.canonicalize();
    let cgroup = cgroup.map_err(|e| KernelError::io(&selection.cgroup, e))?;
    let pin = folder.join(format!("{CGROUP}{}", bpffs::pin_name(&cgroup)));
    if pin.exists() {
        return Ok(());
    }
    let file = File::open(&cgroup).map_err(|e| KernelError::io(&cgroup, e))?;
    let object = objects::open("select", objects::SELECT, Some(&encode(twin, selection)))?;
    let refused = |error: libbpf_rs::Error| KernelError::Refused {
        name: "select".to_owned(),
        reason: format!("{error:#}"),
    };
    let program = object.progs_mut().next().ok_or(KernelError::NotBuilt)?;
    let mut link = program.attach_cgroup(file.as_raw_fd()).map_err(refused)?;
    link.pin(pin).map_err(refused)
}

/// Returns `struct lt_selection` of `kernel/select.bpf.c`.
fn encode(twin: &Twin, selection: &CgroupSelection) -> [u8; 20] {
    let mut out = [0; 20];
    out[..twin.name.len()].copy_from_slice(twin.name.as_bytes());
    let delack = selection.delack_max.map_or(0, |delay| delay.as_us() as u32);
    out[16..].copy_from_slice(&delack.to_ne_bytes());
    out
}
