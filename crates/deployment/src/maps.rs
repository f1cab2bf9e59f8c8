//! The heat maps of a matrix: verdict, goodput, queue, fairness and retransmissions, for pairs
//! alone and next to each neighbour.

use std::fmt::Write as _;

use lowtide_charts::RGBColor;
use lowtide_charts::{CellKind, ColorScale, HeatGrid, HeatMap};
use lowtide_stats::LEAST_SEEDS;

use super::result::{MatrixResult, PairRow};
use super::verdict::PairVerdict;

/// One measure of a pair.
struct HeatMapMetric {
    id: &'static str,
    title: &'static str,
    read: fn(&PairRow) -> Option<f64>,
    interval: fn(&PairRow) -> Option<[f64; 2]>,
    scale: ColourScale,
}

fn of_pair(row: &PairRow, value: &str) -> Option<[f64; 2]> {
    row.pair.intervals.ci95.get(value).copied()
}

/// The mapping of its values to colours.
enum ColourScale {
    Verdict,
    /// Higher is better.
    HigherIsBetter,
    /// Lower is better.
    LowerIsBetter,
    /// A fraction, with one half in the middle.
    Balance,
    /// An index from zero to one.
    Index,
}

const METRICS: [HeatMapMetric; 5] = [
    HeatMapMetric {
        id: "verdict",
        title: "Verdict",
        read: verdict,
        interval: |_| None,
        scale: ColourScale::Verdict,
    },
    HeatMapMetric {
        id: "goodput",
        title: "Goodput of the pair (Mbit/s)",
        read: |p| p.pair.goodput_mbps,
        interval: |p| of_pair(p, "goodput_mbps"),
        scale: ColourScale::HigherIsBetter,
    },
    HeatMapMetric {
        id: "queue",
        title: "Median queue at the bottleneck (packets)",
        read: |p| p.queue.p50_packets,
        interval: |p| p.queue.intervals.ci95.get("p50_packets").copied(),
        scale: ColourScale::LowerIsBetter,
    },
    HeatMapMetric {
        id: "fairness",
        title: "Fairness between the pair's own flows (Jain's index)",
        read: |p| p.pair.jain,
        interval: |p| of_pair(p, "jain"),
        scale: ColourScale::Index,
    },
    HeatMapMetric {
        id: "retransmissions",
        title: "Bytes that the pair retransmitted (%)",
        read: |p| p.pair.retransmitted.map(|r| r * 100.0),
        interval: |p| of_pair(p, "retransmitted").map(|ends| ends.map(|end| end * 100.0)),
        scale: ColourScale::LowerIsBetter,
    },
];

/// Next to a neighbour, fairness is between the pair and the neighbour.
const SHARE: HeatMapMetric = HeatMapMetric {
    id: "share",
    title: "The pair's share of the goodput (%); 50 is fair",
    read: |p| p.pair.goodput_share,
    interval: |p| of_pair(p, "goodput_share"),
    scale: ColourScale::Balance,
};

fn verdict(row: &PairRow) -> Option<f64> {
    PairVerdict::ALL.iter().position(|v| *v == row.verdict).map(|i| i as f64)
}

/// The colours of Okabe and Ito, light enough for dark text.
fn verdict_colours() -> Vec<CellKind> {
    let look = |verdict: PairVerdict| match verdict {
        PairVerdict::Healthy => ("ok", RGBColor(0x9a, 0xd8, 0xc3)),
        PairVerdict::CollapsedWindow => ("co", RGBColor(0xd5, 0x5e, 0x00)),
        PairVerdict::BlindToCongestion => ("bl", RGBColor(0xf0, 0xc2, 0x4b)),
        PairVerdict::StarvesNeighbour => ("st", RGBColor(0x8b, 0x3f, 0x73)),
        PairVerdict::StarvedByNeighbour => ("sd", RGBColor(0xdd, 0xaf, 0xcb)),
    };
    let kind = |verdict: &PairVerdict| {
        let (code, color) = look(*verdict);
        CellKind { name: verdict.name(), short: verdict.short(), code, color }
    };
    PairVerdict::ALL.iter().map(kind).collect()
}

fn scale(look: &ColourScale, values: impl Iterator<Item = f64>) -> ColorScale {
    let most = values.fold(0.0, f64::max);
    match look {
        ColourScale::Verdict => ColorScale::Categorical(verdict_colours()),
        ColourScale::HigherIsBetter => ColorScale::Sequential { low: 0.0, high: most, warm: false },
        ColourScale::LowerIsBetter => ColorScale::Sequential { low: 0.0, high: most, warm: true },
        ColourScale::Index => ColorScale::Sequential { low: 0.0, high: 1.0, warm: false },
        ColourScale::Balance => ColorScale::Diverging,
    }
}

/// Pairs alone.
pub(crate) fn alone(result: &MatrixResult) -> Vec<HeatMap> {
    METRICS.iter().map(|m| map(result, m, &[None])).collect()
}

/// Pairs next to each neighbour.
pub(crate) fn with_neighbour(result: &MatrixResult) -> Vec<HeatMap> {
    if result.neighbours.is_empty() {
        return Vec::new();
    }
    let neighbours: Vec<Option<&str>> =
        result.neighbours.iter().map(|n| Some(n.as_str())).collect();
    let [verdict, goodput, queue, _, again] = &METRICS;
    [verdict, &SHARE, goodput, queue, again].map(|m| map(result, m, &neighbours)).into()
}

fn map(result: &MatrixResult, measure: &HeatMapMetric, neighbours: &[Option<&str>]) -> HeatMap {
    let is_beside = neighbours.iter().any(Option::is_some);
    let grid = |neighbour: Option<&str>| {
        let places =
            result.senders.iter().flat_map(|s| result.receivers.iter().map(move |r| (s, r)));
        let rows: Vec<Option<&PairRow>> =
            places.map(|(s, r)| result.pair(s, r, neighbour)).collect();
        HeatGrid {
            title: neighbour.map_or_else(String::new, |n| format!("next to {n}")),
            rows: result.senders.clone(),
            columns: result.receivers.clone(),
            cells: rows.iter().map(|row| row.and_then(measure.read)).collect(),
            intervals: rows.iter().map(|row| row.and_then(measure.interval)).collect(),
        }
    };
    let grids: Vec<HeatGrid> = neighbours.iter().copied().map(grid).collect();
    let values = grids.iter().flat_map(|g| &g.cells).flatten().copied();
    let scale = scale(&measure.scale, values);
    let (id, title) = if is_beside {
        (format!("{}-beside", measure.id), format!("{}, next to each neighbour", measure.title))
    } else {
        (format!("{}-alone", measure.id), format!("{}, each pair alone", measure.title))
    };
    HeatMap {
        id,
        title,
        caption: caption(result, measure, is_beside),
        axes: ["sender".to_owned(), "receiver".to_owned()],
        scale,
        grids,
    }
}

fn caption(result: &MatrixResult, measure: &HeatMapMetric, beside: bool) -> String {
    let mut text = String::new();
    if beside {
        text.push_str("A neighbour is a sender with its own natural receiver. ");
    }
    if let (ColourScale::LowerIsBetter, "queue", Some(k)) =
        (&measure.scale, measure.id, result.k_packets)
    {
        // Writing to a string cannot fail.
        let _ = write!(text, "The switch marks above K = {k}. ");
    }
    let _ = match (result.seeds, &measure.scale) {
        (1, _) => write!(text, "One seed, so there is no interval."),
        (n, ColourScale::Verdict) => write!(text, "Judged from {n} seeds together."),
        (n, _) if n < LEAST_SEEDS => {
            write!(text, "{n} seeds; fewer than five give no interval.")
        }
        (n, _) => write!(
            text,
            "{n} seeds; the 95 % interval of a cell is in its tip and in the CSV file."
        ),
    };
    text
}
