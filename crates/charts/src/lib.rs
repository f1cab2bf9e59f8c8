//! Figures as data, before they are drawn: panels with axes and series; and the shell of pages.
//!
//! Contract: the SVG, the CSV file and the JSON of a page come from the same values. The CSV file
//! has all of them; SVG and JSON have those that can be seen (`reduce`). Every axis carries its
//! unit.

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
mod primitives;
mod reduce;
mod rounding;
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
pub use reduce::{BoundedSeries, CurvePoint, TimeValue, reduced};
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
    /// Legend: names with the numbers of their styles. An entry without any point in the panels
    /// says why it has none.
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
    #[serde(serialize_with = "rounding::rounded_range")]
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
    /// A distribution: dashed steps that rise from zero at the first value.
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

impl PlotSeries {
    /// Returns the points of a distribution with its rise from zero at the first value.
    pub(crate) fn risen(&self) -> Vec<Dot> {
        let first = self.points.first().map(|dot| Dot::new(dot.x, 0.0));
        first.into_iter().chain(self.points.iter().copied()).collect()
    }
}

impl Figure {
    /// Returns whether a series of this style has a point.
    pub fn is_drawn(&self, style: usize) -> bool {
        let mut all = self.panels.iter().flat_map(|panel| &panel.series);
        all.any(|series| series.style == style && !series.points.is_empty())
    }

    /// Adds the reason to each entry of the legend that no panel draws: `dctcp: no finished flows`.
    pub fn explain_absent(mut self, reason: &dyn Fn(&str) -> String) -> Self {
        let drawn: Vec<bool> = self.legend.iter().map(|(_, style)| self.is_drawn(*style)).collect();
        for ((name, _), _) in self.legend.iter_mut().zip(drawn).filter(|(_, drawn)| !drawn) {
            *name = format!("{name}: {}", reason(name));
        }
        self
    }

    /// Adds the reason to each entry of the legend that some panel does not draw, with the titles
    /// of these panels. For panels that all show the same series.
    pub fn explain_absent_in_panels(mut self, reason: &dyn Fn(&str) -> String) -> Self {
        let draws = |panel: &Panel, style| {
            panel.series.iter().any(|s| s.style == style && !s.points.is_empty())
        };
        let absent = |(name, style): &(String, usize)| {
            let without = self.panels.iter().filter(|panel| !draws(panel, *style));
            let titles: Vec<&str> = without.map(|panel| panel.title.as_str()).collect();
            let some = self.is_drawn(*style) && !titles.is_empty();
            some.then(|| format!("{name} (not in {}: {})", titles.join(", "), reason(name)))
        };
        let texts: Vec<Option<String>> = self.legend.iter().map(absent).collect();
        for ((name, _), text) in self.legend.iter_mut().zip(texts) {
            if let Some(text) = text {
                *name = text;
            }
        }
        self.explain_absent(reason)
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
