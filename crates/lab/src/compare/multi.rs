//! Compares more than two sets of results: each with the first, with possible causes of the
//! differences.
//!
//! Contract: the differences are those of [`super::compare`]. A cause is a figure of the manifests
//! or runs that differs as well; without such a figure none is named.

use lowtide_record::TimingReport;
use serde::Serialize;

use super::{CompareOptions, ComparedMetric, compare};
use crate::error::LabError;
use crate::naming::point_text;
use crate::network_figures::{differing_figures, rows_of};
use crate::shown_estimate::ShownEstimate;
use crate::stored::CompletedExperiment;
use crate::subject::MetricSubject;

/// One metric in every set of results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MetricRow {
    /// Subject of the metric.
    #[serde(flatten)]
    pub subject: MetricSubject,
    /// Its value in the first set.
    pub first: ShownEstimate,
    /// The comparisons of the other sets with it, in their order; `None` if one lacks the metric.
    pub others: Vec<Option<ComparedMetric>>,
}

/// Possible cause of differences between a set of results and the first one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PossibleCause {
    /// Index of the set, from 1; 0 is the reference.
    pub column: usize,
    /// The scheme.
    pub scheme: String,
    /// The cause, with its figures.
    pub text: String,
}

/// Comparison of several sets of results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MultiComparison {
    /// Every metric.
    pub lines: Vec<MetricRow>,
    /// Possible causes of the differences.
    pub causes: Vec<PossibleCause>,
}

/// Compares the first of `all` with each of the others.
///
/// # Errors
/// As for [`compare`].
pub fn compare_to_first(
    all: &[&CompletedExperiment],
    wanted: &CompareOptions,
) -> Result<MultiComparison, LabError> {
    let Some((first, others)) = all.split_first() else {
        return Ok(MultiComparison { lines: Vec::new(), causes: Vec::new() });
    };
    let mut lines: Vec<MetricRow> = Vec::new();
    let mut causes = Vec::new();
    for (i, other) in others.iter().enumerate() {
        let found = compare(&first.results, &other.results, wanted)?;
        let mut schemes: Vec<String> = Vec::new();
        for row in found.rows {
            if row.shown.differs() && !schemes.contains(&row.subject.scheme) {
                schemes.push(row.subject.scheme.clone());
            }
            let at = lines.iter().position(|l| l.subject == row.subject).unwrap_or_else(|| {
                let about = row.subject.clone();
                lines.push(MetricRow {
                    subject: about,
                    first: row.shown.a.clone(),
                    others: vec![None; others.len()],
                });
                lines.len() - 1
            });
            lines[at].others[i] = Some(row);
        }
        for scheme in schemes {
            let texts = explain(first, other, &scheme);
            let cause = |text| PossibleCause { column: i + 1, scheme: scheme.clone(), text };
            causes.extend(texts.into_iter().map(cause));
        }
    }
    Ok(MultiComparison { lines, causes })
}

/// Fraction of late packets from which lateness is reported.
const LATE_FRACTION: f64 = 0.01;

fn explain(first: &CompletedExperiment, other: &CompletedExperiment, scheme: &str) -> Vec<String> {
    let mut out = Vec::new();
    explain_lateness(other, scheme, &mut out);
    for point in &first.manifest.points {
        let [a, b] = [first, other].map(|of| rows_of(&of.results.summary, scheme, point));
        let figures = differing_figures(&a, &b);
        if !figures.is_empty() {
            let place = point_text(point);
            let at = if place.is_empty() { place } else { format!("at {place}: ") };
            out.push(format!("{at}{}", figures.join("; ")));
        }
    }
    let mut said: Vec<&String> = Vec::new();
    for text in measured(other, scheme).flat_map(|m| &m.differences) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    out.extend(said.into_iter().cloned());
    out
}

fn measured<'a>(
    of: &'a CompletedExperiment,
    scheme: &str,
) -> impl Iterator<Item = &'a TimingReport> {
    let runs = of.manifest.runs.iter().filter(move |r| r.key.scheme == scheme);
    runs.filter_map(|r| r.measured.as_ref()).collect::<Vec<_>>().into_iter()
}

/// Reports that the bottleneck fell behind schedule.
fn explain_lateness(other: &CompletedExperiment, scheme: &str, out: &mut Vec<String>) {
    let runs: Vec<&TimingReport> = measured(other, scheme).collect();
    let share = |m: &&&TimingReport| m.late_packets as f64 > LATE_FRACTION * m.packets as f64;
    let behind = runs.iter().filter(share).count();
    let worst = runs.iter().map(|m| m.late_max_us).max_by(f64::total_cmp);
    if let Some(worst) = worst.filter(|_| behind > 0) {
        let p99 = runs.iter().map(|m| m.late_p99_us).max_by(f64::total_cmp).unwrap_or_default();
        out.push(format!(
            "the bottleneck fell behind in {behind} of {} runs: packets left up to {worst:.0} us late, p99 up to \
             {p99:.0} us",
            runs.len()
        ));
        let steal: f64 = runs.iter().map(|m| m.steal_ms).sum();
        if steal > 0.0 {
            out.push(format!(
                "the hypervisor stole {steal:.0} ms of CPU time in these {} runs",
                runs.len()
            ));
        }
    }
    let refused: u64 = runs.iter().map(|m| m.refused).sum();
    if refused > 0 {
        out.push(format!("interfaces did not take {refused} packets, which are lost"));
    }
}
