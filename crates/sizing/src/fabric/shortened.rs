//! Traffic that fits into a budget.

use lowtide_lab::LabError;
use lowtide_scenario::Scenario;
use lowtide_units::parse_duration;
use toml::{Table, Value};

use super::subject::first_run;

/// Repetitions until the estimate is within the budget.
const TRIES: usize = 6;
/// The least share that is run: percentiles of so few flows are uncertain.
const LEAST: f64 = 0.05;

/// The share of the flows, queries, iterations and time of a scenario with which one run has at
/// most `hops` packet-hops by its estimate, at least 5 %, even if that has more: 1 if the whole has
/// at most `hops`, or has nothing to shorten.
///
/// # Errors
/// Those of the scenario.
pub(super) fn share(scenario: &Scenario, hops: u64) -> Result<f64, LabError> {
    let hops_of = |share: f64| -> Result<u64, LabError> {
        Ok(with_share(scenario, share)?.seeds(1)?.expand()?.estimate().hops)
    };
    let whole = hops_of(1.0)?;
    let (mut share, mut run) = (1.0, whole);
    for _ in 0..TRIES {
        if run <= hops || share <= LEAST {
            break;
        }
        share = (share * 0.95 * hops as f64 / run as f64).max(LEAST);
        run = hops_of(share)?;
    }
    Ok(if run < whole { share } else { 1.0 })
}

/// The scenario with this share of its flows, queries, iterations and time after the warm-up.
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
    let mut ends_by_time = false;
    for (_, group) in table.get_mut("traffic").and_then(Value::as_table_mut).into_iter().flatten() {
        let Some(group) = group.as_table_mut() else { continue };
        ends_by_time |= group.contains_key("load") && !group.contains_key("flows");
        for key in ["flows", "queries", "iterations"] {
            if let Some(Value::Integer(n)) = group.get_mut(key) {
                *n = ((*n as f64 * share) as i64).max(1);
            }
        }
    }
    let Some(run) = table.get_mut("run").and_then(Value::as_table_mut) else { return table };
    if ends_by_time || run.get("end").and_then(Value::as_str) == Some("duration") {
        let span = |key: &str| run.get(key).and_then(Value::as_str).map(parse_duration);
        let warmup = span("warmup").and_then(Result::ok).unwrap_or_default();
        if let Some(Ok(whole)) = span("duration") {
            let measured = whole.saturating_sub(warmup).as_ns() as f64 * share;
            let ns = warmup.as_ns() + measured as u64;
            run.insert("duration".to_owned(), Value::String(format!("{ns} ns")));
        }
    }
    table
}
