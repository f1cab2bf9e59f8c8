//! `lowtide check`: checks a scenario without running it, or the hashes of a run directory.

use std::path::Path;

use lowtide_lab::{PlanCheck, ResourceLimits, TierCheck, admit, default_dir, format_bytes, verify};
use lowtide_scenario::HOPS_PER_SECOND;
use serde::Serialize;

use crate::args::{CheckArgs, ScenarioArgs};
use crate::cmd::scenario;
use crate::error::CommandError;
use crate::machine;
use crate::output::Output;

fn tier_text(tier: &TierCheck) -> Option<String> {
    let load = tier.offered_load.map(|load| format!("offered load {:.0} %", load * 100.0));
    let over = tier.oversubscription.map(|over| format!("oversubscription {over:.1}:1"));
    let facts: Vec<String> = load.into_iter().chain(over).collect();
    (!facts.is_empty()).then(|| format!("\n{}: {}", tier.name, facts.join(", ")))
}

pub(crate) fn check(args: &CheckArgs, out: Output) -> Result<(), CommandError> {
    let name = Path::new(&args.scenario.scenario);
    if name.is_dir() {
        return directory(name, &args.scenario, out);
    }
    let scenario = scenario(&args.scenario)?;
    let plan = scenario.expand()?;
    let dir = args.out.clone().unwrap_or_else(|| default_dir(&plan));
    let limits = ResourceLimits {
        memory: args.memory.limit(),
        disk: machine::free_disk(&dir),
        ..ResourceLimits::default()
    };
    let cost =
        admit(&plan, &limits).map_err(|e| CommandError::TooLarge(e).located_in(&scenario))?;
    let checked = PlanCheck::new(&plan, &cost)?;
    for warning in checked.warnings() {
        out.note(&format!("warning: {warning}"));
    }
    if out.json {
        return out.answer("lowtide.check/1", &checked);
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
    if let Some(refused) = damage.iter().find(|damage| damage.is_refusal()) {
        return Err(CommandError::Usage(refused.to_string(), None));
    }
    let damaged: Vec<String> = damage.iter().map(ToString::to_string).collect();
    if out.json {
        let dir = dir.display().to_string();
        let body = DirectoryCheck { dir, files, damaged: damaged.clone() };
        out.answer("lowtide.directory/1", &body)?;
    } else if damaged.is_empty() {
        out.text(&format!("{}: fine, {files} files are as they were written", dir.display()))?;
    }
    if damaged.is_empty() { Ok(()) } else { Err(CommandError::Run(damaged.join("\n"))) }
}
