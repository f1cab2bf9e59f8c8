//! Selection of the figures of a set of results.
//!
//! Contract: everything comes from the run directory. Figures over time show the first seed at the
//! last point of the sweep, and say so. A scheme without data is in the legend, with the reason.

mod frames;
mod metric;
mod queue;
mod report_section;
mod sweep;
mod tails;
mod window;

use lowtide_charts::{Axis, Figure};
use lowtide_record::{Manifest, ReportedSetting, RunDir, SweepPoint};
use lowtide_units::{Duration, parse_duration};

use crate::error::LabError;
use crate::facts::RunFacts;
use crate::naming::point_text;
use crate::results::Results;

pub(crate) use frames::frames;
pub(crate) use metric::{line_and_fairness, plotted_metrics};
pub(crate) use queue::longest_queue;
pub(crate) use report_section::ReportSection;
pub use sweep::{Sweep, axis_position};
pub(crate) use tails::classed_sets;

/// Data source of the figures.
#[derive(Clone, Copy)]
pub(crate) struct PlotInput<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) results: &'a Results,
}

/// Returns all figures of a run directory, the most significant first.
pub(crate) fn figures(
    dir: &RunDir,
    source: PlotInput<'_>,
) -> Result<Vec<(ReportSection, Figure)>, LabError> {
    let in_section = |section| move |figure| (section, figure);
    let sweep = tails::over_sweep(source).into_iter().map(in_section(ReportSection::ShortFlows));
    let mut out: Vec<(ReportSection, Figure)> = sweep.collect();
    out.extend(metric::figures(source));
    out.extend(tails::by_size(source).into_iter().map(in_section(ReportSection::Fairness)));
    out.extend(at_point(dir, source)?);
    Ok(out)
}

/// Returns the figures of one point: over time, and distributions.
fn at_point(dir: &RunDir, source: PlotInput<'_>) -> Result<Vec<(ReportSection, Figure)>, LabError> {
    let of = |section| move |figure| (section, figure);
    let distributions = tails::distributions(source).into_iter();
    let mut out: Vec<(ReportSection, Figure)> =
        distributions.map(of(ReportSection::ShortFlows)).collect();
    let first = source.first_seeds();
    let series = dir.series(&first.iter().map(|r| r.key.run).collect::<Vec<_>>())?;
    let all: Vec<u32> = source.at_point().map(|r| r.key.run).collect();
    if let Some(queue) = longest_queue(source) {
        out.extend(
            queue::over_time(source, queue, &series.queue_samples).map(of(ReportSection::Queue)),
        );
        out.extend(
            queue::distribution(source, queue, &dir.levels(&all)?).map(of(ReportSection::Queue)),
        );
    }
    out.extend(window::window(source, &series.probes).map(of(ReportSection::Senders)));
    let variables = window::variables(source, &series.variables).into_iter();
    out.extend(variables.map(of(ReportSection::Senders)));
    Ok(out)
}

impl<'a> PlotInput<'a> {
    /// Returns the point that figures over time show.
    pub(crate) fn point(self) -> SweepPoint {
        self.manifest.points.last().cloned().unwrap_or_default()
    }

    /// Returns all runs at that point.
    pub(crate) fn at_point(self) -> impl Iterator<Item = &'a RunFacts> {
        let point = self.point();
        self.results.runs.iter().filter(move |r| r.key.point == point)
    }

    /// Returns the runs at that point with the first seed, one per scheme.
    pub(crate) fn first_seeds(self) -> Vec<&'a RunFacts> {
        let seed = self.manifest.seeds.first().copied();
        self.at_point().filter(|r| Some(r.key.seed) == seed).collect()
    }

    /// Returns the end of the warm-up, picoseconds.
    pub(crate) fn warmup_ps(self) -> u64 {
        let find = |s: &&ReportedSetting| s.section == "run" && s.name == "warmup";
        let setting = self.manifest.settings.iter().find(find);
        let text = setting.and_then(|s| s.values.first());
        text.and_then(|t| parse_duration(t).ok()).map_or(0, Duration::as_ps)
    }

    /// Returns the number of a scheme, which is also its style number.
    pub(crate) fn style(self, scheme: &str) -> usize {
        self.manifest.schemes.iter().position(|s| s == scheme).unwrap_or(0)
    }

    /// Returns a legend of all schemes.
    pub(crate) fn legend(self) -> Vec<(String, usize)> {
        self.manifest.schemes.iter().enumerate().map(|(i, s)| (s.clone(), i)).collect()
    }

    /// Returns why no time of a group is drawn for a scheme: none finished, or the unfinished ones
    /// leave the value undefined.
    pub(crate) fn no_time(self, group: &str, scheme: &str, value: &str) -> String {
        let of = |run: &&RunFacts| run.key.scheme == scheme;
        let runs = || self.results.runs.iter().filter(of);
        let (queries, flows) = (
            runs()
                .filter_map(|run| run.queries(group))
                .map(|q| (q.queries, q.unfinished + q.failed)),
            runs().filter_map(|run| run.group(group)).map(|g| (g.flows, g.unfinished + g.failed)),
        );
        let sum = |all: &mut dyn Iterator<Item = (usize, usize)>| {
            all.fold((0, 0), |(n, m), (all, open)| (n + all, m + open))
        };
        let (what, (all, open)) = match sum(&mut { queries }) {
            (0, _) => ("flows", sum(&mut { flows })),
            found => ("queries", found),
        };
        match all.saturating_sub(open) {
            _ if all == 0 => format!("no {what}"),
            0 => format!("no finished {what}"),
            _ if open > 0 => format!("no {value}, {open} of {all} {what} did not finish"),
            _ => format!("no {value}"),
        }
    }

    /// Returns the seed and point of a figure over time, for its caption.
    pub(crate) fn caption_prefix(self) -> String {
        let seed = self.manifest.seeds.first().map_or_else(String::new, u64::to_string);
        let point = self.point();
        if point.is_empty() {
            format!("Seed {seed}.")
        } else {
            format!("At {}, seed {seed}.", point_text(&point))
        }
    }
}

/// Returns the time axis for values up to `end_ps`, and picoseconds per unit.
pub(crate) fn time_axis(end_ps: u64) -> (Axis, f64) {
    let (unit, scale) = match end_ps {
        0..2_000_000_000 => ("us", 1e6),
        2_000_000_000..2_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    };
    let end = (end_ps as f64 / scale).max(1e-3);
    (Axis::linear(&format!("Time ({unit})"), &format!("time_{unit}"), 0.0, end), scale)
}
