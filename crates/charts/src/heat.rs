//! Heat maps as data: grids of numbers or kinds, with a legend.

use lowtide_output::csv;
use plotters::style::RGBColor;
use serde::Serialize;

use super::axis::number;
use super::color_scale::{CellKind, ColorScale};
use super::palette::{hex, lightness};

/// A figure of grids that share one legend.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatMap {
    /// Name of its files, without an extension.
    pub id: String,
    /// Title, with the unit.
    pub title: String,
    /// Reading instructions.
    pub caption: String,
    /// Names of the row and column dimensions.
    pub axes: [String; 2],
    /// Colour scale.
    pub scale: ColorScale,
    /// The grids, all with the same rows and columns.
    pub grids: Vec<HeatGrid>,
}

/// A heat map as its script form: each cell has its texts and its colour.
#[derive(Serialize)]
pub(crate) struct HeatForm<'a> {
    id: &'a str,
    title: &'a str,
    axes: &'a [String; 2],
    legend: LegendForm,
    grids: Vec<GridForm<'a>>,
}

/// The kinds that occur, or the ends and the colours of a scale.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum LegendForm {
    Kinds(Vec<KindForm>),
    /// With the values at its ends, and the factor from values to the unit of the title.
    Range {
        range: [f64; 2],
        ends: [String; 2],
        colors: Vec<HexColor>,
        factor: f64,
    },
}

#[derive(Serialize)]
struct KindForm {
    /// The value of its cells.
    value: usize,
    #[serde(flatten)]
    kind: CellKind,
}

#[derive(Serialize)]
struct GridForm<'a> {
    title: &'a str,
    rows: &'a [String],
    columns: &'a [String],
    cells: Vec<CellForm>,
}

#[derive(Serialize)]
struct CellForm {
    value: Option<f64>,
    interval: Option<[f64; 2]>,
    /// The text of a wide cell and of a narrow one.
    text: [String; 2],
    color: HexColor,
    /// Whether the text is light.
    light: bool,
}

#[derive(Serialize)]
struct HexColor(#[serde(serialize_with = "hex")] RGBColor);

impl<'a> HeatForm<'a> {
    pub(crate) fn new(map: &'a HeatMap) -> Self {
        let legend = match map.range() {
            None => {
                let kinds = map.kinds().into_iter();
                LegendForm::Kinds(kinds.map(|(value, kind)| KindForm { value, kind }).collect())
            }
            Some((low, high, ends)) => {
                let stop = |i| low + (high - low) * f64::from(i) / f64::from(STOPS);
                let colors = (0..=STOPS).map(|i| HexColor(map.scale.color(Some(stop(i)))));
                let factor = if map.scale == ColorScale::Diverging { 100.0 } else { 1.0 };
                let (range, colors) = ([low, high], colors.collect());
                LegendForm::Range { range, ends, colors, factor }
            }
        };
        let cell = |(value, interval): (&Option<f64>, &Option<[f64; 2]>)| {
            let color = map.scale.color(*value);
            let text = [usize::MAX, 0].map(|letters| map.scale.text(*value, letters));
            let (color, light) = (HexColor(color), has_light_text(color));
            CellForm { value: *value, interval: *interval, text, color, light }
        };
        let grids = map.grids.iter().map(|grid| GridForm {
            title: &grid.title,
            rows: &grid.rows,
            columns: &grid.columns,
            cells: grid.cells.iter().zip(&grid.intervals).map(cell).collect(),
        });
        let (id, title, axes) = (map.id.as_str(), map.title.as_str(), &map.axes);
        Self { id, title, axes, legend, grids: grids.collect() }
    }
}

/// One grid.
#[derive(Clone, PartialEq, Debug)]
pub struct HeatGrid {
    /// Title; empty for the only grid.
    pub title: String,
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// Names of the columns, from the left.
    pub columns: Vec<String>,
    /// Cells, row by row; `None` without a value.
    pub cells: Vec<Option<f64>>,
    /// 95 % intervals of the cells, in the same order; `None` without one.
    pub intervals: Vec<Option<[f64; 2]>>,
}

impl HeatMap {
    /// Returns the CSV file: one line per cell.
    pub fn to_csv(&self) -> String {
        let [row, column] = &self.axes;
        let head = ["panel", row, column, "value", "text", "value_ci95_low", "value_ci95_high"];
        let mut text = csv::line(head);
        for grid in &self.grids {
            let places = grid
                .rows
                .iter()
                .flat_map(|row| grid.columns.iter().map(move |column| (row, column)));
            for (((row, column), value), interval) in places.zip(&grid.cells).zip(&grid.intervals) {
                let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
                let shown = self.scale.text(*value, usize::MAX);
                let [low, high] = [0, 1].map(|i| number(interval.map(|ends| ends[i])));
                text.push_str(&csv::line(
                    [&grid.title, row, column, &number(*value), &shown, &low, &high]
                        .map(String::as_str),
                ));
            }
        }
        text
    }

    /// Returns the kinds that occur, with their values.
    pub(crate) fn kinds(&self) -> Vec<(usize, CellKind)> {
        let ColorScale::Categorical(kinds) = &self.scale else { return Vec::new() };
        let occurs = |i: usize| {
            let mut cells = self.grids.iter().flat_map(|g| &g.cells).flatten();
            cells.any(|v| *v as usize == i)
        };
        kinds.iter().copied().enumerate().filter(|(i, _)| occurs(*i)).collect()
    }

    /// Returns the ends of a scale of numbers, with their names.
    pub(crate) fn range(&self) -> Option<(f64, f64, [String; 2])> {
        match &self.scale {
            ColorScale::Sequential { low, high, .. } => {
                Some((*low, *high, [number(*low), number(*high)]))
            }
            ColorScale::Diverging => Some((
                0.0,
                1.0,
                ["0 %: all the neighbour's".to_owned(), "100 %: all the pair's".to_owned()],
            )),
            ColorScale::Categorical(_) => None,
        }
    }
}

/// Returns whether the text of a cell of this colour is light.
pub(crate) fn has_light_text(color: RGBColor) -> bool {
    lightness(color) < 0.52
}

/// Steps between the colours of a scale in the script form: a multiple of the parts of every scale,
/// so that the colours between two steps are theirs too.
const STOPS: i32 = 12;
