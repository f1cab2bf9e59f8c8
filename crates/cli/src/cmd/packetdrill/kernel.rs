//! `lowtide packetdrill --against kernel`: several scripts at a time, reported in order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use lowtide_packetdrill::run::RunOptions;
use lowtide_packetdrill::script::Script;
use lowtide_testbed::scripts::{self, KernelRun, LIMIT, ScriptRunError};
use lowtide_units::Duration;

use super::{Ran, read};
use crate::args::PacketdrillArgs;
use crate::error::CommandError;
use crate::output::Output;

/// Name of the running kernel.
pub(super) fn name() -> String {
    scripts::kernel()
}

/// Runs the scripts and passes each result to `report`, in order.
pub(super) fn run(
    args: &PacketdrillArgs,
    paths: &[PathBuf],
    out: Output,
    mut report: impl FnMut(&str, Ran) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let tolerance = args.tolerance_usecs.unwrap_or(4000);
    let options = RunOptions {
        so_flags: args.so_flags.clone(),
        profile: Some(args.profile.clone().unwrap_or_else(|| "linux".to_owned())),
        tolerance: Some(Duration::from_us(u64::from(tolerance))),
    };
    out.note(&format!(
        "against {}: tolerance {tolerance} us, or 12.5 % of the time since the event before",
        name(),
    ));
    let leave_out = args.profile.is_some();
    let next = AtomicUsize::new(0);
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            let (sender, next, options) = (sender.clone(), &next, &options);
            scope.spawn(move || {
                while let Some((at, path)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    paths.get(at).map(|path| (at, path))
                } {
                    // An error of the caller ends the channel, and the work.
                    if sender.send((at, run_one(path, options, leave_out))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut due = 0;
        for (at, result) in results {
            waiting.insert(at, result);
            while let Some(result) = waiting.remove(&due) {
                if let Some(path) = paths.get(due) {
                    report(&path.display().to_string(), result?)?;
                }
                due += 1;
            }
        }
        Ok(())
    })
}

fn run_one(path: &Path, options: &RunOptions, leave_out: bool) -> Result<Ran, CommandError> {
    let name = path.display().to_string();
    let script = match Script::parse(&name, &read(path)?) {
        Ok(script) => script,
        Err(error) => return Ok(Ran::Refused(error)),
    };
    match scripts::run(&script, options, leave_out) {
        Ok(KernelRun::Ran(report)) => Ok(Ran::Report(*report)),
        Ok(KernelRun::Refused(needs)) => {
            let reason = format!("needs {needs}, which {} lacks", self::name());
            Ok(Ran::NotJudged("lacking", reason))
        }
        Ok(KernelRun::TooLong(lasts)) => {
            let reason = format!("lasts {lasts} of real time, longer than {LIMIT}");
            Ok(Ran::NotJudged("too-long", reason))
        }
        Err(ScriptRunError::Script(error)) => Ok(Ran::Refused(error)),
        Err(ScriptRunError::Live(error)) => Err(CommandError::Run(error.to_string())),
    }
}
