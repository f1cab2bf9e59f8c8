//! `lowtide check`: checks a scenario without running it, or the hashes of a run directory.

use std::path::Path;

use lowtide_lab::{
    HIGH_LOAD, ResourceLimits, TierLoad, admit, default_dir, format_bytes, offered_load,
    planned_label, verify,
};
use lowtide_scenario::{HOPS_PER_SECOND, RunPlan};
use serde::Serialize;

use crate::args::{CheckArgs, ScenarioArgs};
use crate::cmd::scenario;
use crate::error::CommandError;
use crate::machine;
use crate::output::Output;

#[derive(Serialize)]
struct CheckOutput {
    schema: &'static str,
    version: &'static str,
    scenario: String,
    title: String,
    scenario_hash: String,
    schemes: Vec<String>,
    labels: Vec<String>,
    points: usize,
    runs: u64,
    hosts: u64,
    flows: u64,
    packet_hops: u64,
    simulated_s: f64,
    cpu_s: f64,
    memory_mb: f64,
    disk_mb: f64,
    tiers: Vec<Tier>,
}

/// Links between two levels of the network or within one, at the point with the highest load.
#[derive(Serialize)]
struct Tier {
    name: String,
    /// Payload of transfers and answers as a share of the lines; null if they have no rate.
    offered_load: Option<f64>,
    /// Lines from below over lines upwards; null at hosts and within a level.
    oversubscription: Option<f64>,
}

/// Points whose traffic is drawn to compute the load.
const MAX_POINTS: usize = 64;

/// Returns the tiers at the point with the highest load.
fn tiers(plan: &RunPlan) -> Result<Vec<Tier>, CommandError> {
    let scheme = plan.runs.first().map(|run| &run.scheme);
    let mut runs: Vec<_> = plan.runs.iter().filter(|run| Some(&run.scheme) == scheme).collect();
    runs.dedup_by(|a, b| a.point == b.point);
    let mut most: (f64, Vec<TierLoad>) = (-1.0, Vec::new());
    for run in runs.into_iter().take(MAX_POINTS) {
        let tiers = offered_load(&run.setup()?);
        let load = tiers.iter().filter_map(|tier| tier.load).fold(0.0, f64::max);
        if load > most.0 {
            most = (load, tiers);
        }
    }
    let tier = |t: TierLoad| {
        let TierLoad { name, load, oversubscription } = t;
        Tier { name, offered_load: load, oversubscription }
    };
    Ok(most.1.into_iter().map(tier).collect())
}

fn tier_text(tier: &Tier) -> Option<String> {
    let load = tier.offered_load.map(|load| format!("offered load {:.0} %", load * 100.0));
    let over = tier.oversubscription.map(|over| format!("oversubscription {over:.1}:1"));
    let facts: Vec<String> = load.into_iter().chain(over).collect();
    (!facts.is_empty()).then(|| format!("\n{}: {}", tier.name, facts.join(", ")))
}

/// Warns about tiers with a high load.
fn warn(tiers: &[Tier], out: Output) {
    for tier in tiers {
        let Some(load) = tier.offered_load.filter(|load| *load >= HIGH_LOAD) else { continue };
        let effect = if load > 1.0 {
            "which its lines cannot carry: flows pile up until the arrivals end"
        } else {
            "with headers the lines are nearly full: queues depend on the length of the run"
        };
        out.note(&format!(
            "warning: the traffic offers {:.0} % of the lines {}, {effect}; below {:.0} % is right: \
             a lower `load`, longer gaps, fewer flows or faster lines",
            load * 100.0,
            tier.name,
            HIGH_LOAD * 100.0,
        ));
    }
}

pub(crate) fn check(args: &CheckArgs, out: Output) -> Result<(), CommandError> {
    let name = Path::new(&args.scenario.scenario);
    if name.is_dir() {
        return directory(name, &args.scenario, out);
    }
    let scenario = scenario(&args.scenario)?;
    let plan = super::expand(&scenario, out)?;
    let dir = args.out.clone().unwrap_or_else(|| default_dir(&plan));
    let limits = ResourceLimits {
        memory: args.memory.limit(),
        disk: machine::free_disk(&dir),
        ..ResourceLimits::default()
    };
    let cost =
        admit(&plan, &limits).map_err(|e| CommandError::TooLarge(e).located_in(&scenario))?;
    let tiers = tiers(&plan)?;
    warn(&tiers, out);
    let label = |scheme: &String| planned_label(scheme, &plan.replaced);
    let labels: Vec<String> = plan.schemes.iter().map(label).collect();
    let checked = CheckOutput {
        labels,
        schema: "lowtide.check/1",
        version: env!("CARGO_PKG_VERSION"),
        scenario: plan.name,
        title: plan.title,
        scenario_hash: plan.hash,
        schemes: plan.schemes,
        points: plan.points.len(),
        runs: cost.runs,
        hosts: cost.hosts,
        flows: cost.flows,
        packet_hops: cost.hops,
        simulated_s: cost.simulated.as_secs_f64(),
        cpu_s: cost.wall.as_secs_f64(),
        memory_mb: cost.memory.as_u64() as f64 / 1e6,
        disk_mb: cost.disk.as_u64() as f64 / 1e6,
        tiers,
    };
    if out.json {
        return out.json(&checked);
    }
    let millions = HOPS_PER_SECOND / 1_000_000;
    out.text(&format!(
        "{}: {}\n\
         fine: {} schemes ({}) x {} points, {} runs\n\
         each run: {} hosts, {} flows, about {} of memory\n\
         all runs: about {:.1} million packet-hops, {:.1} s simulated at most, \
         {:.1} s of one core at {millions} million packet-hops per second, about {} on disk{}",
        checked.scenario,
        checked.title,
        checked.schemes.len(),
        checked.labels.join(", "),
        checked.points,
        checked.runs,
        checked.hosts,
        checked.flows,
        format_bytes(cost.memory.as_u64()),
        checked.packet_hops as f64 / 1e6,
        checked.simulated_s,
        checked.cpu_s,
        format_bytes(cost.disk.as_u64()),
        checked.tiers.iter().filter_map(tier_text).collect::<String>(),
    ))
}

#[derive(Serialize)]
struct DirectoryCheck {
    schema: &'static str,
    version: &'static str,
    dir: String,
    files: usize,
    damaged: Vec<String>,
}

/// Verifies every file of a run directory against its hash.
fn directory(dir: &Path, args: &ScenarioArgs, out: Output) -> Result<(), CommandError> {
    if !args.set.is_empty() || !args.over.is_empty() || args.seeds.is_some() {
        return Err(CommandError::Usage(
            format!("`{}` is a directory of results, whose keys cannot be set", dir.display()),
            Some("name a scenario to set keys".to_owned()),
        ));
    }
    let (files, damage) = verify(dir)?;
    let damaged: Vec<String> = damage.iter().map(ToString::to_string).collect();
    if out.json {
        let (schema, version) = ("lowtide.directory/1", env!("CARGO_PKG_VERSION"));
        let dir = dir.display().to_string();
        out.json(&DirectoryCheck { schema, version, dir, files, damaged: damaged.clone() })?;
    } else if damaged.is_empty() {
        out.text(&format!("{}: fine, {files} files are as they were written", dir.display()))?;
    }
    if damaged.is_empty() { Ok(()) } else { Err(CommandError::Run(damaged.join("\n"))) }
}
