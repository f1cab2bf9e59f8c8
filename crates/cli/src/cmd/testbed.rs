//! `lowtide testbed`.

use std::sync::atomic::Ordering;

use lowtide_bottleneck::BottleneckReport;
use lowtide_testbed::persistent::{
    PersistentBackend, PersistentError, PersistentTestbed, TestbedPaths, down,
};
use serde::Serialize;

use super::run::run_by;
use super::scenario;
use crate::args::{
    BackendArg, RealArgs, TestbedCommand, TestbedDirArgs, TestbedRunArgs, TestbedUpArgs,
};
use crate::error::CommandError;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;

pub(crate) fn testbed(command: &TestbedCommand, out: Output) -> Result<(), CommandError> {
    match command {
        TestbedCommand::Up(args) => up(args, out),
        TestbedCommand::Run(args) => run(args, out),
        TestbedCommand::Down(args) => take_down(args, out),
    }
}

impl TestbedDirArgs {
    fn places(&self) -> TestbedPaths {
        self.below.as_deref().map_or_else(TestbedPaths::default, TestbedPaths::below)
    }
}

fn failed(error: PersistentError) -> CommandError {
    match error {
        PersistentError::AlreadyUp(_)
        | PersistentError::NotUp
        | PersistentError::ForeignNetns(_)
        | PersistentError::InvalidName(_) => CommandError::Usage(error.to_string(), None),
        other => CommandError::Run(other.to_string()),
    }
}

#[derive(Serialize)]
struct HostEntry {
    host: String,
    namespace: String,
    address: String,
}

#[derive(Serialize)]
struct TestbedUpOutput {
    pid: u32,
    hosts: Vec<HostEntry>,
    removed: Vec<String>,
    differences: Vec<String>,
}

fn up(args: &TestbedUpArgs, out: Output) -> Result<(), CommandError> {
    let plan = scenario(&args.scenario)?.expand()?;
    let Some(first) = plan.runs.first() else { return Ok(()) };
    watch_for_interrupt()?;
    let kind = super::backend::bottleneck(args.bottleneck);
    let mut up = PersistentTestbed::make(&first.setup()?, &plan.name, kind, &args.place.places())
        .map_err(failed)?;
    let entry = |(host, namespace, address): &(String, String, std::net::Ipv4Addr)| HostEntry {
        host: host.clone(),
        namespace: namespace.clone(),
        address: address.to_string(),
    };
    let hosts: Vec<HostEntry> = up.hosts().iter().map(entry).collect();
    if out.json {
        let (removed, differences) = (up.removed.clone(), up.differences.clone());
        let pid = std::process::id();
        let body = TestbedUpOutput { pid, hosts, removed, differences };
        out.answer("lowtide.testbed/1", &body)?;
    } else {
        for name in &up.removed {
            out.note(&format!("removed `{name}`, left behind by an earlier testbed"));
        }
        for difference in &up.differences {
            out.note(&format!("- {difference}"));
        }
        let rows = hosts.into_iter().map(|h| vec![h.host, h.namespace, h.address]);
        out.table(&["host", "namespace", "address"], &[], &rows.collect::<Vec<_>>())?;
        out.text(&format!(
            "the testbed of `{}` is up; Ctrl-C or `lowtide testbed down` ends it\n\
             `ip netns exec lowtide-HOST COMMAND` runs a program on a host",
            plan.name
        ))?;
    }
    let why = up.serve(&|| STOP.load(Ordering::Relaxed));
    let report = up.down().map_err(failed)?;
    if !out.json {
        show(&report, out)?;
    }
    why.map_or(Ok(()), |why| Err(CommandError::Run(why)))
}

/// Prints the queues of the switches.
fn show(report: &BottleneckReport, out: Output) -> Result<(), CommandError> {
    let ports = report.ports.iter().filter(|p| p.at_switch && p.served.packets > 0);
    let rows = ports.map(|p| {
        let (s, length) = (&p.served, p.length());
        let mean = length.mean_packets.unwrap_or_default();
        let mut row = vec![p.name.clone(), s.packets.to_string(), format!("{mean:.1}")];
        row.extend([
            length.max_packets.unwrap_or_default().to_string(),
            s.marks.to_string(),
            p.drops().to_string(),
        ]);
        row
    });
    let head = ["queue", "packets", "mean", "longest", "marks", "drops"];
    out.table(&head, &[1, 2, 3, 4, 5], &rows.collect::<Vec<_>>())?;
    for warning in report.warnings() {
        out.note(&warning);
    }
    Ok(())
}

fn run(args: &TestbedRunArgs, out: Output) -> Result<(), CommandError> {
    let TestbedRunArgs { run, place } = args;
    if run.real.tries.is_some() {
        let message = "`--tries` needs `lowtide run --backend live` or `kernel`".to_owned();
        return Err(CommandError::Usage(message, None));
    }
    if run.real.bottleneck.is_some() {
        let message = "`--bottleneck` is an option of `lowtide testbed up`".to_owned();
        return Err(CommandError::Usage(message, None));
    }
    let plain = RealArgs { kernel_cc: run.real.kernel_cc.clone(), ..RealArgs::default() };
    if run.backend != BackendArg::Sim || run.real != plain {
        let message = "in a testbed that is up all hosts have the kernel's TCP".to_owned();
        let help = "`lowtide run --backend live` or `kernel` creates its own hosts".to_owned();
        return Err(CommandError::Usage(message, Some(help)));
    }
    let controls = super::backend::controls(&run.real)?;
    let backend = PersistentBackend::new(place.places(), controls);
    run_by(run, Some(&backend), out)
}

#[derive(Serialize)]
struct TestbedDownOutput {
    ended: Option<u32>,
    removed: Vec<String>,
}

fn take_down(args: &TestbedDirArgs, out: Output) -> Result<(), CommandError> {
    let done = down(&args.places()).map_err(failed)?;
    if out.json {
        let body = TestbedDownOutput { ended: done.ended, removed: done.removed };
        return out.answer("lowtide.testbed-down/1", &body);
    }
    match done.ended {
        Some(pid) => out.text(&format!("the testbed of process {pid} is down"))?,
        None if done.removed.is_empty() => out.text("no testbed was up; nothing to remove")?,
        None => out.text(&format!("removed remains: {}", done.removed.join(", ")))?,
    }
    Ok(())
}
