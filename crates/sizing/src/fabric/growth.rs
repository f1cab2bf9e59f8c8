//! The advised values under more load, and larger fan-in: what fails first.

use lowtide_lab::{LabError, RunFacts, simulate};
use lowtide_scenario::Scenario;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::contest::Cost;
use super::plan;
use super::subject::first_run;

/// Loads and fan-ins.
const LOADS: [&str; 4] = ["30 %", "50 %", "70 %", "90 %"];
const FAN_INS: [i64; 5] = [8, 16, 32, 64, 128];
/// Flows and queries of a group in one run, at most: these runs show faults, not percentiles.
pub const GROWTH_FLOWS: i64 = 1000;
/// See [`GROWTH_FLOWS`].
pub const GROWTH_QUERIES: i64 = 10;

/// The fabric with one quantity changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GrowthStep {
    /// `load` or `fan-in`.
    pub what: String,
    /// Its value.
    pub value: String,
    /// 99th percentile of the slowdown of flows up to 100 kB; null without them.
    pub p99: Option<f64>,
    /// Retransmission timeouts of flows.
    pub timeouts: f64,
    /// Packets dropped.
    pub drops: f64,
    /// Share of the queries with a timeout; null without queries.
    pub queries_with_timeout: Option<f64>,
}

/// Runs the steps that the traffic has, with one seed each. A step that the fabric refuses, as more
/// servers than hosts, is left out.
pub(super) fn growth(advised: &Scenario, jobs: usize) -> Result<Vec<GrowthStep>, LabError> {
    let base: Table = first_run(advised)?.resolved_toml().parse().unwrap_or_default();
    let groups = base.get("traffic").and_then(Value::as_table).cloned().unwrap_or_default();
    let with =
        |key: &str| groups.iter().find(|(_, g)| g.get(key).is_some()).map(|(n, _)| n.clone());
    let mut steps: Vec<(String, String, Scenario)> = Vec::new();
    let mut add = |what: &str, value: String, group: &str, key: &str, set: Value| {
        let mut table = base.clone();
        // Without a number of flows a load lasts for the whole run.
        let endless = |group: &Table| group.contains_key("load") && !group.contains_key("flows");
        // Flows that are given a number may all begin within a warm-up.
        if groups.values().filter_map(Value::as_table).any(endless)
            && let Some(run) = table.get_mut("run").and_then(Value::as_table_mut)
        {
            run.insert("warmup".to_owned(), Value::String("0 s".to_owned()));
        }
        let traffic = table.get_mut("traffic").and_then(Value::as_table_mut);
        let Some(traffic) = traffic else { return };
        for (_, other) in traffic.iter_mut() {
            let Some(other) = other.as_table_mut() else { continue };
            for (key, most) in [("flows", GROWTH_FLOWS), ("queries", GROWTH_QUERIES)] {
                let own = other.get(key).and_then(Value::as_integer);
                if (key == "flows" && endless(other)) || own.is_some_and(|n| n > most) {
                    other.insert(key.to_owned(), Value::Integer(most));
                }
            }
        }
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
    let named: Vec<(String, Scenario)> =
        steps.iter().map(|(what, value, s)| (format!("{what} {value}"), s.clone())).collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let results = simulate(&plan(&named)?, jobs)?;
    let of = |label: &String| -> Vec<&RunFacts> {
        results.runs.iter().filter(|run| run.key.scheme == *label).collect()
    };
    let step =
        |((what, value, _), (label, _)): (&(String, String, Scenario), &(String, Scenario))| {
            let Cost { p99, timeouts, drops, queries_with_timeout } = Cost::of(&of(label));
            let (what, value) = (what.clone(), value.clone());
            GrowthStep { what, value, p99, timeouts, drops, queries_with_timeout }
        };
    Ok(steps.iter().zip(&named).map(step).collect())
}
