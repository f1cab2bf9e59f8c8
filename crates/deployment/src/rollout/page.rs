//! Writes the result of a rollout: JSON, CSV, figures and `report.html`.

use std::collections::BTreeSet;

use lowtide_charts::{
    Axis, Dot, Figure, FigureFiles, GuideLine, Panel, PlotSeries, SeriesKind, csv,
};
use lowtide_lab::{LabError, Results};
use lowtide_record::{Manifest, RunDir};

use super::SHARE_KEY;
use super::effect::Effect;
use super::flows::{ClassPair, read};
use super::result::{ALL_SIZES, RolloutResult, RolloutRow, rollout_result};
use super::statistics::Percentiles;
use super::text::{describe, tables};
use crate::estimate::{Estimate, csv_cells};
use crate::html_page::{self, PageMeta, PageTable, Section, json};
use crate::request::RolloutRequest;

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
    dir.write("deployment.csv", &to_csv(&result))?;
    let mut figures = Vec::new();
    for figure in all_figures(&result) {
        figures.push(FigureFiles::of(&figure)?);
    }
    let [main, by_size]: [Vec<FigureFiles>; 2] = {
        let (main, rest) =
            figures.into_iter().partition(|f| ["p99", "ratio"].contains(&f.id.as_str()));
        [main, rest]
    };
    let mut shown = tables(&result).into_iter().map(PageTable::from);
    let mut next = |n: usize| shown.by_ref().take(n).collect::<Vec<_>>();
    let section = |title: &str, text: &str, figures, tables| Section {
        title: title.to_owned(),
        text: text.to_owned(),
        figures,
        tables,
    };
    let sections = [
        section("Who pays?", &method(&result), main, next(2)),
        section("Which sizes pay?", "", by_size, next(1)),
        section("What did the connections run?", "", Vec::new(), next(1)),
    ];
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
    files.extend(["deployment.json", "deployment.csv"].map(str::to_owned));
    Ok((files, result))
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

/// Reads one percentile.
type ReadPercentile = fn(&Percentiles) -> Option<Estimate>;

/// Names and readers of the percentiles.
const PERCENTILES: [(&str, ReadPercentile); 4] =
    [("p50", |p| p.p50), ("p95", |p| p.p95), ("p99", |p| p.p99), ("p999", |p| p.p999)];

fn to_csv(result: &RolloutResult) -> String {
    let head = ["share_percent", "moved_hosts", "pair", "sizes", "flows", "unfinished", "failed"];
    let mut columns: Vec<String> = head.map(str::to_owned).into();
    for of in ["slowdown", "before", "ratio"] {
        for (name, _) in PERCENTILES {
            let column = format!("{of}_{name}");
            columns.extend([format!("{column}_ci95_low"), format!("{column}_ci95_high")]);
            columns.insert(columns.len() - 2, column);
        }
    }
    columns.push("effect".to_owned());
    let mut text = csv::line(columns.iter().map(String::as_str));
    for row in &result.rows {
        let mut cells = vec![
            row.share_percent.to_string(),
            row.moved_hosts.to_string(),
            row.pair.to_owned(),
            row.sizes.clone(),
            row.flows.to_string(),
            row.unfinished.to_string(),
            row.failed.to_string(),
        ];
        for of in [Some(row.slowdown), row.before, row.ratio] {
            for (_, read) in PERCENTILES {
                cells.extend(csv_cells(of.as_ref().and_then(read)));
            }
        }
        cells.push(row.effect.map_or("", Effect::name).replace(' ', "-"));
        text.push_str(&csv::line(cells.iter().map(String::as_str)));
    }
    text
}

fn all_figures(result: &RolloutResult) -> Vec<Figure> {
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
        out.extend(figure(result, size, names, 0.0, |r| r.slowdown.p99));
        if size == ALL_SIZES {
            let title = "The same over that of the same flows before the move";
            let names = ["ratio", title, "Ratio to before the move", "ratio_p99"];
            out.extend(figure(result, size, names, 1.0, |r| r.ratio.and_then(|q| q.p99)));
        }
    }
    out
}

/// Draws a value by share, one line per pair; `guide` is a reference line, zero for none.
fn figure(
    result: &RolloutResult,
    size: &str,
    [id, title, label, column]: [&str; 4],
    guide: f64,
    read: impl Fn(&RolloutRow) -> Option<Estimate>,
) -> Option<Figure> {
    let series: Vec<PlotSeries> = ClassPair::ALL
        .into_iter()
        .enumerate()
        .map(|(style, pair)| {
            let rows = result.rows.iter().filter(|r| r.pair == pair.name() && r.sizes == size);
            let dot = |r: &RolloutRow| {
                let e = read(r)?;
                Some(Dot { x: r.share_percent, y: e.value, interval: e.ci95 })
            };
            PlotSeries {
                scheme: pair.name().to_owned(),
                part: String::new(),
                style,
                kind: SeriesKind::Measured,
                points: rows.filter_map(dot).collect(),
            }
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let dots = || series.iter().flat_map(|s| &s.points);
    let ends = dots().flat_map(|d| d.interval.unwrap_or([d.y, d.y]));
    let values: Vec<f64> = ends.collect();
    if values.is_empty() {
        return None;
    }
    let mut x = Axis::linear("Moved share of the hosts (%)", "share_percent", 0.0, 100.0);
    (x.low, x.high) = (-3.0, 103.0);
    let line = GuideLine { label: "before".to_owned(), at: guide, vertical: false };
    Some(Figure {
        id: id.to_owned(),
        title: format!("{title}, {} to {}", result.from, result.to),
        caption: "One line per pair: class of the sender > class of the receiver. All seeds \
                  together; bars are 95 % intervals. A missing point has too few flows, or \
                  unfinished ones that could change it."
            .to_owned(),
        legend: series.iter().map(|s| (s.scheme.clone(), s.style)).collect(),
        panels: vec![Panel {
            title: String::new(),
            x,
            y: Axis::fitting(label, column, &values),
            series,
            guide_lines: if guide > 0.0 { vec![line] } else { Vec::new() },
            shade: None,
        }],
    })
}
