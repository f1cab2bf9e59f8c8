//! `lowtide check`: everything that can be said without running.

use lowtide_lab::planned_label;
use lowtide_scenario::{Estimate, HOPS_PER_SECOND};
use serde::Serialize;

use crate::args::ScenarioArgs;
use crate::cmd::scenario;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct Checked {
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
}

pub(crate) fn check(args: &ScenarioArgs, out: Output) -> Result<(), Failure> {
    let plan = scenario(args)?.expand()?;
    let cost: Estimate = plan.estimate();
    let label = |scheme: &String| planned_label(scheme, &plan.replaced);
    let labels: Vec<String> = plan.schemes.iter().map(label).collect();
    let checked = Checked {
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
    };
    if out.json {
        return out.json(&checked);
    }
    let millions = HOPS_PER_SECOND / 1_000_000;
    out.text(&format!(
        "{}: {}\n\
         fine: {} schemes ({}) x {} points, {} runs\n\
         each run: {} hosts, {} flows, about {:.1} MB of memory\n\
         all runs: about {:.1} million packet-hops, {:.1} s simulated at most, {:.1} s of one core at {millions} million packet-hops a second",
        checked.scenario,
        checked.title,
        checked.schemes.len(),
        checked.labels.join(", "),
        checked.points,
        checked.runs,
        checked.hosts,
        checked.flows,
        checked.memory_mb,
        checked.packet_hops as f64 / 1e6,
        checked.simulated_s,
        checked.cpu_s,
    ))
}
