//! Partial deployment on any scenario: a share of its hosts moves from one scheme to another.
//!
//! Contract: the plan is a sweep of `deployment.share`, with equal arrivals and equally drawn hosts
//! at every share of a seed. Every share is compared with the share 0 by the same flows. Slowdowns
//! are those of flows with a size; answers of queries have no ideal time. Queries are compared by
//! their completion time and the class of the client, all flows by their goodput.

mod csv_files;
mod delivered;
mod figures;
mod flows;
mod goodput;
mod longest_queue;
mod outcome;
mod page;
mod queries;
mod result;
mod rows;
mod share_runs;
mod text;
mod timed_query;
mod who_pays;

use lowtide_lab::{CompletedExperiment, ExecuteOptions, LabError};
use lowtide_rows::DeploymentClass;
use lowtide_scenario::{PlanPart, RunPlan, RunSpec, Scenario};

use crate::endpoint_stack::EndpointStack;
use crate::request::{MatrixRequest, RolloutRequest};
use crate::run::run_and_report;
use crate::thresholds::RolloutThresholds;

pub use delivered::GoodputOf;
pub use flows::Effective;
pub use goodput::GoodputRow;
pub use longest_queue::LongestQueueRow;
pub use lowtide_scenario::{HostDraw, MovedSides};
pub use outcome::{Outcome, Percentiles};
pub(crate) use page::{charts, write_outputs};
pub use queries::QueryClassRow;
pub use result::{ConnectionRow, RolloutResult};
pub use rows::RolloutRow;
pub use text::{describe, tables};

/// The swept key of the plan.
const SHARE_KEY: &str = "deployment.share";

/// Shares without a list, in percent.
pub const DEFAULT_POINTS: [&str; 5] = ["0", "25", "50", "75", "100"];

/// Seeds of a scenario that has fewer itself.
pub const DEFAULT_SEEDS: u64 = 10;

/// A request for a partial deployment on a scenario.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The scenario with the deployment.
    scenario: Scenario,
    request: RolloutRequest,
    /// Shares in the form of the scenario; the first is 0.
    shares: Vec<String>,
}

/// Parameters of a rollout.
#[derive(Clone, Debug)]
pub struct RolloutOptions<'a> {
    /// Stacks before and after the move.
    pub schemes: [&'a str; 2],
    /// Sides that move.
    pub moves: MovedSides,
    /// Units in which hosts are drawn.
    pub draw: HostDraw,
    /// Shares in percent, with or without the sign; 0 is added.
    pub points: &'a [String],
    /// Thresholds of the verdicts.
    pub thresholds: RolloutThresholds,
    /// Seeds; `None` takes those of the scenario, or else [`DEFAULT_SEEDS`].
    pub seeds: Option<u64>,
}

impl Rollout {
    /// Prepares a rollout on the hosts of the scenario's table `[deployment]`, or on all hosts.
    pub fn new(scenario: Scenario, options: &RolloutOptions<'_>) -> Result<Self, LabError> {
        let [from, to] = options.schemes;
        let ends = [EndpointStack::parse(from, &scenario)?, EndpointStack::parse(to, &scenario)?];
        for end in &ends {
            end.refuse_bundle_keys(&scenario)?;
        }
        let [from, to] = ends;
        let mut scenario = to.deploy(scenario.without("compare.schemes"))?;
        for (key, value) in [("moves", options.moves.name()), ("draw", options.draw.name())] {
            scenario = scenario.with_override(&format!("deployment.{key}"), value)?;
        }
        let whole = scenario.clone().with_override(SHARE_KEY, "100 %")?;
        let plan = single_share(&whole)?;
        let setup = plan.runs.first().map(RunSpec::setup).transpose()?;
        let seeds = options.seeds.unwrap_or(match plan.runs.len() as u64 {
            own if own >= DEFAULT_SEEDS => own,
            _ => DEFAULT_SEEDS,
        });
        let hosts = || setup.iter().flat_map(|setup| &setup.hosts);
        let moved = || hosts().filter(|host| host.deployment == Some(DeploymentClass::New));
        let mut groups: Vec<u16> = moved().map(|host| host.group).collect();
        groups.dedup();
        for group in groups {
            let names = setup.as_ref().map(|setup| &setup.host_groups);
            if let Some(name) = names.and_then(|names| names.get(usize::from(group))) {
                scenario = from.impose_on(scenario, name)?;
            }
        }
        if from.name != to.name && same_transport(&scenario)? {
            return Err(no_difference(&scenario, [&from.name, &to.name]));
        }
        let request = RolloutRequest {
            from: from.name.clone(),
            to: to.name.clone(),
            hosts: moved().count() as u32,
            moves: options.moves,
            draw: options.draw,
            thresholds: options.thresholds,
        };
        let scenario = scenario.seeds(seeds)?;
        Ok(Self { scenario, request, shares: shares(options.points) })
    }

    /// The scenario with the deployment.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The runs: by share, then seed.
    pub fn plan(&self) -> Result<RunPlan, LabError> {
        let RolloutRequest { from, to, .. } = &self.request;
        let mut parts: Vec<PlanPart> = Vec::new();
        for share in &self.shares {
            let scenario = self.scenario.clone().with_flag("--points", SHARE_KEY, share)?;
            let plan = single_share(&scenario)?;
            let point = vec![(SHARE_KEY.to_owned(), share.clone())];
            parts.push(PlanPart { scheme: format!("{from} to {to}"), point, plan });
        }
        let title = parts.first().map_or_else(String::new, |part| part.plan.title.clone());
        let title = format!("{title}: hosts move from {from} to {to}");
        Ok(RunPlan::concat(self.scenario.name(), &title, parts))
    }
}

/// Returns the plan of one share, which must be a single point because the share is the sweep.
fn single_share(scenario: &Scenario) -> Result<RunPlan, LabError> {
    let plan = scenario.expand()?;
    let Some(first) = plan.points.first().filter(|_| plan.points.len() > 1) else {
        return Ok(plan);
    };
    let keys: Vec<String> = first.iter().map(|(key, _)| format!("`{key}`")).collect();
    let values: Vec<String> =
        first.iter().map(|(key, value)| format!("-s '{key}={value}'")).collect();
    Err(LabError::InvalidRequest {
        message: format!(
            "`{}` sweeps {}, but here only the share is swept",
            scenario.name(),
            keys.join(" and ")
        ),
        help: Some(format!("give one value, for instance {}", values.join(" "))),
    })
}

/// Returns whether all hosts run the same before and after the move.
fn same_transport(scenario: &Scenario) -> Result<bool, LabError> {
    let setup = |share: &str| -> Result<_, LabError> {
        let plan = single_share(&scenario.clone().with_override(SHARE_KEY, share)?)?;
        Ok(plan.runs.first().map(RunSpec::setup).transpose()?)
    };
    let (Some(before), Some(after)) = (setup("0 %")?, setup("100 %")?) else { return Ok(false) };
    Ok(before.hosts.iter().zip(&after.hosts).all(|(b, a)| b.config == a.config))
}

fn no_difference(scenario: &Scenario, [from, to]: [&str; 2]) -> LabError {
    LabError::InvalidRequest {
        message: format!(
            "the hosts of `{}` run the same with `{from}` and with `{to}`",
            scenario.name()
        ),
        help: Some(
            "they set equal switches (`lowtide list schemes`), or the moved side has none of them"
                .to_owned(),
        ),
    }
}

/// Returns the shares in the form of the scenario, without duplicates, beginning with 0.
fn shares(points: &[String]) -> Vec<String> {
    let percent = |text: &str| {
        let text = text.trim();
        if text.ends_with('%') { text.to_owned() } else { format!("{text} %") }
    };
    let mut out = vec![percent("0")];
    for point in points {
        let share = percent(point);
        let same = |other: &String| {
            let value = |text: &str| lowtide_units::parse_fraction(text).ok();
            other == &share || (value(other).is_some() && value(other) == value(&share))
        };
        if !out.iter().any(same) {
            out.push(share);
        }
    }
    out
}

/// Runs what is missing in the directory, and writes the report.
pub fn execute(
    rollout: &Rollout,
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
) -> Result<(CompletedExperiment, RolloutResult), LabError> {
    let request = &rollout.request;
    run_and_report(
        &MatrixRequest::Rollout(request.clone()),
        plan,
        options,
        |dir, manifest, results| write_outputs(request, dir, manifest, results),
    )
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn shares_begin_with_zero_and_are_unique() {
        let of =
            |points: &[&str]| shares(&points.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["25", "50 %", "25%", " 100"]), ["0 %", "25 %", "50 %", "100 %"]);
        assert_eq!(of(&["0", "0.0 %", "x"]), ["0 %", "x %"]);
    }
}
