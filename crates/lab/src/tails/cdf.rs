//! Distributions of completion times and slowdown, as curves.

use std::collections::BTreeMap;

use lowtide_output::csv;
use lowtide_rows::HostRange;
use lowtide_stats::Sample;

use super::{FlowSet, all_classes, by_scheme_and_point, flow_sets};
use crate::facts::RunFacts;

/// Returns the distribution of flows of several runs together: every value, with the share of all
/// flows that take at most as long. Censored flows count, so the curve may end below one.
pub(crate) fn curve(runs: &[&RunFacts], set: FlowSet<'_>) -> Vec<(f64, f64)> {
    let samples = || runs.iter().filter_map(|run| set.sample(run));
    let all = samples().map(Sample::count).sum::<u64>() as f64;
    let mut values: Vec<f64> = samples().flat_map(Sample::complete).copied().collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut until = 0;
    let step = |equal: &[f64]| {
        until += equal.len();
        (equal[0], until as f64 / all)
    };
    values.chunk_by(|a, b| a.to_bits() == b.to_bits()).map(step).collect()
}

/// Returns the distributions of every scheme, point and size class as CSV.
pub(crate) fn to_csv(runs: &[RunFacts]) -> String {
    let cells = by_scheme_and_point(runs);
    let classes: BTreeMap<String, Vec<String>> = all_classes(runs);
    let keys: Vec<&str> = runs.first().map_or_else(Vec::new, |run| run.key.point.keys().collect());
    let mut head = vec!["scheme"];
    head.extend(&keys);
    head.extend(["group", "class", "metric", "value", "share_of_flows"]);
    let mut text = csv::line(head);
    for seeds in &cells {
        let key = &seeds[0].key;
        let value = |k: &&str| HostRange::value_text(key.point.get(k).unwrap_or_default());
        let values: Vec<String> = keys.iter().map(value).collect();
        for set in flow_sets(seeds, &classes) {
            for (value, share) in curve(seeds, set) {
                let (value, share) = (value.to_string(), share.to_string());
                let mut line = vec![key.scheme.as_str()];
                line.extend(values.iter().map(String::as_str));
                line.extend([set.group, set.class.unwrap_or_default(), set.metric.key()]);
                line.extend([value.as_str(), share.as_str()]);
                text.push_str(&csv::line(line));
            }
        }
    }
    text
}
