//! Selects a loaded twin for the sockets of cgroups, of routes, or of a network namespace.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use lowtide_units::Duration;

use super::routes::Route;
use super::{bpffs, kernel, objects};
use crate::error::KernelError;
use crate::twin::{TWINS, Twin};
use crate::view::Selections;

/// Prefix of the pins of selections.
pub(crate) const CGROUP: &str = "cgroup-";

/// Makes `twin` the control of the sockets in `selections` that connect or listen from now on,
/// until [`crate::unload`]. Sockets that exist already are untouched.
///
/// # Errors
/// The twin is not loaded, a folder is no cgroup of version 2 or selects already, there is no such
/// route, or `ip` fails. Nothing is selected then.
pub fn select(twin: &'static Twin, selections: &Selections) -> Result<(), KernelError> {
    if !kernel::is_registered(twin.name)? {
        return Err(KernelError::NotLoaded(twin.name.to_owned()));
    }
    let mut done = Vec::new();
    each(twin, selections, &mut done).inspect_err(|_| {
        // The error that is reported is the first one.
        done.into_iter().rev().for_each(|done| drop(done.undo()));
    })
}

/// A selection that was made, with what was there before.
enum Done {
    Cgroup(PathBuf),
    Route(Route),
    Default(String),
}

impl Done {
    fn undo(self) -> Result<(), KernelError> {
        match self {
            Self::Cgroup(pin) => fs::remove_file(&pin).map_err(|e| KernelError::io(pin, e)),
            Self::Route(before) => before.restore(),
            Self::Default(before) => kernel::set_default(&before),
        }
    }
}

fn each(
    twin: &'static Twin,
    selections: &Selections,
    done: &mut Vec<Done>,
) -> Result<(), KernelError> {
    for cgroup in &selections.cgroups {
        done.push(Done::Cgroup(attach(twin, cgroup, selections.delack_max)?));
    }
    for prefix in &selections.routes {
        let route = Route::to(prefix)?;
        route.change(Some(twin.name))?;
        done.push(Done::Route(route));
    }
    if selections.default {
        let before = kernel::default_control()?;
        kernel::set_default(twin.name)?;
        done.push(Done::Default(before));
    }
    Ok(())
}

/// `cgroup.controllers` exists in every cgroup of version 2 and in none of version 1.
fn is_cgroup2(cgroup: &Path) -> bool {
    cgroup.join("cgroup.controllers").is_file()
}

/// Attaches the selection to a cgroup; returns its pin.
fn attach(
    twin: &'static Twin,
    cgroup: &Path,
    delack_max: Option<Duration>,
) -> Result<PathBuf, KernelError> {
    if !is_cgroup2(cgroup) {
        return Err(KernelError::NotCgroup2(cgroup.to_owned()));
    }
    let cgroup = cgroup.canonicalize().map_err(|e| KernelError::io(cgroup, e))?;
    let pins = bpffs::folder_or_mount()?;
    let name = format!("{CGROUP}{}", bpffs::pin_name(&cgroup));
    if let Some(by) = TWINS.iter().find(|other| pins.join(other.name).join(&name).exists()) {
        return Err(KernelError::AlreadySelected { cgroup, by: by.name });
    }
    let file = File::open(&cgroup).map_err(|e| KernelError::io(&cgroup, e))?;
    let object = objects::open("select", objects::SELECT, Some(&encode(twin, delack_max)))?;
    let refused = |error: libbpf_rs::Error| KernelError::Refused {
        name: "select".to_owned(),
        reason: format!("{error:#}"),
    };
    let program = object.progs_mut().next().ok_or(KernelError::NotBuilt)?;
    let mut link = program.attach_cgroup(file.as_raw_fd()).map_err(refused)?;
    let pin = pins.join(twin.name).join(name);
    link.pin(&pin).map_err(refused)?;
    Ok(pin)
}

/// Returns `struct lt_selection` of `kernel/select.bpf.c`.
fn encode(twin: &Twin, delack_max: Option<Duration>) -> [u8; 20] {
    let mut out = [0; 20];
    out[..twin.name.len()].copy_from_slice(twin.name.as_bytes());
    let delack = delack_max.map_or(0, |delay| delay.as_us() as u32);
    out[16..].copy_from_slice(&delack.to_ne_bytes());
    out
}
