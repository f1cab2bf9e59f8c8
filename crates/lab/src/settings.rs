//! Settings in the report: every key of the resolved scenario, side by side for the compared
//! schemes, and the base round-trip time derived from them.

use std::collections::BTreeSet;

use lowtide_host::Setup;
use lowtide_record::ReportedSetting;
use lowtide_scenario::{RunPlan, RunSpec};
use lowtide_units::Duration;
use toml::{Table, Value};

use crate::error::LabError;
use crate::paths::PathFinder;

/// Section of values that follow from keys.
pub(crate) const DERIVED: &str = "derived";

/// Returns the settings of the schemes of `plan` at the point shown, for the first seed.
pub(crate) fn settings(plan: &RunPlan) -> Result<Vec<ReportedSetting>, LabError> {
    let point = plan.points.last().cloned().unwrap_or_default();
    let runs: Vec<&RunSpec> = plan
        .schemes
        .iter()
        .filter_map(|s| plan.runs.iter().find(|r| r.scheme == *s && r.point == point))
        .collect();
    let mut rows: Vec<ReportedSetting> = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        // `resolved_toml` writes TOML; invalid text would leave the columns empty.
        let table: Table = run.resolved_toml().parse().unwrap_or_default();
        flatten("", &table, &mut |section, name, value| {
            let place = rows.iter().position(|r| r.section == section && r.name == name);
            let row = place.unwrap_or_else(|| {
                rows.push(ReportedSetting {
                    section: section.to_owned(),
                    name: name.to_owned(),
                    values: vec![String::new(); runs.len()],
                });
                rows.len() - 1
            });
            rows[row].values[i] = value;
        });
    }
    for row in &mut rows {
        if row.values.iter().all(|v| *v == row.values[0]) {
            row.values.truncate(1);
        }
    }
    if let Some(run) = runs.first() {
        rows.extend(base_rtt(&run.setup()?).map(|values| ReportedSetting {
            section: DERIVED.to_owned(),
            name: "base round trip of a full segment".to_owned(),
            values: vec![values],
        }));
    }
    Ok(rows)
}

/// Keys that are no settings of an experiment, or that the report shows elsewhere.
const OMITTED_KEYS: [(&str, &str); 5] =
    [("", "schema"), ("", "title"), ("", "description"), ("run", "seeds"), ("run", "first-seed")];

fn flatten(path: &str, table: &Table, out: &mut dyn FnMut(&str, &str, String)) {
    for (name, value) in table {
        let text = match value {
            Value::Table(inner) => {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{name}"), inner, out);
                continue;
            }
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items =
                    items.iter().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
                items.collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        if !OMITTED_KEYS.contains(&(path, name)) {
            out(path, name, text);
        }
    }
}

/// Returns the minimum and maximum time from the first bit of a full segment to its ACK. It covers
/// all host pairs of flows and queries, with empty queues and no delayed ACK.
fn base_rtt(setup: &Setup) -> Option<String> {
    let flows = setup.flows.iter().map(|f| (f.src, f.dst));
    // The answers, not the queries, fill the line.
    let answers = setup.query_clients.iter().flat_map(|a| a.servers.iter().map(|s| (*s, a.client)));
    let pairs: BTreeSet<(u32, u32)> = flows.chain(answers).collect();
    let mut paths = PathFinder::new(&setup.network);
    let mut range: Option<(Duration, Duration)> = None;
    for (src, dst) in pairs {
        let mtu = |host: u32| Some(u64::from(setup.hosts.get(host as usize)?.config.mtu));
        let mtu = mtu(src)?.min(mtu(dst)?);
        let rtt = paths.between(src, dst)?.round_trip(mtu);
        range = Some(range.map_or((rtt, rtt), |(low, high)| (low.min(rtt), high.max(rtt))));
    }
    let (low, high) = range?;
    let us = |d: Duration| d.as_ps() as f64 / 1e6;
    Some(if low == high {
        format!("{:.1} us", us(low))
    } else {
        format!("{:.1} us to {:.1} us", us(low), us(high))
    })
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;

    use super::*;

    fn of(name: &str) -> Vec<ReportedSetting> {
        let plan = Scenario::load(name).unwrap().expand().unwrap();
        settings(&plan).unwrap()
    }

    fn find<'a>(rows: &'a [ReportedSetting], section: &str, name: &str) -> &'a ReportedSetting {
        rows.iter().find(|r| r.section == section && r.name == name).unwrap()
    }

    #[test]
    fn shared_settings_have_one_value() {
        let rows = of("queue-buildup");
        assert_eq!(find(&rows, "switch.mark", "k").values, ["20 pkt"]);
        assert_eq!(find(&rows, "traffic.short", "size").values, ["800 kB"], "the last point");
        assert_eq!(
            find(&rows, "hosts.senders.sender", "cc").values,
            ["newreno", "newreno", "dctcp", "newreno"]
        );
        assert!(rows.iter().all(|r| r.name != "title" && r.name != "seeds"));
    }

    #[test]
    fn the_base_round_trip_follows_from_the_network() {
        // 4 x 20 us, twice 1538 B and twice 90 B at 1 Gbit/s.
        let rtt = find(&of("queue-buildup"), DERIVED, "base round trip of a full segment").clone();
        assert_eq!(rtt.values, ["106.0 us"]);
    }
}
