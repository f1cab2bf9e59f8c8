//! Every sender x receiver pair, alone and next to every neighbour: from the question to the answer.

use lowtide_scenario::{Part, Plan, Scenario};
use lowtide_tcp::switches::Side;
use lowtide_units::parse_packets;

use super::answer::Answer;
use super::ask::{ask, one};
use super::cell::{NEIGHBOUR, PAIR};
use super::ends::{self, End, Same};
use super::page;
use super::question::{ALONE, PairsQuestion, Question};
use super::thresholds::Thresholds;
use crate::error::LabError;
use crate::session::Options;
use crate::stored::Finished;

/// The question.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// The setup, with the host groups `senders`, `receivers`, `neighbour-senders` and
    /// `neighbour-receivers`, and the traffic groups `pair` and `neighbour`.
    pub scenario: Scenario,
    senders: Vec<End>,
    receivers: Vec<End>,
    neighbours: Vec<End>,
    same_senders: Vec<Same>,
    same_receivers: Vec<Same>,
    /// When which verdict is given.
    pub thresholds: Thresholds,
}

impl Pairs {
    /// The question with all registered senders and receivers, or with those that are named. Neighbours
    /// are the senders, unless they are named too; `Some(&[])` asks for none.
    pub fn new(
        scenario: Scenario,
        senders: Option<&[String]>,
        receivers: Option<&[String]>,
        neighbours: Option<&[String]>,
        thresholds: Thresholds,
    ) -> Result<Self, LabError> {
        let ends = |named: Option<&[String]>, side| match named {
            None => Ok(ends::registered(side)),
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
            return Err(LabError::Question {
                message: "a matrix needs a sender and a receiver at least".to_owned(),
                help: Some("leave --senders and --receivers out to take all".to_owned()),
            });
        }
        Ok(out)
    }

    /// Every run: by sender, receiver, neighbour (none first), seed.
    pub fn plan(&self) -> Result<Plan, LabError> {
        let mut parts = Vec::new();
        let alone = self.scenario.clone().without(&format!("traffic.{NEIGHBOUR}"));
        for sender in &self.senders {
            for receiver in &self.receivers {
                let pair = |scenario: &Scenario| {
                    receiver.put(sender.put(scenario.clone(), "senders")?, "receivers")
                };
                let point = |neighbour: &str| {
                    vec![
                        ("receiver".to_owned(), receiver.name.clone()),
                        ("neighbour".to_owned(), neighbour.to_owned()),
                    ]
                };
                let mut add = |scenario: &Scenario, neighbour: &str| -> Result<(), LabError> {
                    let plan = one(scenario)?;
                    parts.push(Part { scheme: sender.name.clone(), point: point(neighbour), plan });
                    Ok(())
                };
                add(&pair(&alone)?, ALONE)?;
                for neighbour in &self.neighbours {
                    let own = neighbour.put(pair(&self.scenario)?, "neighbour-senders")?;
                    add(&neighbour.put(own, "neighbour-receivers")?, &neighbour.name)?;
                }
            }
        }
        let title = parts.first().map_or_else(String::new, |p: &Part| p.plan.title.clone());
        let plan = Plan::joined(self.scenario.name(), &title, parts);
        check_groups(&plan)?;
        Ok(plan)
    }

    fn question(&self, plan: &Plan) -> PairsQuestion {
        let names = |ends: &[End]| ends.iter().map(|e| e.name.clone()).collect();
        PairsQuestion {
            senders: names(&self.senders),
            receivers: names(&self.receivers),
            neighbours: names(&self.neighbours),
            k: threshold(plan),
            thresholds: self.thresholds,
            same_receivers: self.same_receivers.clone(),
            same_senders: self.same_senders.clone(),
        }
    }
}

fn parse(names: &[String], scenario: &Scenario) -> Result<Vec<End>, LabError> {
    let mut out: Vec<End> = Vec::new();
    for name in names {
        let end = End::parse(name, scenario)?;
        if end.name == ALONE {
            return Err(LabError::Question {
                message: format!("`{ALONE}` is what a run without a neighbour is called"),
                help: Some("give the bundle another name".to_owned()),
            });
        }
        if !out.contains(&end) {
            out.push(end);
        }
    }
    Ok(out)
}

/// The setup must have the groups that the answer is read from.
fn check_groups(plan: &Plan) -> Result<(), LabError> {
    for run in plan.runs.iter().take(2) {
        let groups = run.setup()?.traffic_groups;
        let shared = run.point.iter().any(|(key, v)| key == NEIGHBOUR && v != ALONE);
        for wanted in [PAIR, NEIGHBOUR].into_iter().take(1 + usize::from(shared)) {
            if !groups.iter().any(|g| g == wanted) {
                return Err(LabError::Question {
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
fn threshold(plan: &Plan) -> Option<f64> {
    let table: toml::Table = plan.runs.first()?.resolved_toml().parse().ok()?;
    let k = table.get("switch")?.get("mark")?.get("k")?.as_str()?;
    match parse_packets(k) {
        Ok(packets) => Some(packets as f64),
        Err(_) => lowtide_units::parse_bytes(k).ok().map(|b| b.as_u64() as f64 / 1500.0),
    }
}

/// Runs what is not in the directory yet, judges, and writes the report.
pub fn execute(
    pairs: &Pairs,
    plan: &Plan,
    options: &Options<'_>,
) -> Result<(Finished, Answer), LabError> {
    let question = pairs.question(plan);
    ask(&Question::Pairs(question.clone()), plan, options, |dir, manifest, results| {
        page::present(&question, dir, manifest, results)
    })
}
