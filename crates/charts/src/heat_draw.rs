//! Heat maps as SVG.
//!
//! Contract: the SVG and the CSV file come from the same values, no fonts are read, and the file is
//! self-contained. Every cell of a page shows its value as text, so no fact depends on colour
//! alone. On a sheet cells without room for the longest text have none.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::color_scale::{CellKind, ColorScale};
use super::heat::{HeatGrid, HeatMap, has_light_text};
use super::primitives::{Area, DrawError, INK, MUTED, finish, write};
use crate::error::ChartError;
use crate::frame::too_small;
use crate::sheet::{Canvas, LETTER, LINE};

/// Left edge of all elements of a page and of a sheet.
const EDGE: (f64, f64) = (16.0, 4.0);
/// Vertical positions of title and legend on a page.
const TITLE_Y: f64 = 22.0;
const LEGEND_Y: f64 = 48.0;
/// Steps of the colour bar.
const BAR: i32 = 60;
/// Distance between grids.
const GAP: (f64, f64) = (22.0, 20.0);
/// Least width of a cell, of a page and of a sheet without texts.
const LEAST_CELL: (f64, f64) = (24.0, 13.0);

impl HeatMap {
    /// Returns the figure as one SVG file.
    pub(crate) fn to_svg_on(&self, canvas: Canvas<'_>) -> Result<String, ChartError> {
        let what = format!("figure `{}`", self.id);
        let layout = Layout::new(self, canvas, &what)?;
        let mut text = String::new();
        self.draw(&layout, &mut text).map_err(|e| ChartError { what, reason: e.to_string() })?;
        Ok(finish(&text, &self.title, canvas, layout.height))
    }

    fn draw(&self, layout: &Layout<'_>, text: &mut String) -> Result<(), DrawError> {
        let canvas = layout.canvas;
        let (width, height) = canvas.at(canvas.width, layout.height);
        let root = SVGBackend::with_string(text, (width as u32, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        for (i, line) in layout.title.iter().enumerate() {
            let at = canvas.at(layout.edge, layout.title_y + LINE * i as f64);
            write(&root, line, at, &canvas.font(15.0, INK, true))?;
        }
        self.legend(&root, layout)?;
        for (i, line) in layout.axes.iter().enumerate() {
            let at = canvas.at(layout.edge, layout.axes_y + LINE * i as f64);
            write(&root, line, at, &canvas.font(12.0, MUTED, false))?;
        }
        for (i, grid) in self.grids.iter().enumerate() {
            self.grid(&root, grid, layout, layout.corner(i))?;
        }
        root.present()
    }

    fn legend(&self, root: &Area<'_>, layout: &Layout<'_>) -> Result<(), DrawError> {
        let canvas = layout.canvas;
        let plain = canvas.font(12.0, MUTED, false);
        if let ColorScale::Categorical(_) = &self.scale {
            let kinds = self.kinds();
            for ((x, y), (value, kind)) in layout.places(&kinds).into_iter().zip(&kinds) {
                let color = self.cell_color(canvas, Some(*value as f64));
                block(root, canvas, (x, y - 7.0), (14.0, 14.0), color)?;
                let ink = canvas.font(12.0, INK, false);
                write(root, &kind_name(kind), canvas.at(x + 20.0, y), &ink)?;
            }
            return Ok(());
        }
        let Some((low, high, ends)) = self.range() else { return Ok(()) };
        let Bar { left, top, step, ends: [(x, y), right] } = layout.bar(&ends);
        write(root, &ends[0], canvas.at(x, y), &plain)?;
        for i in 0..BAR {
            let share = f64::from(i) / f64::from(BAR - 1);
            let color = self.cell_color(canvas, Some(low + (high - low) * share));
            let at = (left + f64::from(i) * step, top - 7.0);
            block(root, canvas, at, (step + 1.0, 14.0), color)?;
        }
        write(root, &ends[1], canvas.at(right.0, right.1), &plain)
    }

    /// Returns the colour of a cell. Greys are in the order of the values.
    fn cell_color(&self, canvas: Canvas<'_>, value: Option<f64>) -> RGBColor {
        if canvas.is_grey() { self.scale.grey(value) } else { self.scale.color(value) }
    }

    fn grid(
        &self,
        root: &Area<'_>,
        grid: &HeatGrid,
        layout: &Layout<'_>,
        (left, top): (f64, f64),
    ) -> Result<(), DrawError> {
        let canvas = layout.canvas;
        if !grid.title.is_empty() {
            write(root, &grid.title, canvas.at(left, top + 10.0), &canvas.font(13.0, INK, true))?;
        }
        let (x0, y0) = (left + layout.names, top + layout.heads);
        let center = Pos::new(HPos::Center, VPos::Center);
        let ink = canvas.font(12.0, INK, false);
        for (i, name) in grid.columns.iter().enumerate() {
            let x = x0 + layout.cell * i as f64 + (layout.cell / 2.0).floor();
            if layout.upright {
                let style = ink.clone().transform(FontTransform::Rotate270);
                write(root, name, canvas.at(x, y0 - 6.0), &style)?;
            } else {
                write(root, name, canvas.at(x, y0 - 9.0), &ink.pos(center))?;
            }
        }
        let right = Pos::new(HPos::Right, VPos::Center);
        for (j, name) in grid.rows.iter().enumerate() {
            let y = y0 + layout.row * j as f64;
            let middle = y + (layout.row / 2.0).floor();
            write(root, name, canvas.at(x0 - 7.0, middle), &ink.pos(right))?;
            for i in 0..grid.columns.len() {
                let value = grid.cells.get(j * grid.columns.len() + i).copied().flatten();
                let color = self.cell_color(canvas, value);
                let x = x0 + layout.cell * i as f64;
                block(root, canvas, (x, y), (layout.cell - 1.0, layout.row - 1.0), color)?;
                let ink = if has_light_text(color) { WHITE } else { INK };
                let style = canvas.font(11.0, ink, false).pos(center);
                let at = canvas.at(x + (layout.cell / 2.0).floor(), middle);
                write(root, &layout.cell_text(self, value), at, &style)?;
            }
        }
        Ok(())
    }
}

fn block(
    root: &Area<'_>,
    canvas: Canvas<'_>,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    color: RGBColor,
) -> Result<(), DrawError> {
    let corners = [canvas.at(x, y), canvas.at(x + width, y + height)];
    root.draw(&Rectangle::new(corners, color.filled()))
}

/// Returns the name of a kind in the legend.
fn kind_name(kind: &CellKind) -> String {
    format!("{} ({})", kind.name, kind.code)
}

/// The colour bar of numbers, layout pixels.
struct Bar {
    left: f64,
    top: f64,
    /// Width of a step.
    step: f64,
    /// Positions of the names of its ends.
    ends: [(f64, f64); 2],
}

/// Layout of the grids, in layout pixels.
struct Layout<'a> {
    canvas: Canvas<'a>,
    edge: f64,
    title: Vec<String>,
    title_y: f64,
    legend_y: f64,
    /// Names of the dimensions.
    axes: Vec<String>,
    axes_y: f64,
    /// Width of a cell.
    cell: f64,
    /// Height of a cell.
    row: f64,
    /// Whether cells have texts.
    texts: bool,
    /// Width of the row names.
    names: f64,
    /// Height of titles and column names.
    heads: f64,
    /// Column names are vertical.
    upright: bool,
    /// Grids side by side.
    beside: usize,
    /// Width and height of a grid with its margin.
    step: (f64, f64),
    /// Top of the first grid.
    top: f64,
    height: f64,
}

impl<'a> Layout<'a> {
    fn new(map: &HeatMap, canvas: Canvas<'a>, what: &str) -> Result<Self, ChartError> {
        let fitted = canvas.is_fitted();
        let edge = if fitted { EDGE.1 } else { EDGE.0 };
        let width = canvas.width - 2.0 * edge;
        let spare = if fitted { 1.0 } else { 1.1 };
        let px = |name: &String| (canvas.text_width(name, 12.0, false) * spare).floor() + 4.0;
        let widest = |names: &[String]| names.iter().map(px).fold(0.0, f64::max);
        let first = map.grids.first();
        let (rows, columns) =
            first.map_or((0.0, 1.0), |g| (g.rows.len() as f64, g.columns.len().max(1) as f64));
        let (row_names, heads) =
            first.map_or((0.0, 0.0), |g| (widest(&g.rows), widest(&g.columns)));
        let names = row_names + 10.0;
        let names = if fitted { names } else { names.min((canvas.width / 3.0).floor()) };
        let alone = map.grids.len() == 1;
        let texts = map.grids.iter().flat_map(|g| &g.cells).map(|v| map.scale.text(*v, 0));
        let text = texts.map(|t| canvas.text_width(&t, 11.0, false) + 4.0).fold(0.0, f64::max);
        // Several grids are side by side if their cells remain readable.
        let half = ((width - GAP.0 - 2.0 * names) / (2.0 * columns)).floor();
        let readable = if fitted { text.max(26.0) } else { 26.0 };
        let wish = if alone {
            if fitted { 120.0 } else { 84.0 }
        } else if half >= readable {
            half.min(44.0)
        } else {
            44.0
        };
        let cell = ((width - names) / columns).floor().min(wish);
        if fitted && cell < LEAST_CELL.1 {
            let needed = names + LEAST_CELL.1 * columns + 2.0 * edge;
            return Err(too_small(canvas, what, "width", needed));
        }
        let cell = if fitted { cell } else { cell.max(LEAST_CELL.0) };
        let upright = heads > cell - 4.0;
        let titled = first.is_some_and(|g| !g.title.is_empty());
        let spare = if fitted { (LINE + 2.0, LINE + 2.0) } else { (24.0, 22.0) };
        let heads = if upright { heads + 12.0 } else { spare.0 };
        let heads = heads + if titled { spare.1 } else { 0.0 };
        let step_x = names + cell * columns + GAP.0;
        let beside = ((width + GAP.0) / step_x).max(1.0) as usize;
        let beside = beside.min(map.grids.len().max(1));
        let title = match canvas.title(&map.title) {
            Some(title) if fitted => canvas.lines(title, width, true),
            Some(title) => vec![title.to_owned()],
            None => Vec::new(),
        };
        let axes = format!("Rows: {}. Columns: {}.", map.axes[0], map.axes[1]);
        let axes = if fitted { canvas.lines(&axes, width, false) } else { vec![axes] };
        let (title_y, legend_y) = if fitted {
            (edge + LINE / 2.0, edge + LINE / 2.0 + LINE * title.len() as f64)
        } else {
            (TITLE_Y, LEGEND_Y)
        };
        let mut layout = Self {
            canvas,
            edge,
            title,
            title_y,
            legend_y,
            axes,
            axes_y: 0.0,
            cell,
            row: if alone { 30.0 } else { 24.0 },
            texts: !fitted || text <= cell,
            names,
            heads,
            upright,
            beside,
            step: (step_x, 0.0),
            top: 0.0,
            height: 0.0,
        };
        let lines = map.grids.len().div_ceil(beside) as f64;
        layout.place(map, rows, lines);
        if fitted {
            let given = canvas.height();
            let rest = layout.top + lines * (layout.heads + GAP.1);
            let least = LINE - 2.0;
            if given.is_some_and(|height| (height - rest) / (rows * lines) < least) {
                return Err(too_small(canvas, what, "height", rest + least * rows * lines));
            }
            let row = given.map_or(LINE + 3.0, |height| (height - rest) / (rows * lines));
            layout.row = row;
            layout.place(map, rows, lines);
            layout.height = given.unwrap_or(layout.height - GAP.1 + edge);
        }
        Ok(layout)
    }

    /// Computes the vertical positions from the heights of the rows.
    fn place(&mut self, map: &HeatMap, rows: f64, lines: f64) {
        let kinds = self.places(&map.kinds()).last().map(|p| p.1);
        let bar = map.range().map(|(.., ends)| self.bar(&ends).ends[1].1);
        let legend = kinds.or(bar).unwrap_or(self.legend_y);
        if self.canvas.is_fitted() {
            self.axes_y = legend + LINE + 3.0;
            self.top = self.axes_y + LINE * (self.axes.len() as f64 - 0.5) + 2.0;
        } else {
            self.top = legend + 40.0;
            self.axes_y = self.top - 18.0;
        }
        self.step.1 = self.heads + self.row * rows + GAP.1;
        self.height = self.top + self.step.1 * lines;
    }

    /// Returns the positions of the kinds in the legend.
    fn places(&self, kinds: &[(usize, CellKind)]) -> Vec<(f64, f64)> {
        let (mut x, mut y) = (self.edge, self.legend_y);
        let mut out = Vec::new();
        let (gap, line) = if self.canvas.is_fitted() { (16.0, LINE + 2.0) } else { (0.0, 20.0) };
        for (_, kind) in kinds {
            let name = kind_name(kind);
            let name = if self.canvas.is_fitted() { name } else { format!("{}_____", kind.name) };
            let width = 44.0 + self.canvas.text_width(&name, 12.0, false).floor();
            if x + width - gap > self.canvas.width && x > self.edge {
                (x, y) = (self.edge, y + line);
            }
            out.push((x, y));
            x += width;
        }
        out
    }

    /// Returns the place of the colour bar: on a sheet the names of its ends are below it.
    fn bar(&self, ends: &[String; 2]) -> Bar {
        let (edge, top) = (self.edge, self.legend_y);
        let [first, second] = [0, 1].map(|i| self.canvas.text_width(&ends[i], 12.0, false));
        if !self.canvas.is_fitted() {
            let left = edge + first.floor() + 8.0;
            let right = left + f64::from(BAR) * 4.0 + 9.0;
            return Bar { left, top, step: 4.0, ends: [(edge, top), (right, top)] };
        }
        let room = self.canvas.width - 2.0 * edge;
        let beside = room - first - second - 16.0;
        if beside >= room / 3.0 {
            let step = (beside / f64::from(BAR)).min(4.0);
            let left = edge + first + 8.0;
            let right = left + f64::from(BAR) * step + 9.0;
            return Bar { left, top, step, ends: [(edge, top), (right, top)] };
        }
        let step = (room - 1.0) / f64::from(BAR);
        let below = top + LINE;
        let after = if first + second + 12.0 > room { below + LINE } else { below };
        let right = edge + room - second;
        Bar { left: edge, top, step, ends: [(edge, below), (right, after)] }
    }

    /// Returns the text of a cell.
    fn cell_text(&self, map: &HeatMap, value: Option<f64>) -> String {
        if !self.canvas.is_fitted() {
            return map.scale.text(value, ((self.cell - 6.0) / (11.0 * LETTER)) as usize);
        }
        if !self.texts {
            return String::new();
        }
        let long = map.scale.text(value, usize::MAX);
        if self.canvas.text_width(&long, 11.0, false) + 4.0 <= self.cell {
            long
        } else {
            map.scale.text(value, 0)
        }
    }

    /// Returns the upper left corner of the `i`-th grid.
    fn corner(&self, i: usize) -> (f64, f64) {
        let (column, line) = ((i % self.beside) as f64, (i / self.beside) as f64);
        (self.edge + self.step.0 * column, self.top + self.step.1 * line)
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
        let svg = map.to_svg_on(Canvas::PAGE).unwrap();
        assert!(svg.contains("Goodput &amp; more") && svg.contains("scheme-3"));
        assert!(svg.matches("<rect").count() >= 12 + BAR as usize);
    }

    #[test]
    fn grids_stay_within_the_figure_and_apart() {
        for (columns, grids) in [(3, 1), (3, 3), (12, 5), (20, 2)] {
            let map = map(columns, grids);
            let layout = Layout::new(&map, Canvas::PAGE, "").unwrap();
            for i in 0..grids {
                let (x, y) = layout.corner(i);
                let right = x + layout.names + layout.cell * columns as f64;
                assert!(
                    right <= 800.0 - EDGE.0 + 8.0 || columns == 20,
                    "{columns} {grids}: {right}"
                );
                assert!(y + layout.heads + layout.row * 3.0 <= layout.height);
                for j in 0..i {
                    let (u, v) = layout.corner(j);
                    assert!(x >= u + layout.step.0 || y >= v + layout.step.1 || x < u);
                }
            }
        }
    }
}
