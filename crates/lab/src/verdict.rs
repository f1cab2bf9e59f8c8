//! The verdict in words: which scheme is better for the shortest flows, by how much, and why.
//!
//! Contract: every sentence has numbers of the results. A difference whose interval contains zero
//! is called undecided.

use std::fmt::Write as _;

use lowtide_charts::number;
use lowtide_record::SweepPoint;

use crate::naming::point_text;
use crate::results::Results;
use crate::summary::SummaryRow;
use crate::tails::{Percentile, TailMetric, TailRatio, TailVerdict, range, shortest, significant};

/// Limit on schemes that are compared with the best one.
const MAX_OTHERS: usize = 2;
/// Limit on points that a sentence names.
const MAX_POINTS: usize = 3;

/// One scheme's tail over that of the best, at one point.
struct TailComparison<'a> {
    ratio: &'a TailRatio,
    /// The ratio to the tail of the best scheme.
    times: f64,
    ci95: Option<[f64; 2]>,
    outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Longer,
    Shorter,
    Same,
    Undecided,
}

/// Returns the verdict, one sentence each; empty with one scheme or without flows of a size.
pub(crate) fn verdict(results: &Results, schemes: &[String], shown: &SweepPoint) -> Vec<String> {
    let Some((group, class, metric)) = shortest(&results.tails) else { return Vec::new() };
    let ratios = results.shortest_ratios();
    let Some(ranked) = ranked(&ratios, schemes) else { return Vec::new() };
    let Some((best, others)) = ranked.split_first() else { return Vec::new() };
    let flows = match class {
        Some(class) => format!("the shortest flows (group {group}, {class})"),
        None => format!("the shortest flows (group {group})"),
    };
    let mut sentences = Vec::new();
    for (i, other) in others.iter().take(MAX_OTHERS).enumerate() {
        let all = compared(&ratios, best, other);
        let flows = if i == 0 { flows.as_str() } else { "the same flows" };
        sentences.extend(sentence(best, other, &all, metric, flows));
    }
    if let Some(other) = others.first() {
        sentences.extend(reason(results, best, other, shown));
    }
    sentences
}

/// Returns the schemes by their number of decided comparisons, then by their tails.
fn ranked<'a>(ratios: &[&TailRatio], schemes: &'a [String]) -> Option<Vec<&'a str>> {
    if ratios.is_empty() {
        return None;
    }
    let score = |scheme: &str| -> (i64, f64) {
        ratios.iter().fold((0, 0.0), |(wins, logs), r| {
            let (sign, shorter, longer) = if r.a == scheme {
                (-1.0, TailVerdict::AShorter, TailVerdict::BShorter)
            } else if r.b == scheme {
                (1.0, TailVerdict::BShorter, TailVerdict::AShorter)
            } else {
                return (wins, logs);
            };
            let win = i64::from(r.verdict == shorter) - i64::from(r.verdict == longer);
            (wins + win, logs + sign * r.ratio.ln())
        })
    };
    let mut ranked: Vec<(&str, (i64, f64))> = schemes
        .iter()
        .map(String::as_str)
        .filter(|s| ratios.iter().any(|r| r.a == *s || r.b == *s))
        .map(|s| (s, score(s)))
        .collect();
    ranked.sort_by(|(_, a), (_, b)| b.0.cmp(&a.0).then(a.1.total_cmp(&b.1)));
    Some(ranked.into_iter().map(|(scheme, _)| scheme).collect())
}

fn compared<'a>(ratios: &[&'a TailRatio], best: &str, other: &str) -> Vec<TailComparison<'a>> {
    let of = |r: &&'a TailRatio| -> Option<TailComparison<'a>> {
        let ratio = *r;
        let inverse = ratio.a == other && ratio.b == best;
        if !(inverse || ratio.a == best && ratio.b == other) {
            return None;
        }
        let (times, ci95) = if inverse {
            (1.0 / ratio.ratio, ratio.ci95.map(|[low, high]| [1.0 / high, 1.0 / low]))
        } else {
            (ratio.ratio, ratio.ci95)
        };
        let outcome = match (ratio.verdict, inverse) {
            (TailVerdict::AShorter, false) | (TailVerdict::BShorter, true) => Outcome::Longer,
            (TailVerdict::AShorter, true) | (TailVerdict::BShorter, false) => Outcome::Shorter,
            (TailVerdict::Same, _) => Outcome::Same,
            (TailVerdict::Undecided, _) => Outcome::Undecided,
        };
        Some(TailComparison { ratio, times, ci95, outcome })
    };
    ratios.iter().filter_map(of).collect()
}

fn sentence(
    best: &str,
    other: &str,
    all: &[TailComparison<'_>],
    metric: TailMetric,
    flows: &str,
) -> Option<String> {
    let first = all.first()?;
    let which = first.ratio.percentile;
    let mut tail = format!("{} {}", which.name(), metric.title());
    if which < Percentile::P95 {
        tail.push_str(" (no higher percentile has an interval)");
    }
    if let [only] = all {
        let times = times(only);
        let of = |scheme: &str| {
            let i = usize::from(only.ratio.b == scheme);
            let unit = if metric == TailMetric::Slowdown { "" } else { " ms" };
            format!("{}{unit}", significant(only.ratio.values[i]))
        };
        let (a, b) = (of(best), of(other));
        return Some(match only.outcome {
            Outcome::Longer | Outcome::Shorter => format!(
                "{best} is better than {other} for {flows}: its {tail} is {a} against {b}, which is {times} as large."
            ),
            Outcome::Same => {
                format!("{best} and {other} are equal for {flows}: the {tail} of both is {a}.")
            }
            Outcome::Undecided => format!(
                "{best} against {other} is undecided for {flows}: their {tail} is {a} and {b}, a ratio of {times}."
            ),
        });
    }
    let points = |outcome| all.iter().filter(move |c| c.outcome == outcome);
    let longer: Vec<&TailComparison<'_>> = points(Outcome::Longer).collect();
    let mut text = if longer.is_empty() {
        format!("{best} against {other} for {flows}: the {tail} of {other} over that of {best} is")
    } else {
        let (wins, all) = (longer.len(), all.len());
        format!(
            "{best} is better than {other} for {flows} at {wins} of {all} points: the {tail} of {other} is {};",
            span(&longer)?
        )
    };
    for (outcome, word) in [
        (Outcome::Shorter, format!("smaller with {other}")),
        (Outcome::Same, "equal".to_owned()),
        (Outcome::Undecided, "undecided".to_owned()),
    ] {
        let of: Vec<String> = points(outcome)
            .map(|c| format!("{} ({})", point_text(&c.ratio.point), short_times(c)))
            .collect();
        if !of.is_empty() {
            let more = of.len().saturating_sub(MAX_POINTS);
            let named = of.iter().take(MAX_POINTS).cloned().collect::<Vec<_>>().join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            // Writing to a string cannot fail.
            let _ = write!(text, " {word} at {named}{more};");
        }
    }
    Some(format!("{}.", text.trim_end_matches(';')))
}

/// Returns the smallest and the largest factor of points, with their intervals.
fn span(points: &[&TailComparison<'_>]) -> Option<String> {
    let by = |a: &&&TailComparison<'_>, b: &&&TailComparison<'_>| a.times.total_cmp(&b.times);
    let (least, most) = (points.iter().min_by(by)?, points.iter().max_by(by)?);
    let at = |c: &TailComparison<'_>| point_text(&c.ratio.point);
    let first = format!("{} as large at {}", times(least), at(least));
    if points.len() == 1 {
        return Some(first);
    }
    Some(format!("{first} to {} at {}", times(most), at(most)))
}

/// Formats a factor with its interval.
fn times(of: &TailComparison<'_>) -> String {
    let times = significant(of.times);
    match of.ci95 {
        Some(ci95) => format!("{times} times (95 % interval {})", range(ci95)),
        None if of.outcome == Outcome::Undecided => format!("{times} times (no interval)"),
        None => format!("{times} times (for every seed)"),
    }
}

/// Formats a factor with its interval inside parentheses.
fn short_times(of: &TailComparison<'_>) -> String {
    let times = significant(of.times);
    of.ci95
        .map_or_else(|| format!("{times} times"), |ci95| format!("{times} times, {}", range(ci95)))
}

/// Returns the reason that the data give for a shorter tail: a shorter queue, or fewer timeouts;
/// and its price for the throughput.
fn reason(results: &Results, best: &str, other: &str, shown: &SweepPoint) -> Option<String> {
    let at = |scheme: &str, wanted: &dyn Fn(&SummaryRow) -> bool| {
        let found = results
            .summary
            .iter()
            .find(|r| r.subject.scheme == scheme && r.subject.point == *shown && wanted(r))?;
        Some((found.mean?, found.ci95.unwrap_or([found.mean?; 2])))
    };
    let longest = results
        .summary
        .iter()
        .filter(|r| r.subject.point == *shown && r.subject.class.is_none())
        .filter(|r| r.subject.metric == "mean_packets" && r.subject.queue.is_some())
        .filter(|r| r.subject.scheme == best || r.subject.scheme == other)
        .max_by(|a, b| a.mean.unwrap_or_default().total_cmp(&b.mean.unwrap_or_default()))?;
    let queue = longest.subject.queue.as_deref()?;
    let mean = |r: &SummaryRow| r.subject.is_queue_metric(queue, "mean_packets");
    let (a, b) = (at(best, &mean)?, at(other, &mean)?);
    let point = point_text(shown);
    let place = if point.is_empty() { String::new() } else { format!(" at {point}") };
    if a.1[1] >= b.1[0] {
        return None;
    }
    let mut text = format!(
        "The queue is shorter with {best}: {queue} holds {} packets on average, with {other} {}{place}",
        significant(a.0),
        significant(b.0)
    );
    let used = |r: &SummaryRow| r.subject.is_queue_metric(queue, "utilisation");
    if let (Some(a), Some(b)) = (at(best, &used), at(other, &used)) {
        let word = if a.1[1] < b.1[0] {
            "but the line is less full"
        } else if a.1[0] > b.1[1] {
            "and the line is fuller"
        } else {
            "and the use of the line is undecided"
        };
        let (a, b) = (significant(a.0 * 100.0), significant(b.0 * 100.0));
        let _ = write!(text, ", {word}: {a} and {b} %");
    }
    Some(text + ".")
}

/// Returns the sentence about which flows the statistics count.
pub(crate) fn counted(results: &Results) -> String {
    let warmup = results.runs.iter().map(|run| run.warmup_ms).fold(0.0, f64::max);
    let groups = || results.runs.iter().flat_map(|run| &run.groups);
    let flows: u64 = groups().map(|g| g.samples.fct.count()).sum();
    let early: usize = groups().map(|g| g.in_warmup).sum();
    let from = if warmup <= 0.0 {
        "from the start, as no warm-up is stated".to_owned()
    } else {
        format!("after the warm-up of {} ms", number(warmup))
    };
    if flows == 0 {
        return format!("No flow has a size; queues and goodput count {from}.");
    }
    if warmup <= 0.0 {
        return format!(
            "No warm-up is stated: all {flows} flows with a size count, and queues and goodput count from the start."
        );
    }
    format!(
        "All {flows} flows with a size count, also the {early} that began during the warm-up; queries, queues and goodput count {from}."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tails::IntervalMethod;

    fn ratio(k: &str, ratio: f64, [low, high]: [f64; 2], verdict: TailVerdict) -> TailRatio {
        let point = if k.is_empty() { vec![] } else { vec![("switch.mark.k".into(), k.into())] };
        TailRatio {
            point: SweepPoint(point),
            group: "short".to_owned(),
            class: None,
            metric: TailMetric::FctMs,
            percentile: Percentile::P99,
            a: "dctcp".to_owned(),
            b: "sack".to_owned(),
            values: [2.0, 2.0 * ratio],
            ratio,
            ci95: Some([low, high]),
            interval: Some(IntervalMethod::Sections),
            pairs: 5,
            verdict,
            note: None,
        }
    }

    fn said(best: &str, other: &str, ratios: &[TailRatio]) -> String {
        let ratios: Vec<&TailRatio> = ratios.iter().collect();
        let all = compared(&ratios, best, other);
        sentence(best, other, &all, TailMetric::FctMs, "them").expect("a sentence")
    }

    #[test]
    fn sentences_have_numbers_and_name_undecided_points() {
        let one = [ratio("", 3.0, [2.0, 4.0], TailVerdict::AShorter)];
        assert_eq!(
            said("dctcp", "sack", &one),
            "dctcp is better than sack for them: its p99 completion time is 2.00 ms against 6.00 ms, \
             which is 3.00 times (95 % interval 2.00\u{2013}4.00) as large."
        );
        let open = [ratio("", 1.5, [0.5, 4.0], TailVerdict::Undecided)];
        assert!(said("dctcp", "sack", &open).starts_with("dctcp against sack is undecided"));
        let two = [
            ratio("20 pkt", 3.0, [2.0, 4.0], TailVerdict::AShorter),
            ratio("65 pkt", 1.5, [0.5, 4.0], TailVerdict::Undecided),
        ];
        let text = said("dctcp", "sack", &two);
        assert!(text.contains("at 1 of 2 points"), "{text}");
        assert!(
            text.ends_with("; undecided at K = 65 pkt (1.50 times, 0.500\u{2013}4.00)."),
            "{text}"
        );
        let text = said("sack", "dctcp", &two);
        assert!(
            text.contains("smaller with dctcp at K = 20 pkt (0.333 times, 0.250\u{2013}0.500)")
        );
    }
}
