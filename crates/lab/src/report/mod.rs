//! `report.html`: a self-contained page that works offline.
//!
//! Contract: the page shows only values of the tables and the manifest. It states the number of
//! seeds, incomplete flows, decisive settings, the digest, and the command that reproduces it.

mod queues;
mod tails;

use lowtide_charts::FigureFiles;
use lowtide_charts::page::{self, fill};
use lowtide_record::{Manifest, ReportedSetting, SharedRuns, SweepPoint};
use lowtide_rows::HostRange;
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::error::LabError;
use crate::findings::RunFinding;
use crate::headline::{Headline, SchemeComparison, counted};
use crate::naming::{point_text, title};
use crate::plots::{PlotInput, ReportSection, line_and_fairness, plotted_metrics};
use crate::settings::DERIVED;
use crate::summary::SummaryRow;
use crate::transports::Transports;

/// A table of the page.
#[derive(Serialize)]
struct HtmlTable {
    #[serde(skip)]
    question: ReportSection,
    /// Whether it is collapsed.
    minor: bool,
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Settings that affect results most; the others are collapsed.
const DECISIVE: [&str; 22] = [
    "duration",
    "warmup",
    "end",
    "link-rate",
    "link-delay",
    "framing",
    "buffer",
    "k",
    "profile",
    "cc",
    "ecn",
    "ack",
    "feedback",
    "rto-min",
    "initial-window",
    "window-floor",
    "send-buffer",
    "receive-buffer",
    "delack-segments",
    "delack-timer",
    "start-jitter",
    "host-jitter",
];

/// Limit on findings on the page.
const MAX_FINDINGS: usize = 24;

fn shown_findings(source: PlotInput<'_>) -> Vec<String> {
    source.results.findings.iter().take(MAX_FINDINGS).map(RunFinding::sentence).collect()
}

/// Returns the page. `figures` are already drawn.
pub(crate) fn render(
    source: PlotInput<'_>,
    (transports, headline): (&Transports, &Headline),
    figures: &[(ReportSection, FigureFiles)],
) -> Result<String, LabError> {
    let m = source.manifest;
    let (deciding, rest) = partition_settings(&m.settings);
    let page = context! {
        manifest => Serde(m),
        digest => source.results.digest.as_str(),
        verdict => Serde(headline.all().collect::<Vec<_>>()),
        counted => counted(source.results),
        sections => sections(source, headline, figures),
        mismatches => Serde(&transports.mismatches),
        ran => Serde(transports.ran().map(|(s, ran)| (transports.label(s), ran)).collect::<Vec<_>>()),
        shared => Serde(m.shared.iter().map(SharedRuns::sentence).collect::<Vec<_>>()),
        deciding => Serde(deciding),
        rest => Serde(rest),
        differences => Serde(differences(m)),
        tolerance => tolerance(m),
        findings => Serde(shown_findings(source)),
        more_findings => source.results.findings.len().saturating_sub(MAX_FINDINGS),
    };
    Ok(fill(include_str!("report.html"), &page)?)
}

/// Returns the questions with their figures and tables; those without any are left out.
fn sections(
    source: PlotInput<'_>,
    headline: &Headline,
    figures: &[(ReportSection, FigureFiles)],
) -> Vec<Value> {
    let mut tables = tables(source);
    tables.extend(comparisons(headline));
    let section = |question: ReportSection| {
        let figures: Vec<Value> = figures
            .iter()
            .filter(|(of, _)| *of == question)
            .map(|(_, figure)| page::figure(figure, Some(&format!("figures/{}.csv", figure.id))))
            .collect();
        let (minor, major): (Vec<&HtmlTable>, Vec<&HtmlTable>) =
            tables.iter().filter(|t| t.question == question).partition(|t| t.minor);
        let empty = figures.is_empty() && minor.is_empty() && major.is_empty();
        (!empty).then(|| {
            context! {
                id => question.id(),
                heading => question.heading(),
                figures,
                tables => Serde(major),
                minor => Serde(minor),
            }
        })
    };
    ReportSection::ALL.into_iter().filter_map(section).collect()
}

/// Returns the differences between real packets and the scenario, each once.
fn differences(manifest: &Manifest) -> Vec<&str> {
    let all = manifest.runs.iter().filter_map(|r| r.measured.as_ref());
    let mut said: Vec<&str> = Vec::new();
    for text in all.flat_map(|m| m.remarks.iter().chain(&m.differences)) {
        if !said.contains(&text.as_str()) {
            said.push(text);
        }
    }
    said
}

/// Returns the delay from which on a packet is late, microseconds.
fn tolerance(manifest: &Manifest) -> u64 {
    let all = manifest.runs.iter().filter_map(|r| r.measured.as_ref());
    all.map(|m| m.tolerance_us as u64).max().unwrap_or(0)
}

/// Splits the settings into those that affect results most and the others.
pub fn partition_settings(
    all: &[ReportedSetting],
) -> (Vec<&ReportedSetting>, Vec<&ReportedSetting>) {
    let decides = |s: &&ReportedSetting| {
        s.values.len() > 1 || s.section == DERIVED || DECISIVE.contains(&s.name.as_str())
    };
    all.iter().partition(decides)
}

/// Returns the table of all comparisons.
fn comparisons(headline: &Headline) -> Option<HtmlTable> {
    let row = |of: &SchemeComparison| {
        let [a, b] = [&of.schemes[0], &of.schemes[1]];
        let point = if of.point.is_empty() { dash() } else { point_text(&of.point) };
        let (shown, unit) = (&of.shown, if of.unit.is_empty() { "" } else { " " });
        vec![
            format!("{}{unit}{}", of.measure(), of.unit),
            point,
            format!("{b} / {a}"),
            shown.b.text(),
            shown.a.text(),
            shown.ratio_text(),
            shown.verdict_text().to_owned(),
        ]
    };
    (!headline.comparisons.is_empty()).then(|| HtmlTable {
        question: ReportSection::ShortFlows,
        minor: false,
        title: "Comparisons, paired by seed: verdicts with a familywise error of 5 % (Holm)"
            .to_owned(),
        head: ["Measure", "Point", "B / A", "B", "A", "Ratio", "B is"].map(str::to_owned).into(),
        rows: headline.comparisons.iter().map(row).collect(),
    })
}

fn tables(source: PlotInput<'_>) -> Vec<HtmlTable> {
    let mut out = tails::tables(source);
    for m in plotted_metrics(source) {
        let of = |what: &str, metric: &str| HtmlTable {
            question: m.question,
            minor: m.question == ReportSection::ShortFlows,
            title: format!("{what} of group {}{}", m.group, m.in_unit()),
            head: head(source),
            rows: by_point(source, |r| r.subject.is_group_metric(&m.group, metric)),
        };
        out.push(of(m.title, m.metric));
    }
    for m in line_and_fairness(source) {
        let of = |r: &SummaryRow| {
            if m.of_queue {
                r.subject.is_queue_metric(&m.group, m.metric)
            } else {
                r.subject.is_group_metric(&m.group, m.metric)
            }
        };
        out.push(HtmlTable {
            question: m.question,
            minor: false,
            title: format!("{} of {}", m.title, m.group),
            head: head(source),
            rows: by_point(source, of),
        });
    }
    out.extend(queries(source));
    out.extend(queues::grids(source));
    out
}

/// Returns one table per group of queries, and one per collective, at the point shown.
fn queries(source: PlotInput<'_>) -> Vec<HtmlTable> {
    const QUERIES: &[(&str, &str)] = &[
        ("queries", "queries"),
        ("qct_ms.mean", "mean completion (ms)"),
        ("qct_ms.p50", "median (ms)"),
        ("qct_ms.p95", "95 % (ms)"),
        ("qct_ms.p99", "99 % (ms)"),
        ("timeout_fraction", "share with a timeout"),
        ("deadline_fraction", "share in time"),
    ];
    const STEPS: &[(&str, &str)] = &[
        ("iterations", "iterations"),
        ("step_ms.mean", "mean step (ms)"),
        ("step_ms.p50", "median (ms)"),
        ("step_ms.p99", "99 % (ms)"),
        ("step_ms.max", "longest (ms)"),
        ("end_spread_ms", "from the first rank's end to the last (ms)"),
    ];
    let table = |title: String, group: &str, metrics: &[(&str, &str)]| {
        let rows = metrics.iter().map(|(metric, name)| {
            at_point(source, (*name).to_owned(), &|r: &SummaryRow| {
                r.subject.is_group_metric(group, metric)
            })
        });
        HtmlTable { minor: true, ..grid(source, ReportSection::ShortFlows, &title, rows.collect()) }
    };
    let Some(run) = source.at_point().next() else { return Vec::new() };
    let queries = run.queries.iter().map(|q| (format!("Queries of group {}", q.name), &q.name));
    let queries = queries.map(|(title, name)| table(title, name, QUERIES));
    let steps =
        run.collectives.iter().map(|c| (format!("Steps of collective {}", c.name), &c.name));
    queries.chain(steps.map(|(title, name)| table(title, name, STEPS))).collect()
}

/// Returns a table with a column per scheme, at the point shown.
fn grid(
    source: PlotInput<'_>,
    question: ReportSection,
    title: &str,
    rows: Vec<Vec<String>>,
) -> HtmlTable {
    let at = point_text(&source.point());
    let at = if at.is_empty() { at } else { format!(", at {at}") };
    HtmlTable {
        question,
        minor: false,
        title: format!("{title}{at}"),
        head: std::iter::once(String::new()).chain(source.manifest.schemes.clone()).collect(),
        rows,
    }
}

/// Returns a row of such a table.
fn at_point(
    source: PlotInput<'_>,
    name: String,
    wanted: &dyn Fn(&SummaryRow) -> bool,
) -> Vec<String> {
    let point = source.point();
    let cells = source.manifest.schemes.iter().map(|scheme| {
        let summary = &source.results.summary;
        let found = summary
            .iter()
            .find(|r| r.subject.scheme == *scheme && r.subject.point == point && wanted(r));
        found.map_or_else(dash, cell)
    });
    std::iter::once(name).chain(cells).collect()
}

fn head(source: PlotInput<'_>) -> Vec<String> {
    let first = source.point();
    let keys: Vec<String> = first.keys().map(title).collect();
    std::iter::once(keys.join(", ")).chain(source.manifest.schemes.clone()).collect()
}

/// Returns a row per point and a column per scheme for the summary rows that `wanted` accepts.
fn by_point(source: PlotInput<'_>, wanted: impl Fn(&SummaryRow) -> bool) -> Vec<Vec<String>> {
    let rows: Vec<&SummaryRow> = source.results.summary.iter().filter(|r| wanted(r)).collect();
    let of = |point: &SweepPoint, scheme: &String| {
        let found = rows.iter().find(|r| r.subject.point == *point && r.subject.scheme == *scheme);
        found.map_or_else(dash, |r| cell(r))
    };
    let points = source.manifest.points.iter();
    points
        .map(|point| {
            let values: Vec<String> =
                point.0.iter().map(|(_, v)| HostRange::value_text(v)).collect();
            let cells = source.manifest.schemes.iter().map(|scheme| of(point, scheme));
            std::iter::once(values.join(", ")).chain(cells).collect()
        })
        .collect()
}

fn dash() -> String {
    "\u{2013}".to_owned()
}

/// Formats a value with its interval.
fn cell(row: &SummaryRow) -> String {
    row.estimate.text()
}
