//! Figures as data, before they are drawn: panels with axes and series; and the shell of pages.
//!
//! Contract: the SVG, the CSV file and the JSON of a page come from the same values. Every axis
//! carries its unit.

mod axis;
mod chart;
mod color_scale;
mod compact;
mod draw;
mod error;
mod form;
mod frame;
mod heat;
mod heat_draw;
pub mod page;
mod palette;
mod sheet;
mod stack;

use lowtide_output::csv;
use serde::Serialize;

pub use axis::{Axis, Scale, bytes_unit, number};
pub use chart::Chart;
pub use color_scale::{CellKind, ColorScale};
pub use error::ChartError;
pub use heat::{HeatGrid, HeatMap};
pub use plotters::style::RGBColor;
pub use sheet::Sheet;
pub use stack::{Curve, CurveKind, Lane, StackedPlot};

/// A figure.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Name of its files, without an extension.
    pub id: String,
    /// Title.
    pub title: String,
    /// Reading instructions: meaning of the marks, source of the data.
    #[serde(skip)]
    pub caption: String,
    /// Legend: names with the numbers of their styles.
    pub legend: Vec<(String, usize)>,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
}

/// A drawn figure of any kind.
#[derive(Clone, PartialEq, Debug)]
pub struct FigureFiles {
    /// Name of its files, without an extension.
    pub id: String,
    /// Reading instructions.
    pub caption: String,
    /// The drawing, SVG.
    pub svg: String,
    /// The values, CSV.
    pub csv: String,
    /// The figure for the script of a page, JSON.
    pub json: String,
}

impl FigureFiles {
    /// Draws a figure.
    pub fn of(figure: &Figure) -> Result<Self, ChartError> {
        Self::of_chart(&Chart::Panels(figure.clone()))
    }

    /// Draws a figure of any kind.
    pub fn of_chart(chart: &Chart) -> Result<Self, ChartError> {
        let (id, caption) = (chart.id().to_owned(), chart.caption().to_owned());
        let (svg, json) = (chart.to_svg()?, chart.to_json()?);
        Ok(Self { id, caption, svg, csv: chart.to_csv(), json })
    }

    /// Adds the figure at other points of a sweep, with the names of the points, for a slider of
    /// the page. `name` is that of the drawn one, which is the last.
    pub fn with_frames(
        mut self,
        others: &[(&str, &Figure)],
        name: &str,
    ) -> Result<Self, ChartError> {
        if !others.is_empty() {
            self.json = form::of_frames(others, (name, &self))?;
        }
        Ok(self)
    }
}

/// A coordinate system.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Panel {
    /// Title; empty for the only panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Series.
    pub series: Vec<PlotSeries>,
    /// Reference lines.
    pub guide_lines: Vec<GuideLine>,
    /// Part of the horizontal axis that is excluded (the warm-up).
    #[serde(serialize_with = "form::rounded_range")]
    pub shade: Option<(f64, f64)>,
}

/// A series.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlotSeries {
    /// Scheme.
    pub scheme: String,
    /// Name within the scheme; empty for its only series.
    pub part: String,
    /// Style number.
    pub style: usize,
    /// Kind of drawing.
    pub kind: SeriesKind,
    /// Values in horizontal order.
    pub points: Vec<Dot>,
}

/// Kind of drawing of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Few measured points: dashed line, a marker at each, intervals.
    Measured,
    /// Markers and intervals without a line: horizontal values are unordered.
    Dots,
    /// Many small markers without a line.
    Scatter,
    /// Many points over time: solid line, few markers.
    Trace,
    /// A thin line next to a trace.
    Thin,
    /// A distribution: dashed steps.
    Steps,
}

/// A value with an optional interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dot {
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
    /// The interval.
    pub interval: Option<[f64; 2]>,
}

/// A reference line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GuideLine {
    /// Label.
    pub label: String,
    /// Value.
    pub at: f64,
    /// Whether the line is vertical, at a horizontal value.
    pub vertical: bool,
}

impl Dot {
    /// Creates a value without an interval.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }
}

impl Figure {
    /// Returns the figure with at most `most` points in each series.
    pub fn thinned(mut self, most: usize) -> Self {
        for series in self.panels.iter_mut().flat_map(|p| &mut p.series) {
            series.points = thinned(&series.points, most);
        }
        self
    }

    /// Returns the CSV file: one line per point.
    pub fn to_csv(&self) -> String {
        let Some(first) = self.panels.first() else { return String::new() };
        let (x, y) = (&first.x.column, &first.y.column);
        let (low, high) = (format!("{y}_ci95_low"), format!("{y}_ci95_high"));
        let mut text = csv::line(["panel", "scheme", "series", x, y, &low, &high]);
        for panel in &self.panels {
            for series in &panel.series {
                for dot in &series.points {
                    let [low, high] =
                        dot.interval.map_or_else(Default::default, |i| i.map(|v| v.to_string()));
                    let (x, y) = (panel.x.written(dot.x), dot.y.to_string());
                    let fields = [&panel.title, &series.scheme, &series.part, &x, &y, &low, &high];
                    text.push_str(&csv::line(fields.map(String::as_str)));
                }
            }
        }
        text
    }
}

/// Thins a trace to at most `most` points: the minimum and maximum of equal parts.
pub fn thinned(points: &[Dot], most: usize) -> Vec<Dot> {
    if points.len() <= most {
        return points.to_vec();
    }
    let stretch = points.len().div_ceil(most / 2);
    let mut out = Vec::new();
    for part in points.chunks(stretch) {
        let by = |a: &&Dot, b: &&Dot| a.y.total_cmp(&b.y);
        let (Some(low), Some(high)) = (part.iter().min_by(by), part.iter().max_by(by)) else {
            continue;
        };
        out.push(if low.x <= high.x { *low } else { *high });
        if low != high {
            out.push(if low.x <= high.x { *high } else { *low });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let mut points: Vec<Dot> = (0..10_000).map(|i| Dot::new(f64::from(i), 5.0)).collect();
        points[4321].y = 99.0;
        points[8765].y = -3.0;
        let thin = thinned(&points, 600);
        assert!(thin.len() <= 600);
        assert!(thin.contains(&points[4321]) && thin.contains(&points[8765]));
        assert!(thin.windows(2).all(|w| w[0].x < w[1].x));
        assert_eq!(thinned(&points[..600], 600), points[..600]);
    }
}
