//! Heat maps as data and as SVG: grids of numbers or kinds, with a legend.
//!
//! Contract: the SVG and the CSV file come from the same values, no fonts are read, and the file is
//! self-contained. Every cell shows its value as text, so no fact depends on colour alone.

use crate::csv;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Serialize;

use super::axis::number;
use super::color_scale::{CellKind, ColorScale, lightness};
use super::draw::{Area, DrawError, INK, LETTER, MUTED, SUBPIXELS, WIDTH, finish, font, write};
use super::palette::hex;
use crate::error::ChartError;

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
    /// With the factor from values to the unit of the title.
    Range {
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
                LegendForm::Range { ends, colors: colors.collect(), factor }
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

    /// Returns the figure as one SVG file.
    pub fn to_svg(&self) -> Result<String, ChartError> {
        let layout = Layout::new(self);
        let mut text = String::new();
        self.draw(&layout, &mut text).map_err(|e| ChartError {
            what: format!("figure `{}`", self.id),
            reason: e.to_string(),
        })?;
        Ok(finish(&text, &self.title, layout.height))
    }

    fn draw(&self, layout: &Layout, text: &mut String) -> Result<(), DrawError> {
        let size = ((WIDTH * SUBPIXELS) as u32, (layout.height * SUBPIXELS) as u32);
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        write(&root, &self.title, at(EDGE, 22), &font(15, INK, true))?;
        self.legend(&root)?;
        let axes = format!("Rows: {}. Columns: {}.", self.axes[0], self.axes[1]);
        write(&root, &axes, at(EDGE, layout.top - 18), &font(12, MUTED, false))?;
        for (i, grid) in self.grids.iter().enumerate() {
            self.grid(&root, grid, layout, layout.corner(i))?;
        }
        root.present()
    }

    /// Returns the kinds that occur, with their values.
    fn kinds(&self) -> Vec<(usize, CellKind)> {
        let ColorScale::Categorical(kinds) = &self.scale else { return Vec::new() };
        let occurs = |i: usize| {
            let mut cells = self.grids.iter().flat_map(|g| &g.cells).flatten();
            cells.any(|v| *v as usize == i)
        };
        kinds.iter().copied().enumerate().filter(|(i, _)| occurs(*i)).collect()
    }

    /// Returns the ends of a scale of numbers, with their names.
    fn range(&self) -> Option<(f64, f64, [String; 2])> {
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

    fn legend(&self, root: &Area<'_>) -> Result<(), DrawError> {
        let plain = font(12, MUTED, false);
        if let ColorScale::Categorical(_) = &self.scale {
            let kinds = self.kinds();
            for ((x, y), (_, kind)) in places(&kinds).into_iter().zip(&kinds) {
                block(root, (x, y - 7), (14, 14), kind.color)?;
                let name = format!("{} ({})", kind.name, kind.code);
                write(root, &name, at(x + 20, y), &font(12, INK, false))?;
            }
            return Ok(());
        }
        let Some((low, high, ends)) = self.range() else { return Ok(()) };
        let left = EDGE + (ends[0].chars().count() as f64 * 12.0 * LETTER) as i32 + 8;
        write(root, &ends[0], at(EDGE, LEGEND_Y), &plain)?;
        for i in 0..BAR {
            let share = f64::from(i) / f64::from(BAR - 1);
            let color = self.scale.color(Some(low + (high - low) * share));
            block(root, (left + i * 4, LEGEND_Y - 7), (5, 14), color)?;
        }
        write(root, &ends[1], at(left + BAR * 4 + 9, LEGEND_Y), &plain)
    }

    fn grid(
        &self,
        root: &Area<'_>,
        grid: &HeatGrid,
        layout: &Layout,
        (left, top): (i32, i32),
    ) -> Result<(), DrawError> {
        if !grid.title.is_empty() {
            write(root, &grid.title, at(left, top + 10), &font(13, INK, true))?;
        }
        let (x0, y0) = (left + layout.names, top + layout.heads);
        let center = Pos::new(HPos::Center, VPos::Center);
        for (i, name) in grid.columns.iter().enumerate() {
            let x = x0 + layout.cell * i as i32 + layout.cell / 2;
            if layout.upright {
                let style = font(12, INK, false).transform(FontTransform::Rotate270);
                write(root, name, at(x, y0 - 6), &style)?;
            } else {
                write(root, name, at(x, y0 - 9), &font(12, INK, false).pos(center))?;
            }
        }
        let right = Pos::new(HPos::Right, VPos::Center);
        let letters = (f64::from(layout.cell - 6) / (11.0 * LETTER)) as usize;
        for (j, name) in grid.rows.iter().enumerate() {
            let y = y0 + layout.row * j as i32;
            write(root, name, at(x0 - 7, y + layout.row / 2), &font(12, INK, false).pos(right))?;
            for i in 0..grid.columns.len() {
                let value = grid.cells.get(j * grid.columns.len() + i).copied().flatten();
                let color = self.scale.color(value);
                let x = x0 + layout.cell * i as i32;
                block(root, (x, y), (layout.cell - 1, layout.row - 1), color)?;
                let ink = if has_light_text(color) { WHITE } else { INK };
                let style = font(11, ink, false).pos(center);
                let middle = at(x + layout.cell / 2, y + layout.row / 2);
                write(root, &self.scale.text(value, letters), middle, &style)?;
            }
        }
        Ok(())
    }
}

/// Returns whether the text of a cell of this colour is light.
fn has_light_text(color: RGBColor) -> bool {
    lightness(color) < 0.52
}

/// Left edge of all elements.
const EDGE: i32 = 16;
const LEGEND_Y: i32 = 48;
/// Steps between the colours of a scale in the script form.
const STOPS: i32 = 8;
/// Steps of the colour bar.
const BAR: i32 = 60;
/// Distance between grids.
const GAP: (i32, i32) = (22, 20);

/// Converts a position of the figure to drawn pixels.
fn at(x: i32, y: i32) -> (i32, i32) {
    (x * SUBPIXELS, y * SUBPIXELS)
}

fn block(
    root: &Area<'_>,
    from: (i32, i32),
    size: (i32, i32),
    color: RGBColor,
) -> Result<(), DrawError> {
    let corners = [at(from.0, from.1), at(from.0 + size.0, from.1 + size.1)];
    root.draw(&Rectangle::new(corners, color.filled()))
}

/// Returns the positions of the kinds in the legend.
fn places(kinds: &[(usize, CellKind)]) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (EDGE, LEGEND_Y);
    let mut out = Vec::new();
    for (_, kind) in kinds {
        let width = 44 + ((kind.name.chars().count() + 5) as f64 * 12.0 * LETTER) as i32;
        if x + width > WIDTH && x > EDGE {
            (x, y) = (EDGE, y + 20);
        }
        out.push((x, y));
        x += width;
    }
    out
}

/// Layout of the grids, in pixels of the figure.
struct Layout {
    /// Width of a cell.
    cell: i32,
    /// Height of a cell.
    row: i32,
    /// Width of the row names.
    names: i32,
    /// Height of titles and column names.
    heads: i32,
    /// Column names are vertical.
    upright: bool,
    /// Grids side by side.
    beside: usize,
    /// Width and height of a grid with its margin.
    step: (i32, i32),
    /// Top of the first grid.
    top: i32,
    height: i32,
}

impl Layout {
    fn new(map: &HeatMap) -> Self {
        let px = |name: &String| (name.chars().count() as f64 * 12.0 * LETTER * 1.1) as i32 + 4;
        let widest = |names: &[String]| names.iter().map(px).max().unwrap_or(0);
        let first = map.grids.first();
        let (rows, columns) =
            first.map_or((0, 0), |g| (g.rows.len() as i32, g.columns.len() as i32));
        let (row_names, heads) = first.map_or((0, 0), |g| (widest(&g.rows), widest(&g.columns)));
        let names = (row_names + 10).min(WIDTH / 3);
        let alone = map.grids.len() == 1;
        let room = WIDTH - 2 * EDGE - names;
        // Several grids are side by side if their cells remain readable.
        let half = (WIDTH - 2 * EDGE - GAP.0 - 2 * names) / (2 * columns.max(1));
        let wish = match half {
            _ if alone => 84,
            26.. => half.min(44),
            _ => 44,
        };
        let cell = (room / columns.max(1)).min(wish).max(24);
        let upright = heads > cell - 4;
        let titled = first.is_some_and(|g| !g.title.is_empty());
        let heads = if upright { heads + 12 } else { 24 } + if titled { 22 } else { 0 };
        let row = if alone { 30 } else { 24 };
        let width = names + cell * columns + GAP.0;
        let step = (width, heads + row * rows + GAP.1);
        let beside =
            (((WIDTH - 2 * EDGE + GAP.0) / width).max(1) as usize).min(map.grids.len().max(1));
        let legend = places(&map.kinds()).last().map_or(LEGEND_Y, |p| p.1);
        let top = legend + 40;
        let lines = map.grids.len().div_ceil(beside) as i32;
        Self { cell, row, names, heads, upright, beside, step, top, height: top + step.1 * lines }
    }

    /// Returns the upper left corner of the `i`-th grid.
    fn corner(&self, i: usize) -> (i32, i32) {
        let (column, line) = ((i % self.beside) as i32, (i / self.beside) as i32);
        (EDGE + self.step.0 * column, self.top + self.step.1 * line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(columns: usize, grids: usize) -> HeatMap {
        let names = |n: usize| (0..n).map(|i| format!("scheme-{i}")).collect::<Vec<_>>();
        let grid = HeatGrid {
            title: "next to <dctcp>".into(),
            rows: names(3),
            columns: names(columns),
            cells: (0..3 * columns).map(|i| (i > 0).then_some(i as f64)).collect(),
            intervals: (0..3 * columns).map(|i| (i > 1).then_some([0.5, i as f64])).collect(),
        };
        HeatMap {
            id: "goodput".into(),
            title: "Goodput & more".into(),
            caption: String::new(),
            axes: ["sender".into(), "receiver".into()],
            scale: ColorScale::Sequential { low: 0.0, high: 100.0, warm: false },
            grids: vec![grid; grids],
        }
    }

    #[test]
    fn every_cell_is_in_the_csv_file_and_in_the_drawing() {
        let map = map(4, 1);
        let csv = map.to_csv();
        assert_eq!(csv.lines().count(), 1 + 12);
        let head = "panel,sender,receiver,value,text,value_ci95_low,value_ci95_high\n";
        assert!(csv.starts_with(head), "{csv}");
        assert!(csv.contains("scheme-2,scheme-3,11,11,0.5,11\n"), "{csv}");
        assert!(csv.contains("scheme-0,scheme-1,1,1,,\n"), "{csv}");
        let svg = map.to_svg().unwrap();
        assert!(svg.contains("Goodput &amp; more") && svg.contains("scheme-3"));
        assert!(svg.matches("<rect").count() >= 12 + BAR as usize);
    }

    #[test]
    fn grids_stay_within_the_figure_and_apart() {
        for (columns, grids) in [(3, 1), (3, 3), (12, 5), (20, 2)] {
            let map = map(columns, grids);
            let layout = Layout::new(&map);
            for i in 0..grids {
                let (x, y) = layout.corner(i);
                let right = x + layout.names + layout.cell * columns as i32;
                assert!(right <= WIDTH - EDGE + 8 || columns == 20, "{columns} {grids}: {right}");
                assert!(y + layout.heads + layout.row * 3 <= layout.height);
                for j in 0..i {
                    let (u, v) = layout.corner(j);
                    assert!(x >= u + layout.step.0 || y >= v + layout.step.1 || x < u);
                }
            }
        }
    }
}
