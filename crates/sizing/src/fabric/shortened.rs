//! Traffic that fits into a budget.

use lowtide_lab::LabError;
use lowtide_scenario::Scenario;
use lowtide_units::parse_duration;
use toml::{Table, Value};

use super::subject::first_run;

/// Repetitions until the estimate is within the budget.
const TRIES: usize = 6;
/// The least share: fewer flows would say nothing of a percentile.
const LEAST: f64 = 0.05;

/// The share of the flows, queries and time of a scenario with which one run has at most `hops`
/// packet-hops by its estimate, at least 5 %: 1 if the whole does.
///
/// # Errors
/// Those of the scenario.
pub(super) fn share(scenario: &Scenario, hops: u64) -> Result<f64, LabError> {
    let mut share = 1.0;
    for _ in 0..TRIES {
        let run = with_share(scenario, share)?.seeds(1)?.expand()?.estimate().hops;
        if run <= hops || share <= LEAST {
            break;
        }
        share = (share * 0.95 * hops as f64 / run as f64).max(LEAST);
    }
    Ok(share)
}

/// The scenario with this share of its flows, queries and time.
///
/// # Errors
/// Those of the scenario.
pub(super) fn with_share(scenario: &Scenario, share: f64) -> Result<Scenario, LabError> {
    if share >= 1.0 {
        return Ok(scenario.clone());
    }
    let table: Table = first_run(scenario)?.resolved_toml().parse().unwrap_or_default();
    Ok(Scenario::parse(&shortened(table, share).to_string(), "advise.toml")?)
}

fn shortened(mut table: Table, share: f64) -> Table {
    let mut endless = false;
    for (_, group) in table.get_mut("traffic").and_then(Value::as_table_mut).into_iter().flatten() {
        let Some(group) = group.as_table_mut() else { continue };
        endless |= group.contains_key("load") && !group.contains_key("flows");
        for key in ["flows", "queries"] {
            if let Some(Value::Integer(n)) = group.get_mut(key) {
                *n = ((*n as f64 * share) as i64).max(1);
            }
        }
    }
    let Some(run) = table.get_mut("run").and_then(Value::as_table_mut) else { return table };
    if endless || run.get("end").and_then(Value::as_str) == Some("duration") {
        for key in ["duration", "warmup"] {
            let span = run.get(key).and_then(Value::as_str).and_then(|t| parse_duration(t).ok());
            if let Some(span) = span {
                let ns = (span.as_ns() as f64 * share) as u64;
                run.insert(key.to_owned(), Value::String(format!("{ns} ns")));
            }
        }
    }
    table
}
