//! The sentences about two schemes: the flows that are asked about, then the others.

use std::collections::BTreeMap;

use lowtide_record::SweepPoint;
use lowtide_stats::{LEAST_SEEDS, Verdict};

use super::SchemeComparison;
use crate::naming::point_text;
use crate::shown_estimate::ShownEstimate;

/// Limit on points, or on other measures, that a sentence names.
const MOST_NAMED: usize = 3;

/// Verdicts in the order of a sentence.
const VERDICTS: [Verdict; 4] = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];

/// Returns the sentences about all comparisons of two schemes: one for each statistic of the flows
/// that are asked about, and one about all other flows.
pub(super) fn of_pair(all: &[&SchemeComparison], label: &dyn Fn(&str) -> String) -> Vec<String> {
    let Some(first) = all.first() else { return Vec::new() };
    let (asked, rest): (Vec<&SchemeComparison>, Vec<&SchemeComparison>) =
        all.iter().partition(|of| of.flows() == first.flows());
    let mut sentences: Vec<String> = asked
        .chunk_by(|a, b| a.statistic == b.statistic)
        .map(|points| match points {
            [only] => only.sentence.clone(),
            points => over_points(points, label),
        })
        .collect();
    let seeds = first.comparison.values.iter().map(|of| of.seeds).min().unwrap_or_default();
    let undecided = all.iter().all(|of| of.verdict() == Verdict::Undecided);
    if let Some(last) = sentences.last_mut().filter(|_| undecided && seeds < LEAST_SEEDS) {
        *last = format!(
            "{last} A verdict needs at least {LEAST_SEEDS} seeds: `--seeds {LEAST_SEEDS}`."
        );
    }
    sentences.into_iter().chain(other_flows(&rest)).collect()
}

fn over_points(points: &[&SchemeComparison], label: &dyn Fn(&str) -> String) -> String {
    let named = |of: &SchemeComparison| {
        let [b, a] = [&of.shown.b, &of.shown.a].map(ShownEstimate::value_text);
        let unit = if of.unit.is_empty() { String::new() } else { format!(" {}", of.unit) };
        format!("{}, {b} against {a}{unit}, {}", point_text(&of.point), of.shown.times_text())
    };
    let parts = VERDICTS.iter().filter_map(|verdict| {
        let of: Vec<&SchemeComparison> =
            points.iter().filter(|p| p.verdict() == *verdict).copied().collect();
        (!of.is_empty()).then(|| format!("{} at {}", in_words(*verdict), list(&of, &named)))
    });
    let parts: Vec<String> = parts.collect();
    let [a, b] = [0, 1].map(|i| label(&points[0].schemes[i]));
    format!("{b} against {a} in {}: {}.", points[0].measure(), parts.join(". It is "))
}

/// Lists the first of several, and counts the others.
fn list(all: &[&SchemeComparison], named: &dyn Fn(&SchemeComparison) -> String) -> String {
    let shown: Vec<String> = all.iter().take(MOST_NAMED).map(|of| named(of)).collect();
    match all.len().checked_sub(MOST_NAMED) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join("; ")),
        _ => shown.join("; "),
    }
}

const fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the same",
        other => other.name(),
    }
}

/// Returns the sentence about all other flows: those that are worse by name, the others by
/// number with the best one; and of the undecided ones the worst, if it is worse beyond the
/// tolerance.
fn other_flows(rest: &[&SchemeComparison]) -> Option<String> {
    if rest.is_empty() {
        return None;
    }
    let cost = |of: &&SchemeComparison| of.cost().unwrap_or(f64::NEG_INFINITY);
    let mut by_verdict: BTreeMap<&str, Vec<&SchemeComparison>> = BTreeMap::new();
    for of in rest {
        by_verdict.entry(of.verdict().name()).or_default().push(of);
    }
    for of in by_verdict.values_mut() {
        of.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    }
    let named = |of: &SchemeComparison| {
        let point = point_text(&of.point);
        let at = if point.is_empty() { point } else { format!(" at {point}") };
        format!("{}{at}, {}", of.measure(), of.shown.times_text())
    };
    let mut parts = Vec::new();
    for verdict in [Verdict::Worse, Verdict::Better, Verdict::Same, Verdict::Undecided] {
        let Some(of) = by_verdict.get(verdict.name()) else { continue };
        let worst = of.first().filter(|of| cost(of) > 1.0 + of.comparison.tolerance);
        let among = match verdict {
            Verdict::Better if of.len() > 1 => of.last(),
            Verdict::Undecided => worst,
            _ => None,
        };
        let details = match among {
            Some(among) => format!(", among them {}", named(among)),
            None if matches!(verdict, Verdict::Worse | Verdict::Better) => {
                format!(": {}", list(of, &named))
            }
            None => String::new(),
        };
        parts.push(format!("{} {}{details}", of.len(), in_words(verdict)));
    }
    let count = rest.len();
    let plural = if count == 1 { "comparison" } else { "comparisons" };
    Some(format!("Other flows, {count} {plural}: {}.", parts.join(". ")))
}

/// Returns the sentence with the figures of the network at one point.
pub(super) fn beside(figures: &[String], [a, b]: &[String; 2], at: &SweepPoint) -> Option<String> {
    let point = point_text(at);
    let at = if point.is_empty() { point } else { format!(", at {point}") };
    let some = !figures.is_empty();
    some.then(|| format!("Network, not tested, {b} against {a}{at}: {}.", figures.join("; ")))
}
