//! The comparisons of one headline, and their verdicts.
//!
//! Contract: each scheme is compared with the first, paired by seed, at every point. The traffic of
//! a question is first, then queries, then flows by size. All verdicts have a familywise error of
//! 5 %: half of it is for the first flows and the question, half for all others. One half passes on
//! to the other if it decided everything (Holm 1979; Bretz et al. 2009). For dependent tests the
//! error of directions is simulated, not proven (`docs/evidence/statistics.md`).

use std::collections::BTreeMap;

use lowtide_record::SweepPoint;
use lowtide_stats::{
    Comparison, Evidence, LEVEL, Preference, Sample, SeedSamples, ValueRange, Verdict,
    VerdictSentence, compare_means, compare_percentile, holm,
};
use lowtide_units::Quantile;
use serde::Serialize;

use crate::facts::{RunFacts, paired};
use crate::shown_estimate::{ShownComparison, ShownEstimate};
use crate::tails::{FlowSet, TailMetric, TailRow, flow_sets};

/// Ratios from its inverse to one and this count as the same, unless a question states another.
pub(super) const TOLERANCE: f64 = 0.05;

/// Percentiles that may be compared, besides the mean.
const COMPARED: [Quantile; 2] = [Quantile::P99, Quantile::P95];

/// A measure of two schemes at one point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SchemeComparison {
    /// The point of the sweep.
    pub point: SweepPoint,
    /// The traffic group.
    pub group: String,
    /// The size class; null for all flows of the group.
    pub class: Option<String>,
    /// The metric: `qct_ms`, `step_ms`, `fct_ms`, `slowdown` or `goodput_mbps`.
    pub metric: &'static str,
    /// `p50`, `p95`, `p99`, `p99.9` or `mean`.
    pub statistic: &'static str,
    /// Unit; empty for a ratio.
    pub unit: &'static str,
    /// A, the baseline, and B.
    pub schemes: [String; 2],
    /// Values, ratio and verdict. The verdict is one of all comparisons of the headline.
    #[serde(flatten)]
    pub shown: ShownComparison,
    /// The verdict as a sentence.
    pub sentence: String,
    #[serde(skip)]
    pub(super) comparison: Comparison,
    #[serde(skip)]
    better: Preference,
    /// Whether the question of the scenario is about it.
    #[serde(skip)]
    pub(super) asked: bool,
}

/// A quantity that is compared.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Measure<'a> {
    /// A percentile of the times of flows or queries.
    Percentile(FlowSet<'a>, Quantile),
    /// The mean over seeds of the mean of a seed's flows or queries.
    Mean(FlowSet<'a>),
    /// The goodput of a group whose flows have no size.
    Goodput(&'a str),
}

impl<'a> Measure<'a> {
    const fn statistic(self) -> &'static str {
        match self {
            Self::Percentile(_, q) => q.name(),
            Self::Mean(_) | Self::Goodput(_) => "mean",
        }
    }

    const fn metric(self) -> (&'static str, &'static str) {
        match self {
            Self::Percentile(set, _) | Self::Mean(set) => (set.metric.key(), set.metric.unit()),
            Self::Goodput(_) => ("goodput_mbps", "Mbit/s"),
        }
    }

    const fn flows(self) -> (&'a str, Option<&'a str>) {
        match self {
            Self::Percentile(set, _) | Self::Mean(set) => (set.group, set.class),
            Self::Goodput(group) => (group, None),
        }
    }

    fn compare(self, [a, b]: [&[&RunFacts]; 2], tolerance: f64) -> Comparison {
        match self {
            Self::Percentile(set, q) => {
                let none = Sample::empty(set.metric.range());
                let [a, b] = [a, b].map(|runs| set.samples(runs, &none));
                compare_percentile(&a, &b, q, tolerance)
            }
            Self::Mean(set) => {
                let of = |runs: &[&RunFacts]| -> Vec<Option<f64>> {
                    let mean = |sample| SeedSamples::new(vec![sample]).mean().point.value();
                    runs.iter().map(|run| mean(set.sample(run)?)).collect()
                };
                compare_means(&of(a), &of(b), set.metric.range(), tolerance)
            }
            Self::Goodput(group) => {
                let of = |runs: &[&RunFacts]| -> Vec<Option<f64>> {
                    runs.iter().map(|run| run.group(group)?.goodput_mbps).collect()
                };
                compare_means(&of(a), &of(b), ValueRange::NOT_NEGATIVE, tolerance)
            }
        }
    }
}

/// Returns the measures of all flows, the first of them as the one that is asked about. `traffic`
/// is the group of a question.
pub(super) fn measures<'a>(
    runs: &'a [RunFacts],
    rows: &[TailRow],
    classes: &'a BTreeMap<String, Vec<String>>,
    traffic: Option<&str>,
) -> Vec<Measure<'a>> {
    let all: Vec<&RunFacts> = runs.iter().collect();
    let Some(first) = all.first() else { return Vec::new() };
    let sets: Vec<FlowSet<'a>> = flow_sets(&all, classes);
    let has = |group: &str, is: &dyn Fn(&FlowSet<'_>) -> bool| {
        sets.iter().any(|set| set.group == group && is(set))
    };
    let is_judged = |set: &&FlowSet<'_>| {
        let classed = has(set.group, &|s| s.class.is_some());
        let slowdown = has(set.group, &|s| s.class.is_some() && s.metric == TailMetric::Slowdown);
        match set.metric {
            metric if !metric.is_of_flows() => true,
            _ if has(set.group, &|s| !s.metric.is_of_flows()) => false,
            metric if classed => {
                set.class.is_some() && (metric == TailMetric::Slowdown) == slowdown
            }
            metric => metric == TailMetric::FctMs,
        }
    };
    let mut judged: Vec<FlowSet<'a>> = sets.iter().filter(is_judged).copied().collect();
    let place = |set: &FlowSet<'_>| {
        let above = rows.iter().find(|row| set.has(row)).and_then(|row| row.above_bytes);
        let other = Some(set.group) != traffic;
        (other, set.metric.is_of_flows(), above.unwrap_or(u64::MAX))
    };
    judged.sort_by_key(place);
    let of_set = |set: FlowSet<'a>| {
        let complete = rows.iter().filter(|row| set.has(row)).all(|row| !row.is_cut_off());
        let highest = common_percentile(rows, set);
        // A mean of cut-off flows has no upper end.
        let second =
            if complete { Measure::Mean(set) } else { Measure::Percentile(set, Quantile::P50) };
        let mut all = vec![Measure::Percentile(set, highest), second];
        // A median says nothing of a tail: it is not the first.
        if highest == Quantile::P50 {
            all.reverse();
            all.dedup();
        }
        all
    };
    let endless =
        first.groups.iter().filter(|group| group.flows > 0 && !has(&group.name, &|_| true));
    let goodput = endless.map(|group| Measure::Goodput(&group.name));
    judged.into_iter().flat_map(of_set).chain(goodput).collect()
}

/// Flows of all seeds beyond a percentile from which on it is compared. Of fewer no test decides
/// enough for several verdicts together.
const LEAST_BEYOND: u64 = 10;

/// Returns the highest percentile, up to the 99th, that every row of these flows has with
/// [`LEAST_BEYOND`] flows beyond it and an interval or a range of seeds; else the median.
pub(crate) fn common_percentile(rows: &[TailRow], set: FlowSet<'_>) -> Quantile {
    let is_known = |row: &TailRow, q: Quantile| {
        let known = |found: &ShownEstimate| !found.interval_text().is_empty();
        row.flows as u64 >= LEAST_BEYOND * q.least_count()
            && row.percentiles().iter().any(|(which, found)| *which == q && known(found))
    };
    let by_all = |q: &Quantile| rows.iter().filter(|row| set.has(row)).all(|row| is_known(row, *q));
    COMPARED.into_iter().find(by_all).unwrap_or(Quantile::P50)
}

/// All comparisons of a headline.
#[derive(Debug, Default)]
pub(super) struct Family {
    pub(super) members: Vec<SchemeComparison>,
}

impl Family {
    /// Compares scheme B with A at a point; returns the place of the comparison, unless they have
    /// no seed in common. A question may be about one that is there: it counts once.
    pub(super) fn compare(
        &mut self,
        runs: &[RunFacts],
        measure: Measure<'_>,
        (schemes, point): ([&str; 2], &SweepPoint),
        tolerance: f64,
    ) -> Option<usize> {
        let at: Vec<&RunFacts> = runs.iter().filter(|run| run.key.point == *point).collect();
        let [a, b] = paired(&at, schemes);
        if a.is_empty() {
            return None;
        }
        let (metric, unit) = measure.metric();
        let (group, class) = measure.flows();
        let is_known = |of: &SchemeComparison| {
            of.point == *point
                && (of.group.as_str(), of.class.as_deref()) == (group, class)
                && (of.metric, of.statistic) == (metric, measure.statistic())
                && of.schemes == schemes
        };
        if let Some(known) = self.members.iter().position(is_known) {
            return Some(known);
        }
        let comparison = measure.compare([&a, &b], tolerance);
        self.members.push(SchemeComparison {
            point: point.clone(),
            group: group.to_owned(),
            class: class.map(str::to_owned),
            metric,
            statistic: measure.statistic(),
            unit,
            schemes: schemes.map(str::to_owned),
            shown: ShownComparison::new(&comparison, None),
            sentence: String::new(),
            comparison,
            asked: false,
            better: match measure {
                Measure::Goodput(_) => Preference::Higher,
                Measure::Percentile(..) | Measure::Mean(_) => Preference::Lower,
            },
        });
        Some(self.members.len() - 1)
    }

    /// Decides all comparisons together.
    pub(super) fn judge(&mut self, label: &dyn Fn(&str) -> String) {
        let Some(flows) = self.members.first().map(SchemeComparison::flows) else { return };
        let first = |of: &SchemeComparison| of.asked || of.flows() == flows;
        let error = 1.0 - LEVEL;
        if self.judge_part(&first, error / 2.0) {
            self.judge_part(&|of| !first(of), error);
        } else if self.judge_part(&|of| !first(of), error / 2.0) {
            self.judge_part(&first, error);
        }
        for of in &mut self.members {
            let [a, b] = [0, 1].map(|i| label(&of.schemes[i]));
            let (comparison, names) = (&of.comparison, [a.as_str(), b.as_str()]);
            let (verdict, measure, unit) = (of.verdict(), &of.measure(), of.unit);
            of.sentence = VerdictSentence { verdict, comparison, names, measure, unit }.to_string();
        }
    }

    /// Decides some of the comparisons together; returns whether all of them are decided.
    fn judge_part(&mut self, is: &dyn Fn(&SchemeComparison) -> bool, error: f64) -> bool {
        let mut part: Vec<&mut SchemeComparison> =
            self.members.iter_mut().filter(|of| is(of)).collect();
        let evidence: Vec<(Evidence, Preference)> =
            part.iter().map(|of| (of.comparison.evidence, of.better)).collect();
        for (of, verdict) in part.iter_mut().zip(holm(&evidence, error)) {
            of.shown.verdict = Some(verdict);
        }
        part.iter().all(|of| of.verdict() != Verdict::Undecided)
    }
}

impl SchemeComparison {
    /// Returns the verdict.
    pub(super) fn verdict(&self) -> Verdict {
        self.shown.verdict.unwrap_or(Verdict::Undecided)
    }

    /// Returns the flows and the metric, as `slowdown of background, 0 B-10 kB`.
    pub(super) fn flows(&self) -> String {
        let title = match self.metric {
            "slowdown" => "slowdown",
            "qct_ms" => "query completion time",
            "fct_ms" => "completion time",
            "step_ms" => "step time",
            _ => "goodput",
        };
        let class = self.class.as_ref().map_or_else(String::new, |class| format!(", {class}"));
        format!("{title} of {}{class}", self.group)
    }

    /// Returns the name of the measure, as `p99 slowdown of background, 0 B-10 kB`.
    pub fn measure(&self) -> String {
        format!("{} {}", self.statistic, self.flows())
    }

    /// Returns by how much B is worse: a factor, above one if it is.
    pub(super) fn cost(&self) -> Option<f64> {
        let ratio = self.shown.ratio?;
        Some(if self.better == Preference::Lower { ratio } else { 1.0 / ratio })
    }
}
