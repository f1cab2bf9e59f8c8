//! Selects a loaded twin for the sockets of cgroups, of routes, or of a network namespace.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use libbpf_rs::Link;
use libbpf_rs::query::LinkTypeInfo;
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
    kernel::check("selecting a BPF congestion control")?;
    let _lock = bpffs::lock()?;
    if !kernel::is_registered(twin.name)? {
        return Err(KernelError::NotLoaded(twin.name.to_owned()));
    }
    select_locked(twin, selections)
}

/// As [`select`], for a twin that is registered, by a caller that has locked the pins.
pub(super) fn select_locked(
    twin: &'static Twin,
    selections: &Selections,
) -> Result<(), KernelError> {
    let mut done = Vec::new();
    each(twin, selections, &mut done).inspect_err(|_| {
        // The error that is reported is the first one.
        done.into_iter().rev().for_each(|done| drop(done.undo()));
    })
}

/// A selection that was made, with what was there before.
enum Done {
    Cgroup { pin: PathBuf, before: Option<Link> },
    Route(Route),
    Default(String),
}

impl Done {
    fn undo(self) -> Result<(), KernelError> {
        match self {
            Self::Cgroup { pin, before } => {
                fs::remove_file(&pin).map_err(|e| KernelError::io(&pin, e))?;
                let repin = |mut link: Link| link.pin(&pin);
                before.map_or(Ok(()), repin).map_err(|e| objects::refused("select", &e))
            }
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
        done.push(attach(twin, cgroup, selections.delack_max)?);
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

/// Returns whether a pinned selection is attached. The kernel detaches it when its cgroup is
/// removed; a cgroup that is made again at the same path is another one.
pub(super) fn is_attached(pin: &Path) -> bool {
    let info = Link::open(pin).and_then(|link| link.info());
    info.is_ok_and(|info| match info.info {
        LinkTypeInfo::Cgroup(cgroup) => cgroup.cgroup_id != 0,
        _ => false,
    })
}

/// Attaches the selection to a cgroup, in place of one for the same twin.
fn attach(
    twin: &'static Twin,
    cgroup: &Path,
    delack_max: Option<Duration>,
) -> Result<Done, KernelError> {
    if !cgroup.exists() {
        return Err(KernelError::NoCgroup(cgroup.to_owned()));
    }
    if !is_cgroup2(cgroup) {
        return Err(KernelError::NotCgroup2(cgroup.to_owned()));
    }
    let cgroup = cgroup.canonicalize().map_err(|e| KernelError::io(cgroup, e))?;
    let pins = bpffs::folder_or_mount()?;
    let name = format!("{CGROUP}{}", bpffs::pin_name(&cgroup));
    let others = TWINS.iter().filter(|other| other.name != twin.name);
    if let Some(by) =
        others.into_iter().find(|other| is_attached(&pins.join(other.name).join(&name)))
    {
        return Err(KernelError::AlreadySelected { cgroup, by: by.name });
    }
    let file = File::open(&cgroup).map_err(|e| KernelError::io(&cgroup, e))?;
    let object = objects::open("select", objects::SELECT, Some(&encode(twin, delack_max)), false)?;
    let refused = |error: libbpf_rs::Error| objects::refused("select", &error);
    let program = object.progs_mut().next().ok_or(KernelError::NotBuilt)?;
    let mut link = program.attach_cgroup(file.as_raw_fd()).map_err(refused)?;
    let pin = pins.join(twin.name).join(name);
    let mut before = pin.exists().then(|| Link::open(&pin)).transpose().map_err(refused)?;
    if let Some(before) = &mut before {
        before.unpin().map_err(refused)?;
    }
    link.pin(&pin).map_err(refused)?;
    Ok(Done::Cgroup { pin, before })
}

/// Returns `struct lt_selection` of `kernel/select.bpf.c`.
fn encode(twin: &Twin, delack_max: Option<Duration>) -> [u8; 20] {
    let mut out = [0; 20];
    out[..twin.name.len()].copy_from_slice(twin.name.as_bytes());
    let delack = delack_max.map_or(0, |delay| delay.as_us() as u32);
    out[16..].copy_from_slice(&delack.to_ne_bytes());
    out
}
