//! The serialised form of figures (JSON), from the same values as SVG and CSV: the script of our
//! pages draws it.
//!
//! Contract: a curve of more points than [`Detail`] permits is reduced to columns, at least three
//! per pixel of the visible part: the script zooms no further. Numbers are rounded to a millionth
//! of their axis, less than a pixel of the smallest visible part. [`Detail::WHOLE`] does neither.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::axis::Axis;
use crate::error::ChartError;
use crate::heat::HeatForm;
use crate::palette::{Style, style};
use crate::reduce::{one_per_cell, reduced};
use crate::rounding::{EXACT, round};
use crate::{
    Curve, CurveKind, Dot, Figure, FigureFiles, HeatMap, PlotSeries, SeriesKind, StackedPlot,
};

/// A figure of any kind.
#[derive(Serialize)]
#[serde(tag = "form", rename_all = "kebab-case")]
enum Form<'a> {
    Panels(Styled<'a, Figure>),
    Lanes(Styled<'a, StackedPlot>),
    Grids(HeatForm<'a>),
}

/// A figure with the styles that it uses, by number.
#[derive(Serialize)]
struct Styled<'a, F> {
    #[serde(flatten)]
    figure: &'a F,
    styles: BTreeMap<usize, Style>,
    /// Columns of the horizontal axis to which a curve was reduced; none if all points are here.
    columns: Option<u32>,
}

impl<'a, F> Styled<'a, F> {
    fn new(figure: &'a F, used: impl Iterator<Item = usize>, columns: Option<u32>) -> Self {
        Self { figure, styles: used.map(|number| (number, style(number))).collect(), columns }
    }
}

/// Resolution of reduced curves.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Detail {
    /// Columns of the horizontal axis; a curve of up to two points per column is complete.
    columns: u32,
}

impl Detail {
    /// Every point as it is, for a program that draws the figure.
    pub(crate) const WHOLE: Self = Self { columns: u32::MAX };
    /// Of a figure that is alone.
    pub(crate) const FULL: Self = Self { columns: 8192 };
    /// Of one of several figures between which a slider chooses: three columns per pixel of a page.
    const FRAME: Self = Self { columns: 2700 };

    /// Returns the points of a curve, or its columns and `true`.
    fn curve(self, points: &[Dot], x: &Axis) -> (Vec<Dot>, bool) {
        if points.len() <= 2 * self.columns as usize {
            return (points.to_vec(), false);
        }
        (reduced(points, |dot| x.column(dot.x, self.columns)), true)
    }

    /// Returns one mark of those at the same place, and whether there were several.
    fn marks(self, points: &[Dot], [x, y]: [&Axis; 2]) -> (Vec<Dot>, bool) {
        if points.len() <= 2 * self.columns as usize {
            return (points.to_vec(), false);
        }
        let cell = |dot: &Dot| (x.column(dot.x, self.columns), y.column(dot.y, self.columns));
        let out = one_per_cell(points, cell);
        let fewer = out.len() < points.len();
        (out, fewer)
    }

    fn series(self, series: &PlotSeries, axes: [&Axis; 2]) -> (Vec<Dot>, bool) {
        match series.kind {
            SeriesKind::Measured | SeriesKind::Dots => (series.points.clone(), false),
            SeriesKind::Scatter => self.marks(&series.points, axes),
            SeriesKind::Trace | SeriesKind::Thin => self.curve(&series.points, axes[0]),
            SeriesKind::Steps => self.curve(&series.risen(), axes[0]),
        }
    }

    /// Returns the points as they are written.
    fn written(self, points: &[Dot], axes: [&Axis; 2]) -> Vec<Dot> {
        if self == Self::WHOLE {
            return points.to_vec();
        }
        points.iter().map(|dot| rounded_dot(dot, axes)).collect()
    }

    fn lane_curve(self, curve: &Curve, axes: [&Axis; 2]) -> (Vec<Dot>, bool) {
        match curve.kind {
            CurveKind::Dots | CurveKind::Marks | CurveKind::Strokes => {
                self.marks(&curve.points, axes)
            }
            CurveKind::Steps | CurveKind::Thin | CurveKind::Ranges => {
                self.curve(&curve.points, axes[0])
            }
        }
    }
}

pub(crate) fn of_panels(figure: &Figure, detail: Detail) -> Result<String, ChartError> {
    let mut shown = figure.clone();
    let mut any = false;
    for panel in &mut shown.panels {
        let axes = [&panel.x, &panel.y];
        for series in &mut panel.series {
            let (points, is_reduced) = detail.series(series, axes);
            series.points = detail.written(&points, axes);
            any |= is_reduced;
        }
    }
    // The script of a page lists the names of series.
    if let Some(panel) = shown.panels.first_mut().filter(|_| detail != Detail::WHOLE) {
        for (name, style) in figure.legend.iter().filter(|(_, style)| !figure.is_drawn(*style)) {
            let (scheme, part, kind) = (name.clone(), String::new(), SeriesKind::Trace);
            panel.series.push(PlotSeries { scheme, part, style: *style, kind, points: Vec::new() });
        }
    }
    let series = figure.panels.iter().flat_map(|p| &p.series).map(|s| s.style);
    let used = series.chain(figure.legend.iter().map(|(_, number)| *number));
    let columns = any.then_some(detail.columns);
    json(&figure.id, &Form::Panels(Styled::new(&shown, used, columns)))
}

/// Returns the form of figures that a slider chooses from; `last` is drawn already.
pub(crate) fn of_frames(
    others: &[(&str, &Figure)],
    (last, drawn): (&str, &FigureFiles),
) -> Result<String, ChartError> {
    let frame = |name: &str, caption: &str, figure: &str| {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        format!("{{\"name\":{},\"caption\":{},\"figure\":{figure}}}", text(name), text(caption))
    };
    let mut frames = Vec::new();
    for (name, figure) in others {
        frames.push(frame(name, &figure.caption, &of_panels(figure, Detail::FRAME)?));
    }
    frames.push(frame(last, &drawn.caption, &drawn.json));
    Ok(format!("{{\"form\":\"frames\",\"frames\":[{}]}}", frames.join(",")))
}

pub(crate) fn of_lanes(stack: &StackedPlot, detail: Detail) -> Result<String, ChartError> {
    let mut shown = stack.clone();
    let mut any = false;
    for lane in &mut shown.lanes {
        for curve in &mut lane.curves {
            // The kind depends on the number of points.
            curve.kind = curve.drawn_kind();
            let y = lane.right.as_ref().filter(|_| curve.right).unwrap_or(&lane.y);
            let axes = [&stack.x, y];
            let (points, is_reduced) = detail.lane_curve(curve, axes);
            curve.points = detail.written(&points, axes);
            any |= is_reduced;
        }
    }
    let used = stack.lanes.iter().flat_map(|l| &l.curves).map(|c| c.style);
    let columns = any.then_some(detail.columns);
    json(&stack.id, &Form::Lanes(Styled::new(&shown, used, columns)))
}

pub(crate) fn of_grids(map: &HeatMap) -> Result<String, ChartError> {
    json(&map.id, &Form::Grids(HeatForm::new(map)))
}

fn json(id: &str, form: &Form<'_>) -> Result<String, ChartError> {
    serde_json::to_string(form)
        .map_err(|e| ChartError { what: format!("figure `{id}`"), reason: e.to_string() })
}

/// Significant digits of a value on an axis from zero.
const SHORT: usize = 7;

/// Rounds a point to positions that the axes can show.
fn rounded_dot(dot: &Dot, [x, y]: [&Axis; 2]) -> Dot {
    let on = |axis: &Axis, value: f64| {
        // An axis that begins far from zero needs more digits.
        let more = (value.abs() / (axis.high - axis.low).abs()).log10().ceil();
        let more = if more.is_finite() { more.max(0.0) as usize } else { 0 };
        round(value, (SHORT + more).min(EXACT))
    };
    Dot { x: on(x, dot.x), y: on(y, dot.y), interval: dot.interval.map(|i| i.map(|v| on(y, v))) }
}

impl Serialize for Dot {
    /// `[x, y]`, or `[x, y, low, high]` with an interval.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.interval {
            None => [self.x, self.y].serialize(to),
            Some([low, high]) => [self.x, self.y, low, high].serialize(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Panel;

    #[test]
    fn frames_keep_their_order_and_captions() {
        let figure = |caption: &str| Figure {
            id: "queue".into(),
            title: String::new(),
            caption: caption.into(),
            legend: Vec::new(),
            panels: Vec::new(),
        };
        let drawn = FigureFiles::of(&figure("at 2")).unwrap();
        let json = drawn.with_frames(&[("k = 1", &figure("at \"1\""))], "k = 2").unwrap().json;
        let form: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(form["frames"][0]["caption"], "at \"1\"");
        assert_eq!(form["frames"][1]["name"], "k = 2");
        assert_eq!(form["frames"][1]["figure"]["form"], "panels");
    }

    #[test]
    fn the_whole_form_has_every_point_as_it_is() {
        let points: Vec<Dot> = (0..20_000).map(|i| Dot::new(f64::from(i) / 3.0, 0.1)).collect();
        let (scheme, part, kind) = ("a".to_owned(), String::new(), SeriesKind::Trace);
        let series = PlotSeries { scheme, part, style: 0, kind, points: points.clone() };
        let axis = |high| Axis::linear("t", "t", 0.0, high);
        let panel = Panel {
            title: String::new(),
            x: axis(7000.0),
            y: axis(1.0),
            series: vec![series],
            guide_lines: Vec::new(),
            shade: None,
        };
        let figure = Figure {
            id: "f".into(),
            title: String::new(),
            caption: String::new(),
            legend: vec![("a".into(), 0), ("b: no flows".into(), 1)],
            panels: vec![panel],
        };
        let chart = crate::Chart::Panels(figure);
        let whole = chart.to_whole_json().unwrap();
        let written: Vec<String> = points.iter().map(|p| format!("[{:?},0.1]", p.x)).collect();
        assert!(whole.contains(&format!("\"points\":[{}]", written.join(","))));
        let series = |json: &str| {
            let form: serde_json::Value = serde_json::from_str(json).unwrap();
            form["panels"][0]["series"].as_array().unwrap().clone()
        };
        assert_eq!(series(&whole).len(), 1, "the legend has the absent scheme");
        let page = series(&chart.to_json().unwrap());
        assert!(page[0]["points"].as_array().unwrap().len() < points.len());
        assert_eq!(page.len(), 2, "the script of a page lists the names of series");
    }

    #[test]
    fn a_dot_is_a_short_list() {
        let axes = [&Axis::linear("x", "x", 0.0, 1.0), &Axis::linear("y", "y", 0.0, 1e9)];
        let dot = Dot { interval: Some([0.1, 2.0]), ..Dot::new(1.0 / 3.0, 1e9) };
        let text = serde_json::to_string(&rounded_dot(&dot, axes)).unwrap();
        assert_eq!(text, "[0.3333333,1000000000.0,0.1,2.0]");
        let late = Axis::linear("t", "t", 60.0, 60.001);
        let dot = rounded_dot(&Dot::new(60.000_123_456_789, 1.0), [&late, axes[1]]);
        assert!((dot.x - 60.000_123_456_789).abs() < 1e-9, "a millionth of the axis");
        let empty = Dot::new(0.0, f64::NAN);
        assert_eq!(serde_json::to_string(&empty).unwrap(), "[0.0,null]");
    }
}
