//! The figures of one point at the other points of a sweep, for the slider of the report.

use lowtide_charts::Figure;
use lowtide_record::RunDir;

use crate::error::LabError;
use crate::naming::point_text;
use crate::plots::sweep::spread;
use crate::plots::{PlotInput, at_point};

/// Limit on points of the slider, so that the page stays small.
const MAX_FRAMES: usize = 8;

/// The figures at one point of the sweep.
pub(crate) struct PointFigures {
    /// The point.
    pub(crate) name: String,
    /// Its figures.
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
        let figures = figures.into_iter().map(|(_, figure)| figure).collect();
        out.push(PointFigures { name: point_text(&points[i]), figures });
    }
    Ok(out)
}
