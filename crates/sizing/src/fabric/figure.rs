//! The knee: utilisation of each class over its K, and the measure that decides over scaled K.

use lowtide_charts::{Axis, Dot, Figure, GuideLine, Panel, PlotSeries, SeriesKind};

use super::FabricAdvice;

/// Returns the figure.
pub fn knee(advice: &FabricAdvice) -> Figure {
    let names: Vec<&str> = advice.classes.iter().map(|class| class.name.as_str()).collect();
    let seeds = advice.candidates.iter().map(|c| c.seeds).max().unwrap_or_default();
    let measure = advice.measure.as_deref().unwrap_or("Utilisation alone decides");
    Figure {
        id: "knee".to_owned(),
        title: "Utilisation and tail against the marking threshold K".to_owned(),
        caption: format!(
            "Left: utilisation that few long flows lose at one port of each class, worst of their \
             numbers; vertical lines are the advised K. Right: {measure}, over up to {seeds} seeds \
             with 95 % intervals, at multiples of the least K of every class."
        ),
        legend: names.iter().map(|name| (*name).to_owned()).zip(0..).collect(),
        panels: vec![utilisation(advice), tail(advice)],
    }
}

fn series(scheme: &str, style: usize, points: Vec<Dot>) -> PlotSeries {
    let (scheme, part) = (scheme.to_owned(), String::new());
    PlotSeries { scheme, part, style, kind: SeriesKind::Measured, points }
}

fn utilisation(advice: &FabricAdvice) -> Panel {
    let kb = |bytes: u64| bytes as f64 / 1e3;
    let dot = |(k, lost): &(u64, f64)| Dot { x: kb(*k), y: *lost, interval: None };
    let classes = || advice.classes.iter().zip(0..);
    let lines: Vec<PlotSeries> = classes()
        .map(|(class, i)| series(&class.name, i, class.searched.iter().map(dot).collect()))
        .collect();
    let mut ks: Vec<u64> = advice.classes.iter().map(|class| class.k_bytes).collect();
    ks.sort_unstable();
    ks.dedup();
    let lost = lines.iter().flat_map(|s| &s.points).map(|dot| dot.y);
    // The least and the greatest K of the search, and the advised ones.
    let tried = classes().flat_map(|(class, _)| class.searched.iter().map(|(k, _)| *k));
    let tried = tried.chain(ks.iter().copied());
    let (low, high) = tried.fold((u64::MAX, 1), |(low, high), k| (low.min(k), high.max(k)));
    let guide = |k: &u64| GuideLine { label: format!("{} kB", kb(*k)), at: kb(*k), vertical: true };
    Panel {
        title: "Few long flows".to_owned(),
        x: Axis::log("Marking threshold K (kB)", "k_kb", kb(low) / 1.3, kb(high) * 1.3),
        y: Axis::from_zero("Utilisation lost (points)", "utilisation_lost_points", lost),
        series: lines,
        guide_lines: ks.iter().map(guide).collect(),
        shade: None,
    }
}

fn tail(advice: &FabricAdvice) -> Panel {
    let scales = [("least", 1.0), ("all x 4", 4.0)];
    let dot = |(name, x): &(&str, f64)| {
        let candidate = advice.candidates.iter().find(|c| c.name == *name)?;
        Some(Dot { x: *x, y: candidate.value.value?, interval: candidate.value.ci95 })
    };
    let points: Vec<Dot> = scales.iter().filter_map(dot).collect();
    let ends: Vec<f64> =
        points.iter().flat_map(|p| p.interval.map_or([p.y; 2], |ends| ends)).collect();
    let unit = if advice.unit.is_empty() { "slowdown".to_owned() } else { advice.unit.clone() };
    Panel {
        title: "The fabric's traffic".to_owned(),
        x: Axis::named(
            "Multiple of the least K",
            "k_multiple",
            scales.map(|(_, x)| (x, x.to_string())).to_vec(),
        ),
        y: Axis::fitting(&format!("Measure ({unit})"), "measure", &ends),
        series: vec![series("", 0, points)],
        guide_lines: Vec::new(),
        shade: None,
    }
}
