//! The matrix of all sender x receiver pairs, alone and next to every neighbour.

use lowtide_lab::{CompletedExperiment, ExecuteOptions, LabError};
use lowtide_scenario::{PlanPart, RunPlan, Scenario};
use lowtide_tcp::switches::Side;
use lowtide_units::parse_packets;

use super::cell::{NEIGHBOUR, PAIR};
use super::endpoint_stack::{self, EndpointStack, EquivalentScheme};
use super::page;
use super::request::{ALONE, MatrixRequest, PairsRequest};
use super::result::MatrixResult;
use super::run::{run_and_report, single_point_plan};
use super::thresholds::Thresholds;

/// A matrix request.
#[derive(Clone, Debug)]
pub struct PairMatrix {
    /// The setup, with the host groups `senders`, `receivers`, `neighbour-senders` and
    /// `neighbour-receivers`, and the traffic groups `pair` and `neighbour`.
    pub scenario: Scenario,
    senders: Vec<EndpointStack>,
    receivers: Vec<EndpointStack>,
    neighbours: Vec<EndpointStack>,
    same_senders: Vec<EquivalentScheme>,
    same_receivers: Vec<EquivalentScheme>,
    /// The thresholds of the verdicts.
    pub thresholds: Thresholds,
}

impl PairMatrix {
    /// A matrix of all registered senders and receivers, or of the named ones. Neighbours are the
    /// senders unless they are named too; `Some(&[])` selects none.
    pub fn new(
        scenario: Scenario,
        senders: Option<&[String]>,
        receivers: Option<&[String]>,
        neighbours: Option<&[String]>,
        thresholds: Thresholds,
    ) -> Result<Self, LabError> {
        let ends = |named: Option<&[String]>, side| match named {
            None => Ok(endpoint_stack::registered(side)),
            Some(names) => parse(names, &scenario).map(|ends| (ends, Vec::new())),
        };
        let (senders, same_senders) = ends(senders, Side::Sender)?;
        let (receivers, same_receivers) = ends(receivers, Side::Receiver)?;
        let neighbours = match neighbours {
            None => senders.clone(),
            Some(names) => parse(names, &scenario)?,
        };
        let out = Self {
            scenario,
            senders,
            receivers,
            neighbours,
            same_senders,
            same_receivers,
            thresholds,
        };
        if out.senders.is_empty() || out.receivers.is_empty() {
            return Err(LabError::InvalidRequest {
                message: "a matrix needs at least one sender and one receiver".to_owned(),
                help: Some("omit --senders and --receivers to select all".to_owned()),
            });
        }
        Ok(out)
    }

    /// The runs: by sender, receiver, neighbour (none first), seed.
    pub fn plan(&self) -> Result<RunPlan, LabError> {
        let mut parts = Vec::new();
        let alone = self.scenario.clone().without(&format!("traffic.{NEIGHBOUR}"));
        for sender in &self.senders {
            for receiver in &self.receivers {
                let pair = |scenario: &Scenario| {
                    receiver.apply_to(sender.apply_to(scenario.clone(), "senders")?, "receivers")
                };
                let point = |neighbour: &str| {
                    vec![
                        ("receiver".to_owned(), receiver.name.clone()),
                        ("neighbour".to_owned(), neighbour.to_owned()),
                    ]
                };
                let mut add = |scenario: &Scenario, neighbour: &str| -> Result<(), LabError> {
                    let plan = single_point_plan(scenario)?;
                    parts.push(PlanPart {
                        scheme: sender.name.clone(),
                        point: point(neighbour),
                        plan,
                    });
                    Ok(())
                };
                add(&pair(&alone)?, ALONE)?;
                for neighbour in &self.neighbours {
                    let own = neighbour.apply_to(pair(&self.scenario)?, "neighbour-senders")?;
                    add(&neighbour.apply_to(own, "neighbour-receivers")?, &neighbour.name)?;
                }
            }
        }
        let title = parts.first().map_or_else(String::new, |p: &PlanPart| p.plan.title.clone());
        let plan = RunPlan::concat(self.scenario.name(), &title, parts);
        check_groups(&plan)?;
        Ok(plan)
    }

    fn request(&self, plan: &RunPlan) -> PairsRequest {
        let names = |ends: &[EndpointStack]| ends.iter().map(|e| e.name.clone()).collect();
        PairsRequest {
            senders: names(&self.senders),
            receivers: names(&self.receivers),
            neighbours: names(&self.neighbours),
            k: marking_threshold(plan),
            thresholds: self.thresholds,
            same_receivers: self.same_receivers.clone(),
            same_senders: self.same_senders.clone(),
        }
    }
}

fn parse(names: &[String], scenario: &Scenario) -> Result<Vec<EndpointStack>, LabError> {
    let mut out: Vec<EndpointStack> = Vec::new();
    for name in names {
        let end = EndpointStack::parse(name, scenario)?;
        if end.name == ALONE {
            return Err(LabError::InvalidRequest {
                message: format!("`{ALONE}` is reserved for runs without a neighbour"),
                help: Some("give the bundle another name".to_owned()),
            });
        }
        if !out.contains(&end) {
            out.push(end);
        }
    }
    Ok(out)
}

/// Checks that the setup has the groups that the results are read from.
fn check_groups(plan: &RunPlan) -> Result<(), LabError> {
    for run in plan.runs.iter().take(2) {
        let groups = run.setup()?.traffic_groups;
        let shared = run.point.iter().any(|(key, v)| key == NEIGHBOUR && v != ALONE);
        for wanted in [PAIR, NEIGHBOUR].into_iter().take(1 + usize::from(shared)) {
            if !groups.iter().any(|g| g == wanted) {
                return Err(LabError::InvalidRequest {
                    message: format!("the setup `{}` has no [traffic.{wanted}]", plan.name),
                    help: Some(
                        "`lowtide matrix --print setup` prints one to start from".to_owned(),
                    ),
                });
            }
        }
    }
    Ok(())
}

/// K of the switches in packets; bytes count as packets of 1500 B.
fn marking_threshold(plan: &RunPlan) -> Option<f64> {
    let table: toml::Table = plan.runs.first()?.resolved_toml().parse().ok()?;
    let k = table.get("switch")?.get("mark")?.get("k")?.as_str()?;
    match parse_packets(k) {
        Ok(packets) => Some(packets as f64),
        Err(_) => lowtide_units::parse_bytes(k).ok().map(|b| b.as_u64() as f64 / 1500.0),
    }
}

/// Runs what is missing in the directory, judges, and writes the report.
pub fn execute(
    pairs: &PairMatrix,
    plan: &RunPlan,
    options: &ExecuteOptions<'_>,
) -> Result<(CompletedExperiment, MatrixResult), LabError> {
    let request = pairs.request(plan);
    run_and_report(
        &MatrixRequest::Pairs(request.clone()),
        plan,
        options,
        |dir, manifest, results| page::write_outputs(&request, dir, manifest, results),
    )
}
