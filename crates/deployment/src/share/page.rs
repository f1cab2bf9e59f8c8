//! Writes the result by share: JSON, CSV, figures and `report.html`.

use lowtide_charts::{Axis, Chart, Dot, Figure, FigureFiles, Panel, PlotSeries, SeriesKind};
use lowtide_lab::{LabError, Results};
use lowtide_output::csv;
use lowtide_record::{Manifest, RunDir};

use super::result::{ShareClass, SharePoint, ShareQueue, ShareResult, share_result};
use super::text::{describe, method, tables};
use crate::estimate::{Estimate, csv_cells};
use crate::html_page::{self, PageMeta, PageTable, Section, json};
use crate::request::ShareRequest;

/// Writes all outputs and returns their names.
pub(crate) fn write_outputs(
    request: &ShareRequest,
    dir: &RunDir,
    manifest: &Manifest,
    results: &Results,
) -> Result<(Vec<String>, ShareResult), LabError> {
    let result = share_result(request, manifest, results);
    dir.write("share.json", &json(&result)?)?;
    dir.write("share.csv", &to_csv(&result))?;
    let figures: Vec<FigureFiles> = figures(&result)
        .iter()
        .map(|f| Ok(FigureFiles::of(f)?))
        .collect::<Result<_, LabError>>()?;
    let section = Section {
        title: "Effect on each class".to_owned(),
        text: method(&result),
        figures,
        tables: tables(&result).into_iter().map(PageTable::from).collect(),
    };
    let frame = PageMeta {
        lead: describe(&result),
        equivalent_schemes: Vec::new(),
        findings: Vec::new(),
        thresholds: None,
        settings_note: "With all hosts moved.".to_owned(),
    };
    let mut files = html_page::write(dir, manifest, &frame, &[section])?;
    files.extend(["share.json", "share.csv"].map(str::to_owned));
    Ok((files, result))
}

/// Returns the figures before they are drawn.
pub(crate) fn charts(request: &ShareRequest, manifest: &Manifest, results: &Results) -> Vec<Chart> {
    figures(&share_result(request, manifest, results)).into_iter().map(Chart::Panels).collect()
}

/// Reads one value of a class, or of the bottleneck.
type Read<T> = fn(&T) -> Option<Estimate>;

/// Values of a class in the CSV file.
const CLASS_VALUES: [(&str, Read<ShareClass>); 9] = [
    ("goodput_mbps_per_host", |c| c.goodput_mbps_per_host),
    ("jain", |c| c.jain),
    ("fct_ms_mean", |c| c.fct_ms_mean),
    ("fct_ms_mean_at_least", |c| c.fct_ms_mean_at_least),
    ("fct_ms_p50", |c| c.fct_ms_p50),
    ("fct_ms_p99", |c| c.fct_ms_p99),
    ("marked_fraction", |c| c.marked_fraction),
    ("rto_count", |c| c.rto_count),
    ("retx_bytes", |c| c.retx_bytes),
];

/// Values of the bottleneck in the CSV file.
const QUEUE_VALUES: [(&str, Read<ShareQueue>); 8] = [
    ("mean_packets", |q| q.mean_packets),
    ("p50_packets", |q| q.p50_packets),
    ("p99_packets", |q| q.p99_packets),
    ("marks", |q| q.marks),
    ("drops", |q| q.drops),
    ("overflow_drops", |q| q.overflow_drops),
    ("aqm_drops", |q| q.aqm_drops),
    ("utilisation", |q| q.utilisation),
];

/// Returns a line per number of hosts moved, class (or `queue`) and value.
fn to_csv(result: &ShareResult) -> String {
    let head = ["moved_hosts", "of", "scheme", "metric", "value", "ci95_low", "ci95_high"];
    let mut text = csv::line(head);
    for point in &result.points {
        let moved = point.moved_hosts.to_string();
        let mut add = |of: &str, scheme: &str, metric: &str, estimate| {
            let [value, low, high] = csv_cells(estimate);
            let cells = [moved.as_str(), of, scheme, metric, &value, &low, &high];
            text.push_str(&csv::line(cells));
        };
        for ((role, class), scheme) in point.classes().into_iter().zip(result.schemes()) {
            let Some(class) = class else { continue };
            for (metric, read) in CLASS_VALUES {
                add(role, scheme, metric, read(class));
            }
        }
        for (metric, read) in QUEUE_VALUES {
            add("queue", "", metric, read(&point.queue));
        }
    }
    text
}

/// Values over which a figure's points are taken.
#[derive(Clone, Copy)]
enum Over {
    /// One value per seed, of which the mean is drawn.
    Seeds,
    /// The flows of all seeds together.
    Flows,
}

fn figures(result: &ShareResult) -> Vec<Figure> {
    let by_class: [([&str; 3], Over, Read<ShareClass>); 4] = [
        (["goodput", "Goodput per host (Mbit/s)", "goodput_mbps"], Over::Seeds, |c| {
            c.goodput_mbps_per_host
        }),
        (["fct-mean", "Mean completion time of finite flows (ms)", "fct_ms"], Over::Seeds, |c| {
            c.fct_ms_mean
        }),
        (
            ["fct-p50", "Median completion time of finite flows (ms)", "fct_ms_p50"],
            Over::Flows,
            |c| c.fct_ms_p50,
        ),
        (
            [
                "fct-p99",
                "99th percentile of the completion time of finite flows (ms)",
                "fct_ms_p99",
            ],
            Over::Flows,
            |c| c.fct_ms_p99,
        ),
    ];
    let mut out: Vec<Figure> = by_class
        .into_iter()
        .filter_map(|(names, over, read)| {
            let class = |(i, scheme): (usize, &str)| {
                let role = result.points.first().map_or("", |p| p.classes()[i].0);
                let value = |p: &SharePoint| p.classes()[i].1.and_then(read);
                series(result, i, &format!("{scheme} ({role})"), &value)
            };
            let all = result.schemes().into_iter().enumerate().map(class).collect();
            figure(result, names, over, all)
        })
        .collect();
    let of_queue = |style, name, read: Read<ShareQueue>| {
        series(result, style, name, &|p: &SharePoint| read(&p.queue))
    };
    let lengths = vec![
        of_queue(2, "median", |q| q.p50_packets),
        of_queue(3, "99th percentile", |q| q.p99_packets),
    ];
    let names = ["queue", "Queue at the bottleneck (packets)", "queue_packets"];
    out.extend(figure(result, names, Over::Seeds, lengths));
    let marks = vec![of_queue(2, "marked", |q| q.marks)];
    let names = ["marks", "Packets marked at the bottleneck in a run", "marks"];
    out.extend(figure(result, names, Over::Seeds, marks));
    let drops = vec![
        of_queue(1, "all", |q| q.drops),
        of_queue(2, "buffer full", |q| q.overflow_drops),
        of_queue(3, "AQM", |q| q.aqm_drops),
    ];
    let names = ["drops", "Packets dropped at the bottleneck in a run", "drops"];
    out.extend(figure(result, names, Over::Seeds, drops));
    out
}

fn series(
    result: &ShareResult,
    style: usize,
    name: &str,
    read: &dyn Fn(&SharePoint) -> Option<Estimate>,
) -> PlotSeries {
    let dot = |p: &SharePoint| {
        let Estimate { value, ci95 } = read(p)?;
        Some(Dot { x: f64::from(p.moved_hosts), y: value, interval: ci95 })
    };
    PlotSeries {
        scheme: name.to_owned(),
        part: String::new(),
        style,
        kind: SeriesKind::Measured,
        points: result.points.iter().filter_map(dot).collect(),
    }
}

fn caption(seeds: usize, over: Over, series: &[PlotSeries], points: usize) -> String {
    let bars = "bars are 95 % intervals over seeds.";
    let mut text = match (seeds, over) {
        (1, _) => "One seed, so there is no interval.".to_owned(),
        (n, Over::Seeds) => format!("Mean over {n} seeds; {bars}"),
        (n, Over::Flows) => format!("All flows of {n} seeds together; {bars}"),
    };
    // At each end of the range one class has no hosts.
    if series.iter().any(|s| s.points.len() + 1 < points) {
        text.push_str(
            " Missing points have no such value, because some flows did not complete or there are \
             too few.",
        );
    }
    text
}

fn figure(
    result: &ShareResult,
    [id, label, column]: [&str; 3],
    over: Over,
    series: Vec<PlotSeries>,
) -> Option<Figure> {
    let dots = || series.iter().flat_map(|s| &s.points);
    let values: Vec<f64> = dots().flat_map(|d| d.interval.unwrap_or([d.y, d.y])).collect();
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
        caption: caption(result.seeds, over, &series, result.points.len()),
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
    .map(|figure| figure.explain_absent(&|_| "no value at any point".to_owned()))
}
