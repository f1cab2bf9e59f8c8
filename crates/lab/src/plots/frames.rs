//! The figures of one point at the other points of a sweep, for the slider of the report.

use lowtide_charts::{Dot, Figure};
use lowtide_record::RunDir;

use crate::error::LabError;
use crate::plots::sweep::spread;
use crate::plots::{PlotInput, at_point};

/// Limit on points of the slider, so that the page stays small.
const MAX_FRAMES: usize = 8;
/// Limit on the points of a series, which the last point does not have.
const MAX_POINTS: usize = 100;

/// The figures at one point of the sweep.
pub(crate) struct PointFigures {
    /// The point.
    pub(crate) name: String,
    /// Its figures, thinned.
    pub(crate) figures: Vec<Figure>,
}

/// Returns the figures at the points before the last one.
pub(crate) fn frames(dir: &RunDir, source: PlotInput<'_>) -> Result<Vec<PointFigures>, LabError> {
    let points = &source.manifest.points;
    let mut shown = spread(points.len(), MAX_FRAMES);
    shown.retain(|i| i + 1 < points.len());
    let mut out = Vec::new();
    for i in shown {
        // Figures show the last point of their manifest.
        let mut manifest = source.manifest.clone();
        manifest.points.truncate(i + 1);
        let figures = at_point(dir, PlotInput { manifest: &manifest, ..source })?;
        let figures = figures.into_iter().map(|(_, f)| rounded(f.thinned(MAX_POINTS))).collect();
        out.push(PointFigures { name: points[i].to_string(), figures });
    }
    Ok(out)
}

/// Rounds the values to four significant digits, more than a screen shows.
fn rounded(mut figure: Figure) -> Figure {
    let short = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    for series in figure.panels.iter_mut().flat_map(|panel| &mut panel.series) {
        for Dot { x, y, interval } in &mut series.points {
            (*x, *y) = (short(*x), short(*y));
            *interval = interval.map(|ends| ends.map(short));
        }
    }
    figure
}
