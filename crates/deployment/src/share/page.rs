//! The result by share as a table, as figures and as `report.html`.

use lowtide_charts::{Axis, Chart, Dot, Figure, FigureFiles, Panel, PlotSeries, SeriesKind};
use lowtide_lab::{LabError, Results};
use lowtide_record::{Manifest, RunDir};

use super::result::{ShareClass, SharePoint, ShareResult, share_result};
use crate::html_page::{self, PageMeta, PageTable, Section, format_number, json};
use crate::request::{MovedEnds, ShareRequest};

/// Writes `share.json`, the figures and the report.
pub(crate) fn write_outputs(
    request: &ShareRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, ShareResult), LabError> {
    let result = share_result(request, manifest, results);
    dir.write("share.json", &json(&result)?)?;
    let figures: Vec<FigureFiles> = figures(&result)
        .iter()
        .map(|f| Ok(FigureFiles::of(f)?))
        .collect::<Result<_, LabError>>()?;
    let section = Section {
        title: "Effect on each class".to_owned(),
        text: String::new(),
        figures,
        tables: vec![table(&result)],
    };
    let seeds = if result.seeds == 1 { "seed" } else { "seeds" };
    let ends = match result.moves {
        MovedEnds::Both => "senders and receivers move",
        MovedEnds::Senders => "only senders move",
        MovedEnds::Receivers => "only receivers move",
    };
    let frame = PageMeta {
        lead: format!("{} hosts \u{b7} {ends} \u{b7} {} {seeds} each", result.hosts, result.seeds),
        equivalent_schemes: Vec::new(),
        findings: Vec::new(),
        thresholds: None,
        settings_note: "With all hosts moved.".to_owned(),
    };
    let mut files = html_page::write(dir, manifest, &frame, &[section])?;
    files.push("share.json".to_owned());
    Ok((files, result))
}

/// Returns the figures before they are drawn.
pub(crate) fn charts(request: &ShareRequest, manifest: &Manifest, results: &Results) -> Vec<Chart> {
    figures(&share_result(request, manifest, results)).into_iter().map(Chart::Panels).collect()
}

/// Column heads of the table.
pub fn table_head(result: &ShareResult) -> Vec<String> {
    let (from, to) = (&result.from, &result.to);
    vec![
        "moved".to_owned(),
        format!("{from}: Mbit/s per host"),
        format!("{to}: Mbit/s per host"),
        format!("{from}: FCT ms mean, p50, p99"),
        format!("{to}: FCT ms mean, p50, p99"),
        "queue p50, p99".to_owned(),
        "marks".to_owned(),
        "drops".to_owned(),
    ]
}

/// One row per number of hosts moved, for the text and the page.
pub fn table_rows(result: &ShareResult) -> Vec<Vec<String>> {
    let goodput =
        |c: &Option<ShareClass>| format_number(c.as_ref().and_then(|c| c.goodput_mbps_per_host));
    let fct = |c: &Option<ShareClass>| match c {
        None => format_number(None),
        Some(c) => [c.fct_ms_mean, c.fct_ms_p50, c.fct_ms_p99].map(format_number).join(", "),
    };
    result
        .points
        .iter()
        .map(|p| {
            vec![
                format!("{} of {}", p.moved_hosts, result.hosts),
                goodput(&p.stayed),
                goodput(&p.moved),
                fct(&p.stayed),
                fct(&p.moved),
                format!(
                    "{}, {}",
                    format_number(p.queue.p50_packets),
                    format_number(p.queue.p99_packets)
                ),
                p.queue.marks.to_string(),
                p.queue.drops.to_string(),
            ]
        })
        .collect()
}

fn table(result: &ShareResult) -> PageTable {
    PageTable {
        title: "Numbers".to_owned(),
        head: table_head(result),
        names: 1,
        rows: table_rows(result),
        folded: false,
    }
}

/// Reads one value of a class.
type Read = fn(&ShareClass) -> Option<f64>;

fn figures(result: &ShareResult) -> Vec<Figure> {
    let by_class: [(&str, &str, &str, Read); 3] = [
        ("goodput", "Goodput per host (Mbit/s)", "goodput_mbps", |c| c.goodput_mbps_per_host),
        ("fct-mean", "Mean transfer time of short flows (ms)", "fct_ms", |c| c.fct_ms_mean),
        (
            "fct-p99",
            "99th percentile of the transfer time of short flows (ms)",
            "fct_ms_p99",
            |c| c.fct_ms_p99,
        ),
    ];
    let mut out: Vec<Figure> = by_class
        .into_iter()
        .filter_map(|(id, label, column, read)| {
            let class = |i: usize, of: fn(&SharePoint) -> Option<&ShareClass>| {
                let name = if i == 0 { &result.from } else { &result.to };
                let role = ["stayed", "moved"][i];
                series(result, i, &format!("{name} ({role})"), &|p| of(p).and_then(read))
            };
            let series = vec![class(0, |p| p.stayed.as_ref()), class(1, |p| p.moved.as_ref())];
            figure(result, id, [label, column], series)
        })
        .collect();
    let queue = vec![
        series(result, 2, "median", &|p| p.queue.p50_packets),
        series(result, 3, "99th percentile", &|p| p.queue.p99_packets),
    ];
    out.extend(figure(
        result,
        "queue",
        ["Queue at the bottleneck (packets)", "queue_packets"],
        queue,
    ));
    out
}

fn series(
    result: &ShareResult,
    style: usize,
    name: &str,
    read: &dyn Fn(&SharePoint) -> Option<f64>,
) -> PlotSeries {
    let dot = |p: &SharePoint| Some(Dot::new(f64::from(p.moved_hosts), read(p)?));
    PlotSeries {
        scheme: name.to_owned(),
        part: String::new(),
        style,
        kind: SeriesKind::Measured,
        points: result.points.iter().filter_map(dot).collect(),
    }
}

fn caption(seeds: usize, series: &[PlotSeries], points: usize) -> String {
    let mut text = match seeds {
        1 => "One seed.".to_owned(),
        n => format!("Mean over {n} seeds."),
    };
    // At each end of the range one class has no hosts.
    if series.iter().any(|s| s.points.len() + 1 < points) {
        text.push_str(" Missing points have no such value because some flows did not complete.");
    }
    text
}

fn figure(
    result: &ShareResult,
    id: &str,
    [label, column]: [&str; 2],
    series: Vec<PlotSeries>,
) -> Option<Figure> {
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.y).collect();
    if values.is_empty() {
        return None;
    }
    let hosts = f64::from(result.hosts);
    let mut x = Axis::linear("Hosts moved", "hosts_moved", 0.0, hosts);
    (x.low, x.high) = (-0.03 * hosts, 1.03 * hosts);
    x.ticks.retain(|(at, _)| at.fract() == 0.0);
    Some(Figure {
        id: id.to_owned(),
        title: format!("{label}, moving from {} to {}", result.from, result.to),
        caption: caption(result.seeds, &series, result.points.len()),
        legend: series.iter().map(|s| (s.scheme.clone(), s.style)).collect(),
        panels: vec![Panel {
            title: String::new(),
            x,
            y: Axis::fitting(label, column, &values),
            series,
            guide_lines: Vec::new(),
            shade: None,
        }],
    })
}
