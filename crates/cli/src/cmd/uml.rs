//! `lowtide testbed uml`: a command of ours inside User Mode Linux.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lowtide_uml::{Kernel, Machine, NETWORK, UmlError, Word};

use super::run::{STOP, watch_for_interrupt};
use crate::args::UmlArgs;
use crate::failure::Failure;
use crate::output::Output;

fn failed(error: &UmlError) -> Failure {
    match error {
        UmlError::Text(_) => Failure::Usage(error.to_string(), None),
        _ => Failure::Run(error.to_string()),
    }
}

fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|e| Failure::Run(format!("cannot find the current folder: {e}")))
}

pub(super) fn uml(args: &UmlArgs, out: Output) -> Result<(), Failure> {
    let kernel = match &args.kernel {
        None => Kernel::find(),
        Some(program) => Kernel::at(program),
    };
    let kernel = kernel.map_err(|e| failed(&e))?;
    let program = std::env::current_exe()
        .map_err(|e| Failure::Run(format!("cannot find this program: {e}")))?;
    let here = here()?;
    // A root that can be written would be all of the host.
    let current = (here != Path::new("/")).then_some(here);
    let machine = Machine {
        memory_mib: u32::try_from(args.memory.as_u64() >> 20).unwrap_or(u32::MAX),
        modules: NETWORK
            .iter()
            .map(|n| (*n).to_owned())
            .chain(args.module.iter().cloned())
            .collect(),
        writable: current.into_iter().chain(args.write.iter().cloned()).collect(),
        limit: Duration::from_micros(args.limit.as_us()),
        program,
        guest: ["testbed", "uml-guest"].map(str::to_owned).to_vec(),
        kernel,
    };
    watch_for_interrupt()?;
    let version = machine.kernel.version.clone();
    let ended = machine.run(&args.args, &STOP, &mut |Word::Booted(after)| {
        out.note(&format!("Linux {version} is up after {:.1} s", after.as_secs_f64()));
    });
    match ended.map_err(|e| failed(&e))?.status {
        0 => Ok(()),
        status => Err(Failure::Elsewhere(status)),
    }
}
