//! `lowtide testbed`.

use std::sync::atomic::Ordering;

use lowtide_bottleneck::Report;
use lowtide_testbed::named::{NamedError, Places, Standing, Up, down};
use lowtide_uml::guest;
use serde::Serialize;

use super::run::run_by;
use super::scenario;
use super::uml::uml;
use crate::args::{BackendArg, PlaceArgs, RealArgs, TestbedCommand, TestbedRunArgs, UpArgs};
use crate::failure::Failure;
use crate::interrupt::{STOP, watch_for_interrupt};
use crate::output::Output;

pub(crate) fn testbed(what: &TestbedCommand, out: Output) -> Result<(), Failure> {
    match what {
        TestbedCommand::Up(args) => up(args, out),
        TestbedCommand::Run(args) => run(args, out),
        TestbedCommand::Down(args) => take_down(args, out),
        TestbedCommand::Uml(args) => uml(args, out),
        TestbedCommand::UmlGuest { folder } => guest::main(folder),
    }
}

impl PlaceArgs {
    fn places(&self) -> Places {
        self.below.as_deref().map_or_else(Places::default, Places::below)
    }
}

fn failed(error: NamedError) -> Failure {
    match error {
        NamedError::Up(_) | NamedError::NotUp | NamedError::NotOurs(_) | NamedError::Name(_) => {
            Failure::Usage(error.to_string(), None)
        }
        other => Failure::Run(other.to_string()),
    }
}

#[derive(Serialize)]
struct HostEntry {
    host: String,
    namespace: String,
    address: String,
}

#[derive(Serialize)]
struct UpAnswer {
    schema: &'static str,
    version: &'static str,
    pid: u32,
    hosts: Vec<HostEntry>,
    removed: Vec<String>,
    differences: Vec<String>,
}

fn up(args: &UpArgs, out: Output) -> Result<(), Failure> {
    let plan = scenario(&args.scenario)?.expand()?;
    let Some(first) = plan.runs.first() else { return Ok(()) };
    watch_for_interrupt()?;
    let up = Up::make(&first.setup()?, &plan.name, &args.place.places()).map_err(failed)?;
    let entry = |(host, namespace, address): &(String, String, std::net::Ipv4Addr)| HostEntry {
        host: host.clone(),
        namespace: namespace.clone(),
        address: address.to_string(),
    };
    let hosts: Vec<HostEntry> = up.hosts().iter().map(entry).collect();
    if out.json {
        let (schema, version) = ("lowtide.testbed/1", env!("CARGO_PKG_VERSION"));
        let (removed, differences) = (up.removed.clone(), up.differences.clone());
        let pid = std::process::id();
        out.json(&UpAnswer { schema, version, pid, hosts, removed, differences })?;
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
            "up with the network of `{}`; Ctrl-C or `lowtide testbed down` ends it\n\
             `ip netns exec lowtide-HOST COMMAND` runs a program at a host",
            plan.name
        ))?;
    }
    let why = up.keep(&|| STOP.load(Ordering::Relaxed));
    let report = up.down().map_err(failed)?;
    if let Some(report) = report.filter(|_| !out.json) {
        show(&report, out)?;
    }
    why.map_or(Ok(()), |why| Err(Failure::Run(why)))
}

/// What the switches have seen.
fn show(report: &Report, out: Output) -> Result<(), Failure> {
    let ports = report.ports.iter().filter(|p| p.at_switch && p.stats.packets > 0);
    let rows = ports.map(|p| {
        let s = &p.stats;
        let mut row = vec![p.name.clone(), s.packets.to_string(), format!("{:.1}", p.queue_mean())];
        row.extend([p.queue_max().to_string(), s.marks.to_string(), s.drops.to_string()]);
        row
    });
    let head = ["queue", "packets", "mean", "longest", "marks", "drops"];
    out.table(&head, &[1, 2, 3, 4, 5], &rows.collect::<Vec<_>>())?;
    for complaint in report.complaints() {
        out.note(&complaint);
    }
    Ok(())
}

fn run(args: &TestbedRunArgs, out: Output) -> Result<(), Failure> {
    let TestbedRunArgs { run, place } = args;
    if run.real.tries.is_some() {
        let message = "`--tries` goes with `lowtide run --backend live` or `kernel`".to_owned();
        return Err(Failure::Usage(message, None));
    }
    let plain = RealArgs { kernel_cc: run.real.kernel_cc.clone(), ..RealArgs::default() };
    if run.backend != BackendArg::Sim || run.real != plain {
        let message = "in a testbed that is up all hosts have the kernel's TCP".to_owned();
        let help = "`lowtide run --backend live` or `kernel` makes hosts of its own".to_owned();
        return Err(Failure::Usage(message, Some(help)));
    }
    let controls = super::backend::controls(&run.real)?;
    let standing = Standing::new(place.places(), controls);
    run_by(run, Some(&standing), out)
}

#[derive(Serialize)]
struct DownAnswer {
    schema: &'static str,
    version: &'static str,
    ended: Option<u32>,
    removed: Vec<String>,
}

fn take_down(args: &PlaceArgs, out: Output) -> Result<(), Failure> {
    let done = down(&args.places()).map_err(failed)?;
    if out.json {
        let (schema, version) = ("lowtide.testbed-down/1", env!("CARGO_PKG_VERSION"));
        return out.json(&DownAnswer { schema, version, ended: done.ended, removed: done.removed });
    }
    match done.ended {
        Some(pid) => out.text(&format!("the testbed of process {pid} is down"))?,
        None if done.removed.is_empty() => out.text("no testbed was up, and nothing was left")?,
        None => out.text(&format!("removed what was left: {}", done.removed.join(", ")))?,
    }
    Ok(())
}
