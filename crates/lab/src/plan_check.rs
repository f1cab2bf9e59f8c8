//! Facts about a plan before its first run: size, cost, offered load.

use lowtide_scenario::{Estimate, RunPlan, ScenarioErrors};
use serde::Serialize;

use crate::delay_target;
use crate::offered_load::{HIGH_LOAD, TierLoad, offered_load};
use crate::transports::planned_label;

/// Points whose traffic is drawn to compute the load.
const MAX_POINTS: usize = 64;

/// Facts about a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlanCheck {
    /// Name of the scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Hash of all runs without their seeds.
    pub scenario_hash: String,
    /// Compared schemes.
    pub schemes: Vec<String>,
    /// Their labels.
    pub labels: Vec<String>,
    /// Number of points of the sweep.
    pub points: usize,
    /// Number of runs.
    pub runs: u64,
    /// Hosts of a run.
    pub hosts: u64,
    /// Flows of a run.
    pub flows: u64,
    /// Packet-hops of all runs, estimated.
    pub packet_hops: u64,
    /// Longest simulated time of all runs together, seconds.
    pub simulated_s: f64,
    /// Estimated CPU time, seconds.
    pub cpu_s: f64,
    /// Estimated memory of a run, MB.
    pub memory_mb: f64,
    /// Estimated size of the tables, MB.
    pub disk_mb: f64,
    /// Tiers of the network, the lowest first.
    pub tiers: Vec<TierCheck>,
}

/// Links between two levels of the network or within one, at the point with the highest load.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TierCheck {
    /// Names of the nodes at both ends.
    pub name: String,
    /// Payload of transfers and answers as a share of the lines; null if they have no rate.
    pub offered_load: Option<f64>,
    /// Lines from below over lines upwards; null at hosts and within a level.
    pub oversubscription: Option<f64>,
}

impl PlanCheck {
    /// Returns the facts about `plan`, whose estimate is `cost`.
    ///
    /// # Errors
    /// A run cannot be set up, or a delay target is below a base round trip.
    pub fn new(plan: &RunPlan, cost: &Estimate) -> Result<Self, ScenarioErrors> {
        delay_target::check(plan)?;
        let label = |scheme: &String| planned_label(scheme, &plan.replaced);
        Ok(Self {
            scenario: plan.name.clone(),
            title: plan.title.clone(),
            scenario_hash: plan.hash.clone(),
            schemes: plan.schemes.clone(),
            labels: plan.schemes.iter().map(label).collect(),
            points: plan.points.len(),
            runs: cost.runs,
            hosts: cost.hosts,
            flows: cost.flows,
            packet_hops: cost.hops,
            simulated_s: cost.simulated.as_secs_f64(),
            cpu_s: cost.wall.as_secs_f64(),
            memory_mb: cost.memory.as_u64() as f64 / 1e6,
            disk_mb: cost.disk.as_u64() as f64 / 1e6,
            tiers: tiers(plan)?,
        })
    }

    /// Returns a warning for each tier with a high load.
    pub fn warnings(&self) -> Vec<String> {
        let high = |tier: &TierCheck| tier.offered_load.filter(|load| *load >= HIGH_LOAD);
        let warning = |tier: &TierCheck| high(tier).map(|load| warning(&tier.name, load));
        self.tiers.iter().filter_map(warning).collect()
    }
}

fn warning(tier: &str, load: f64) -> String {
    let effect = if load > 1.0 {
        "which its lines cannot carry: flows pile up until the arrivals end"
    } else {
        "with headers the lines are nearly full: queues depend on the length of the run"
    };
    format!(
        "the traffic offers {:.0} % of the lines {tier}, {effect}; below {:.0} % is right: \
         a lower `load`, longer gaps, fewer flows or faster lines",
        load * 100.0,
        HIGH_LOAD * 100.0,
    )
}

/// Returns the tiers at the point with the highest load.
fn tiers(plan: &RunPlan) -> Result<Vec<TierCheck>, ScenarioErrors> {
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
        TierCheck { name, offered_load: load, oversubscription }
    };
    Ok(most.1.into_iter().map(tier).collect())
}
