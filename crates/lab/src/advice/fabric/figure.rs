//! The knee: tail and utilisation over K.

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};

use super::{Candidate, FabricAdvice};

/// Returns the figure of the candidates.
pub fn knee(advice: &FabricAdvice) -> Figure {
    let tail = panel(advice, ["Flows up to 100 kB", "Slowdown, p99"], "slowdown_p99", &|c| {
        Some((c.p99.value?, c.p99.ci95))
    });
    let line = panel(advice, ["Two long flows", "Link filled (%)"], "utilisation_percent", &|c| {
        Some((c.utilisation? * 100.0, None))
    });
    let seeds = advice.candidates.iter().map(|c| c.seeds).max().unwrap_or_default();
    Figure {
        id: "knee".to_owned(),
        title: "Tail and utilisation against the marking threshold K".to_owned(),
        caption: format!(
            "99th percentile over the flows of up to {seeds} seeds, with its 95 % interval; share of \
             the time in which the link of a host sends while two long flows share it. K in packets \
             of 1500 bytes; the vertical line is the advised one."
        ),
        legend: Vec::new(),
        panels: vec![tail, line],
    }
}

/// Reads a value with its interval.
type Read<'a> = &'a dyn Fn(&Candidate) -> Option<(f64, Option<[f64; 2]>)>;

fn panel(advice: &FabricAdvice, [title, label]: [&str; 2], column: &str, read: Read<'_>) -> Panel {
    let values: Vec<(f64, String)> =
        advice.candidates.iter().map(|c| (c.k_packets as f64, c.k_packets.to_string())).collect();
    let dot = |c: &Candidate| {
        let (y, interval) = read(c)?;
        Some(Dot { x: c.k_packets as f64, y, interval })
    };
    let points: Vec<Dot> = advice.candidates.iter().filter_map(dot).collect();
    let ends: Vec<f64> =
        points.iter().flat_map(|p| p.interval.map_or([p.y; 2], |ends| ends)).collect();
    let advised = advice.chosen().k_packets as f64;
    Panel {
        title: title.to_owned(),
        x: Axis::named("Marking threshold K (packets)", "k_packets", values),
        y: Axis::fitting(label, column, &ends),
        series: vec![PlotSeries {
            scheme: String::new(),
            part: String::new(),
            style: 0,
            kind: SeriesKind::Measured,
            points,
        }],
        guide_lines: vec![GuideLine {
            label: format!("K = {advised}"),
            at: advised,
            vertical: true,
        }],
        shade: None,
    }
}
