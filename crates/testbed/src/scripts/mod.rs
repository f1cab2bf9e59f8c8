//! packetdrill scripts on the kernel's own sockets.
//!
//! Contract: each run has its own network namespace, without a name, which ends with the run.
//! The interpreter is that of `lowtide packetdrill`. A need that the kernel
//! lacks is named, never skipped.

mod blocked_call;
mod calls;
mod host;
mod info;
mod settings;

use lowtide_live::LiveError;
use lowtide_live::netns::{self, Namespace};
use lowtide_packetdrill::run::{self, RunOptions, ScriptReport, Setup};
use lowtide_packetdrill::script::{Script, ScriptError};
use lowtide_units::Duration;
use thiserror::Error;

use crate::hosts::set_realtime_priority;
use crate::kernel::release::release;
use host::KernelHost;
use settings::KernelSettings;

/// Longest run of a script.
pub const LIMIT: Duration = Duration::from_secs(200);
/// Runs of a script that failed while this process was late.
const ATTEMPTS: u32 = 3;
/// Lateness that can make a script fail: a quarter of packetdrill's tolerance.
const LATE: Duration = Duration::from_ms(1);

/// A script on the kernel.
#[derive(Debug)]
pub enum KernelRun {
    /// It ran to its end or to its first failure.
    Ran(Box<ScriptReport>),
    /// It needs this, which the kernel lacks.
    Refused(String),
    /// It lasts longer than [`LIMIT`].
    TooLong(Duration),
}

/// Why a script cannot be run.
#[derive(Debug, Error)]
pub enum ScriptRunError {
    /// The script is invalid.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// No namespace, or no TUN interface.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// Release of the running kernel, as messages name it: `Linux 6.18`.
pub fn kernel() -> String {
    let release = release();
    let short: Vec<&str> = release.split('.').take(2).collect();
    format!("Linux {}", short.join("."))
}

/// Runs a script. `leave_out`: settings that the kernel cannot be told are left out.
///
/// # Errors
/// The script is invalid, or a right is missing.
pub fn run(
    script: &Script,
    options: &RunOptions,
    leave_out: bool,
) -> Result<KernelRun, ScriptRunError> {
    let setup = Setup::read(script, options)?;
    let lasts = script.duration();
    let mut attempt = 1;
    loop {
        let settings = match KernelSettings::of(script, &setup, leave_out) {
            Ok(settings) => settings,
            Err(needs) => return Ok(KernelRun::Refused(needs)),
        };
        if lasts > LIMIT {
            return Ok(KernelRun::TooLong(lasts));
        }
        let (run, late) = Namespace::new()?.run(|| run_here(script, &setup, settings))??;
        let failed = matches!(&run, KernelRun::Ran(report) if !report.passed());
        if !failed || late < LATE || attempt == ATTEMPTS {
            return Ok(run);
        }
        attempt += 1;
    }
}

/// Runs a script in the namespace of this thread. Returns how late it was, at most.
fn run_here(
    script: &Script,
    setup: &Setup,
    settings: KernelSettings,
) -> Result<(KernelRun, Duration), ScriptRunError> {
    // A refusal only makes the times less exact, which the lateness shows.
    let _ = set_realtime_priority();
    for (name, value) in &settings.sysctls {
        let refused = |e: &LiveError| matches!(e, LiveError::System { .. });
        match netns::set_sysctl(&format!("ipv4.{name}"), value) {
            Err(error) if refused(&error) => {
                let needs = format!("`net.ipv4.{name} = {value}`");
                return Ok((KernelRun::Refused(needs), Duration::ZERO));
            }
            set => set?,
        }
    }
    let available = netns::sysctl("ipv4.tcp_available_congestion_control")?;
    if !available.split_whitespace().any(|name| name == settings.cc) {
        let needs = format!("the congestion control `{}`", settings.cc);
        return Ok((KernelRun::Refused(needs), Duration::ZERO));
    }
    let mut host = KernelHost::open(setup, settings, LIMIT)?;
    let report = run::run_on(script, setup.clone(), &mut host)?;
    Ok((KernelRun::Ran(Box::new(report)), host.late))
}
