//! Writes the result of a rollout: JSON, CSV, figures and `report.html`.

use std::collections::BTreeSet;

use lowtide_charts::{
    Axis, Chart, Dot, Figure, FigureFiles, GuideLine, Panel, PlotSeries, SeriesKind,
};
use lowtide_lab::{LabError, Results};
use lowtide_record::{Manifest, RunDir};
use lowtide_rows::DeploymentClass;

use super::flows::{ClassPair, read};
use super::queries::QueryClassRow;
use super::result::{ALL_SIZES, RolloutResult, RolloutRow, rollout_result};
use super::text::{Tables, describe};
use super::{SHARE_KEY, csv_files};
use crate::estimate::Estimate;
use crate::html_page::{self, PageMeta, PageTable, Section, json};
use crate::request::RolloutRequest;
use crate::text_table::TextTable;

/// Queries by class of the client, if the scenario has queries.
const QUERIES_CSV: &str = "deployment-queries.csv";

/// Explains the section of queries.
const QUERIES: &str = "Completion times of queries by the class of the client, whose servers may \
    be of both classes, and of the same queries with no host moved.";

/// Writes all outputs and returns their names.
pub(crate) fn write_outputs(
    request: &RolloutRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, RolloutResult), LabError> {
    let runs = read(dir, manifest, SHARE_KEY)?;
    let result = rollout_result(request, manifest, results, &runs);
    dir.write("deployment.json", &json(&result)?)?;
    dir.write("deployment.csv", &csv_files::flows(&result.rows))?;
    let mut written = vec!["deployment.json", "deployment.csv"];
    if !result.queries.is_empty() {
        dir.write(QUERIES_CSV, &csv_files::queries(&result.queries))?;
        written.push(QUERIES_CSV);
    }
    let drawn =
        |figures: Vec<Figure>| figures.iter().map(FigureFiles::of).collect::<Result<Vec<_>, _>>();
    let (main, by_size) =
        drawn(flow_figures(&result))?.into_iter().partition(|f| ["p99", "ratio"].contains(&&*f.id));
    let section = |title: &str, text: &str, figures, tables: Vec<TextTable>| Section {
        title: title.to_owned(),
        text: text.to_owned(),
        figures,
        tables: tables.into_iter().map(PageTable::from).collect(),
    };
    let Tables { effects, percentiles, by_size: sizes, queries, connections } = Tables::of(&result);
    let mut sections = vec![
        section("Who pays?", &method(&result), main, vec![effects, percentiles]),
        section("Which sizes pay?", "", by_size, vec![sizes]),
    ];
    if !queries.is_empty() {
        let figures = drawn(query_figures(&result))?;
        sections.push(section("Which queries pay?", QUERIES, figures, queries));
    }
    sections.push(section("What did the connections run?", "", Vec::new(), vec![connections]));
    let thresholds = toml::to_string(&result.thresholds)
        .map_err(|e| LabError::Draw { what: "the thresholds".to_owned(), reason: e.to_string() })?;
    let frame = PageMeta {
        lead: result.verdict.clone(),
        equivalent_schemes: vec![describe(&result)],
        findings: Vec::new(),
        thresholds: Some(thresholds),
        settings_note: "At the greatest share.".to_owned(),
    };
    let mut files = html_page::write(dir, manifest, &frame, &sections)?;
    files.extend(written.into_iter().map(str::to_owned));
    Ok((files, result))
}

/// Returns the figures before they are drawn.
pub(crate) fn charts(
    request: &RolloutRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<Vec<Chart>, LabError> {
    let runs = read(dir, manifest, SHARE_KEY)?;
    let result = rollout_result(request, manifest, results, &runs);
    let figures = flow_figures(&result).into_iter().chain(query_figures(&result));
    Ok(figures.map(Chart::Panels).collect())
}

fn method(result: &RolloutResult) -> String {
    let interval = if result.seeds < super::statistics::LEAST_SEEDS {
        "Fewer than five seeds give no interval."
    } else {
        "Intervals: 95 %, over seeds."
    };
    format!(
        "Percentiles of all seeds' flows together. The same flows before the move: those between \
         the same hosts at the same seed, with no host moved. {interval}"
    )
}

/// Returns the figures of the slowdown of flows.
fn flow_figures(result: &RolloutResult) -> Vec<Figure> {
    let mut sizes: Vec<&str> = result.pairs.iter().map(|p| p.sizes.as_str()).collect();
    let mut seen = BTreeSet::new();
    sizes.retain(|name| seen.insert(*name));
    let mut out: Vec<Figure> = Vec::new();
    for (i, size) in sizes.into_iter().enumerate() {
        let (id, of) = if size == ALL_SIZES {
            ("p99".to_owned(), "all flows".to_owned())
        } else {
            (format!("p99-size{i}"), format!("flows of {size}"))
        };
        let title = format!("99th percentile of the slowdown of {of}");
        let names = [&id, &title, "Slowdown, 99th percentile", "slowdown_p99"];
        let lines = pair_lines(result, size, |r| r.slowdown.p99);
        out.extend(figure(result, names, BY_PAIR, None, lines));
        if size == ALL_SIZES {
            let title = "The same over that of the same flows before the move";
            let names = ["ratio", title, "Ratio to before the move", "ratio_p99"];
            let lines = pair_lines(result, size, |r| r.ratio.and_then(|q| q.p99));
            out.extend(figure(result, names, BY_PAIR, Some(1.0), lines));
        }
    }
    out
}

/// Returns the figures of each group of queries.
fn query_figures(result: &RolloutResult) -> Vec<Figure> {
    let groups: BTreeSet<&str> = result.queries.iter().map(|r| r.group.as_str()).collect();
    let mut out = Vec::new();
    for (i, group) in groups.into_iter().enumerate() {
        let ids = [format!("qct-p99-group{i}"), format!("qct-ratio-group{i}")];
        let title = format!("99th percentile of the completion time of queries of {group}");
        let names = [&ids[0], &title, "Completion time, 99th percentile (ms)", "qct_ms_p99"];
        let lines = client_lines(result, group, |r| r.qct_ms.p99);
        out.extend(figure(result, names, BY_CLIENT, None, lines));
        let title = format!("The same of {group} over that of the same queries before the move");
        let names = [&ids[1], &title, "Ratio to before the move", "ratio_p99"];
        let lines = client_lines(result, group, |r| r.ratio.and_then(|q| q.p99));
        out.extend(figure(result, names, BY_CLIENT, Some(1.0), lines));
    }
    out
}

/// Name, style and points of a line.
type Line = (&'static str, usize, Vec<Dot>);

/// Returns a value by share, one line per pair of classes.
fn pair_lines(
    result: &RolloutResult,
    size: &str,
    read: impl Fn(&RolloutRow) -> Option<Estimate>,
) -> Vec<Line> {
    let line = |(style, pair): (usize, ClassPair)| {
        let rows = result.rows.iter().filter(|r| r.pair == pair.name() && r.sizes == size);
        let dots = rows.filter_map(|r| Some(dot(r.share_percent, read(r)?)));
        (pair.name(), style, dots.collect())
    };
    ClassPair::ALL.into_iter().enumerate().map(line).collect()
}

/// Returns a value by share, one line per class of the client.
fn client_lines(
    result: &RolloutResult,
    group: &str,
    read: impl Fn(&QueryClassRow) -> Option<Estimate>,
) -> Vec<Line> {
    let line = |(style, class): (usize, DeploymentClass)| {
        let rows = result.queries.iter().filter(|r| r.group == group && r.client == class.name());
        let dots = rows.filter_map(|r| Some(dot(r.share_percent, read(r)?)));
        (class.name(), style, dots.collect())
    };
    [DeploymentClass::Old, DeploymentClass::New].into_iter().enumerate().map(line).collect()
}

fn dot(share_percent: f64, estimate: Estimate) -> Dot {
    Dot { x: share_percent, y: estimate.value, interval: estimate.ci95 }
}

/// Meaning of the lines of flows.
const BY_PAIR: &str = "One line per pair: class of the sender > class of the receiver.";

/// Meaning of the lines of queries.
const BY_CLIENT: &str = "One line per class of the client.";

/// Draws lines by share; `guide` is the value before the move.
fn figure(
    result: &RolloutResult,
    [id, title, label, column]: [&str; 4],
    caption: &str,
    guide: Option<f64>,
    lines: Vec<Line>,
) -> Option<Figure> {
    let series: Vec<PlotSeries> = lines
        .into_iter()
        .map(|(name, style, points)| PlotSeries {
            scheme: name.to_owned(),
            part: String::new(),
            style,
            kind: SeriesKind::Measured,
            points,
        })
        .collect();
    let dots = || series.iter().flat_map(|s| &s.points);
    let ends = dots().flat_map(|d| d.interval.unwrap_or([d.y, d.y]));
    let values: Vec<f64> = ends.collect();
    if values.is_empty() {
        return None;
    }
    let mut x = Axis::linear("Moved share of the hosts (%)", "share_percent", 0.0, 100.0);
    (x.low, x.high) = (-3.0, 103.0);
    let line = |at| GuideLine { label: "before".to_owned(), at, vertical: false };
    Some(Figure {
        id: id.to_owned(),
        title: format!("{title}, {} to {}", result.from, result.to),
        caption: format!(
            "{caption} All seeds together; bars are 95 % intervals. A missing point has too few \
             values, or unfinished ones that could change it."
        ),
        legend: series.iter().map(|s| (s.scheme.clone(), s.style)).collect(),
        panels: vec![Panel {
            title: String::new(),
            x,
            y: Axis::fitting(label, column, &values),
            series,
            guide_lines: guide.map(line).into_iter().collect(),
            shade: None,
        }],
    })
    .map(|figure| figure.explain_absent(&|_| "no value at any share".to_owned()))
}
