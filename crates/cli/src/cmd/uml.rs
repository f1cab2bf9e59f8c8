//! `lowtide testbed uml`: a lowtide command inside User Mode Linux.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lowtide_uml::{Kernel, Machine, MachineEvent, NETWORK_MODULES, UmlError};

use crate::args::UmlArgs;
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::invocation;
use crate::output::{Output, unwritable};

fn failed(error: UmlError) -> CommandError {
    match error {
        UmlError::Stdout(error) => unwritable(&error),
        UmlError::InvalidArg(_) => CommandError::Usage(error.to_string(), None),
        _ => CommandError::Run(error.to_string()),
    }
}

fn here() -> Result<PathBuf, CommandError> {
    std::env::current_dir()
        .map_err(|e| CommandError::Run(format!("cannot find the current folder: {e}")))
}

pub(super) fn uml(args: &UmlArgs, out: Output) -> Result<(), CommandError> {
    let wanted = MachineRequest {
        kernel: args.kernel.as_deref(),
        memory_mib: u32::try_from(args.memory.as_u64() >> 20).unwrap_or(u32::MAX),
        modules: &args.module,
        writable: &args.write,
        limit: Duration::from_micros(args.limit.as_us()),
    };
    boot(&wanted, &args.args, out)
}

/// Runs the current command again inside the machine, where it may write to `results`.
pub(super) fn rerun_inside(results: Option<&Path>, out: Output) -> Result<(), CommandError> {
    let mut writable = Vec::new();
    if let Some(parent) = results.and_then(Path::parent).filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)
            .map_err(|e| CommandError::unwritable("create", parent, &e))?;
        writable.push(parent.to_owned());
    }
    let wanted = MachineRequest {
        kernel: None,
        memory_mib: MEMORY_MIB,
        modules: &[],
        writable: &writable,
        limit: MAX_RUN_TIME,
    };
    boot(&wanted, &invocation::text_args(), out)
}

/// Memory of a machine that runs a scenario, MiB.
const MEMORY_MIB: u32 = 1024;
/// Time limit of a machine that runs a scenario.
const MAX_RUN_TIME: Duration = Duration::from_hours(24);

/// Settings of a machine to boot.
struct MachineRequest<'a> {
    kernel: Option<&'a Path>,
    memory_mib: u32,
    modules: &'a [String],
    writable: &'a [PathBuf],
    limit: Duration,
}

fn boot(wanted: &MachineRequest<'_>, args: &[String], out: Output) -> Result<(), CommandError> {
    let kernel = wanted.kernel.map_or_else(Kernel::find, Kernel::at).map_err(failed)?;
    let program = invocation::program()
        .map_err(|e| CommandError::Run(format!("cannot find this program: {e}")))?;
    let here = here()?;
    // A writable root would expose all files of the host.
    let current = (here != Path::new("/")).then_some(here);
    let networking = NETWORK_MODULES.iter().map(|n| (*n).to_owned());
    let machine = Machine {
        memory_mib: wanted.memory_mib,
        modules: networking.chain(wanted.modules.iter().cloned()).collect(),
        writable: current.into_iter().chain(wanted.writable.iter().cloned()).collect(),
        limit: wanted.limit,
        program,
        guest: ["testbed", "uml-guest"].map(str::to_owned).to_vec(),
        kernel,
    };
    watch_for_interrupt()?;
    let version = machine.kernel.version.clone();
    let ended = machine.run(args, &STOP, &mut |MachineEvent::Booted(after)| {
        out.note(&format!("Linux {version} is up after {:.1} s", after.as_secs_f64()));
    });
    match ended.map_err(failed)?.status {
        0 => Ok(()),
        status => Err(CommandError::ChildStatus(status)),
    }
}
