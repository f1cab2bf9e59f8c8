//! The advised values under more load, and larger fan-in: what fails first.

use lowtide_lab::{LabError, RunFacts, simulate};
use lowtide_scenario::Scenario;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::contest::Cost;
use super::subject::first_run;
use super::{plan, shortened};

/// Loads and fan-ins.
const LOADS: [&str; 4] = ["30 %", "50 %", "70 %", "90 %"];
const FAN_INS: [i64; 5] = [8, 16, 32, 64, 128];

/// The fabric with one quantity changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GrowthStep {
    /// `load` or `fan-in`.
    pub what: String,
    /// Its value.
    pub value: String,
    /// Share of the flows, queries, iterations and time after the warm-up of the scenario that the
    /// run has: 1, or what the budget allows, at least 0.05.
    pub traffic_share: f64,
    /// 99th percentile of the slowdown of flows up to 100 kB; null without them.
    pub p99: Option<f64>,
    /// Retransmission timeouts of flows.
    pub timeouts: f64,
    /// Packets dropped.
    pub drops: f64,
    /// Share of the queries with a timeout; null without queries.
    pub queries_with_timeout: Option<f64>,
}

/// Runs the steps that the traffic has, with one seed each, shortened towards `hops` in total. A
/// step that the fabric refuses, as more servers than hosts, is left out.
pub(super) fn growth(
    advised: &Scenario,
    hops: u64,
    jobs: usize,
) -> Result<Vec<GrowthStep>, LabError> {
    let base: Table = first_run(advised)?.resolved_toml().parse().unwrap_or_default();
    let groups = base.get("traffic").and_then(Value::as_table).cloned().unwrap_or_default();
    let with =
        |key: &str| groups.iter().find(|(_, g)| g.get(key).is_some()).map(|(n, _)| n.clone());
    let mut steps: Vec<(String, String, Scenario)> = Vec::new();
    let mut add = |what: &str, value: String, group: &str, key: &str, set: Value| {
        let mut table = base.clone();
        let traffic = table.get_mut("traffic").and_then(Value::as_table_mut);
        let Some(traffic) = traffic else { return };
        let Some(Value::Table(group)) = traffic.get_mut(group) else { return };
        group.insert(key.to_owned(), set);
        let scenario = Scenario::parse(&table.to_string(), "advise.toml");
        let Ok(scenario) = scenario.and_then(|s| s.seeds(1)) else { return };
        if scenario.expand().is_ok() {
            steps.push((what.to_owned(), value, scenario));
        }
    };
    if let Some(group) = with("load") {
        for load in LOADS {
            add("load", load.to_owned(), &group, "load", Value::String(load.to_owned()));
        }
    }
    if let Some(group) = with("fan-out") {
        let own = groups.get(&group).and_then(|g| g.get("fan-out")).and_then(Value::as_integer);
        let mut fan_ins: Vec<i64> = FAN_INS.into_iter().chain(own).collect();
        fan_ins.sort_unstable();
        fan_ins.dedup();
        for n in fan_ins {
            add("fan-in", n.to_string(), &group, "fan-out", Value::Integer(n));
        }
    }
    if steps.is_empty() {
        return Ok(Vec::new());
    }
    let each = hops / steps.len() as u64;
    let mut named = Vec::new();
    for (what, value, scenario) in &steps {
        let share = shortened::share(scenario, each)?;
        named.push((format!("{what} {value}"), shortened::with_share(scenario, share)?, share));
    }
    let runs: Vec<(String, Scenario)> =
        named.iter().map(|(l, s, _)| (l.clone(), s.clone())).collect();
    let results = simulate(&plan(&runs)?, jobs)?;
    let of = |label: &String| -> Vec<&RunFacts> {
        results.runs.iter().filter(|run| run.key.scheme == *label).collect()
    };
    let rows = steps.into_iter().zip(&named);
    let rows = rows.map(|((what, value, _), (label, _, traffic_share))| {
        let Cost { p99, timeouts, drops, queries_with_timeout } = Cost::of(&of(label));
        let traffic_share = *traffic_share;
        GrowthStep { what, value, traffic_share, p99, timeouts, drops, queries_with_timeout }
    });
    Ok(rows.collect())
}
