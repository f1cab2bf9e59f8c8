//! Heat maps as data and as SVG: grids of cells, each a number or a named kind, with a legend.
//!
//! Contract: as for all figures: the SVG and the CSV file come from the same values, no fonts are read,
//! nothing outside the file is needed. Every cell carries its value as text, so that colour alone says
//! nothing.

use lowtide_record::csv;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::number;
use super::draw::{Area, FINE, Failure, INK, LETTER, MUTED, WIDTH, finish, font, write};
use crate::error::LabError;

/// One figure of grids that share their legend.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HeatMap {
    /// Name of its files, without an ending.
    pub(crate) id: String,
    /// What it shows, with the unit.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) caption: String,
    /// What the rows are, and the columns.
    pub(crate) axes: [String; 2],
    /// How values become colours.
    pub(crate) scale: Shades,
    /// The grids, all with the same rows and columns.
    pub(crate) grids: Vec<Grid>,
}

/// One grid.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Grid {
    /// What sets it apart from the others; empty when it is alone.
    pub(crate) title: String,
    /// Names of the rows, from the top.
    pub(crate) rows: Vec<String>,
    /// Names of the columns, from the left.
    pub(crate) columns: Vec<String>,
    /// The cells, row by row; `None` where there is no value.
    pub(crate) cells: Vec<Option<f64>>,
}

/// How values become colours.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shades {
    /// From light to dark between two values.
    Ramp {
        /// At the light end.
        low: f64,
        /// At the dark end.
        high: f64,
        /// More is worse: warm colours instead of cold ones.
        warm: bool,
    },
    /// Away from a middle on both sides, between zero and one.
    Balance,
    /// The value is the number of a kind.
    Kinds(Vec<Kind>),
}

/// One kind of cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Kind {
    /// Name, for the legend.
    pub(crate) name: &'static str,
    /// One word, for cells that have room.
    pub(crate) short: &'static str,
    /// Two letters, for those that have not.
    pub(crate) code: &'static str,
    /// Its colour.
    pub(crate) color: RGBColor,
}

const COLD: [RGBColor; 4] = [
    RGBColor(0xf1, 0xf6, 0xfb),
    RGBColor(0x9e, 0xc9, 0xe6),
    RGBColor(0x2f, 0x7e, 0xbc),
    RGBColor(0x0a, 0x3b, 0x75),
];
const WARM: [RGBColor; 4] = [
    RGBColor(0xfd, 0xf4, 0xe8),
    RGBColor(0xfd, 0xbe, 0x78),
    RGBColor(0xe8, 0x6c, 0x1a),
    RGBColor(0x8a, 0x31, 0x04),
];
const AWAY: [RGBColor; 5] = [
    RGBColor(0xb3, 0x4a, 0x00),
    RGBColor(0xf3, 0xb5, 0x7a),
    RGBColor(0xf4, 0xf4, 0xf2),
    RGBColor(0x92, 0xc5, 0xe0),
    RGBColor(0x0f, 0x57, 0x8f),
];
const NONE: RGBColor = RGBColor(0xec, 0xee, 0xf0);

/// The colour at `share` of the way through `stops`.
fn between(stops: &[RGBColor], share: f64) -> RGBColor {
    let place = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let i = (place as usize).min(stops.len() - 2);
    let (a, b, part) = (stops[i], stops[i + 1], place - i as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

impl Shades {
    fn color(&self, value: Option<f64>) -> RGBColor {
        let Some(value) = value else { return NONE };
        match self {
            Self::Ramp { low, high, warm } => {
                let stops = if *warm { &WARM } else { &COLD };
                let share = if high > low { (value - low) / (high - low) } else { 0.0 };
                between(stops, share)
            }
            Self::Balance => between(&AWAY, value),
            Self::Kinds(kinds) => kinds.get(value as usize).map_or(NONE, |k| k.color),
        }
    }

    /// The text of a cell that has room for `letters`.
    fn text(&self, value: Option<f64>, letters: usize) -> String {
        let Some(value) = value else { return "\u{2013}".to_owned() };
        match self {
            Self::Kinds(kinds) => kinds.get(value as usize).map_or_else(String::new, |k| {
                if k.short.len() <= letters { k.short } else { k.code }.to_owned()
            }),
            Self::Balance => format!("{:.0}", value * 100.0),
            Self::Ramp { .. } if value.abs() >= 10.0 => format!("{value:.0}"),
            Self::Ramp { .. } => number((value * 100.0).round() / 100.0),
        }
    }
}

/// Perceived lightness of a colour, 0 to 1: dark cells need light letters.
fn lightness(c: RGBColor) -> f64 {
    let linear = |v: u8| (f64::from(v) / 255.0).powf(2.2);
    (0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2)).powf(1.0 / 2.2)
}

impl HeatMap {
    /// The values: one line per cell.
    pub(crate) fn to_csv(&self) -> String {
        let mut text = csv::line(["panel", &self.axes[0], &self.axes[1], "value", "text"]);
        for grid in &self.grids {
            let places = grid
                .rows
                .iter()
                .flat_map(|row| grid.columns.iter().map(move |column| (row, column)));
            for ((row, column), value) in places.zip(&grid.cells) {
                let number = value.map_or_else(String::new, |v| v.to_string());
                let shown = self.scale.text(*value, usize::MAX);
                text.push_str(&csv::line(
                    [&grid.title, row, column, &number, &shown].map(String::as_str),
                ));
            }
        }
        text
    }

    /// The figure as one SVG file.
    pub(crate) fn to_svg(&self) -> Result<String, LabError> {
        let layout = Layout::new(self);
        let mut text = String::new();
        self.draw(&layout, &mut text).map_err(|e| LabError::Draw {
            what: format!("figure `{}`", self.id),
            reason: e.to_string(),
        })?;
        Ok(finish(&text, &self.title, layout.height))
    }

    fn draw(&self, layout: &Layout, text: &mut String) -> Result<(), Failure> {
        let size = ((WIDTH * FINE) as u32, (layout.height * FINE) as u32);
        let root = SVGBackend::with_string(text, size).into_drawing_area();
        root.fill(&WHITE)?;
        write(&root, &self.title, at(EDGE, 22), &font(15, INK, true))?;
        let axes = format!("rows: {}, columns: {}", self.axes[0], self.axes[1]);
        let right = Pos::new(HPos::Right, VPos::Center);
        write(&root, &axes, at(WIDTH - EDGE, 22), &font(12, MUTED, false).pos(right))?;
        self.legend(&root)?;
        for (i, grid) in self.grids.iter().enumerate() {
            self.grid(&root, grid, layout, layout.corner(i))?;
        }
        root.present()
    }

    fn legend(&self, root: &Area<'_>) -> Result<(), Failure> {
        let plain = font(12, MUTED, false);
        if let Shades::Kinds(kinds) = &self.scale {
            for ((x, y), kind) in places(kinds).into_iter().zip(kinds) {
                block(root, (x, y - 7), (14, 14), kind.color)?;
                let name = format!("{} ({})", kind.name, kind.code);
                write(root, &name, at(x + 20, y), &font(12, INK, false))?;
            }
            return Ok(());
        }
        let (low, high, ends) = match &self.scale {
            Shades::Ramp { low, high, .. } => (*low, *high, [number(*low), number(*high)]),
            _ => (
                0.0,
                1.0,
                ["0 %: all the neighbour's".to_owned(), "100 %: all the pair's".to_owned()],
            ),
        };
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
        grid: &Grid,
        layout: &Layout,
        (left, top): (i32, i32),
    ) -> Result<(), Failure> {
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
                let ink = if lightness(color) < 0.62 { WHITE } else { INK };
                let style = font(11, ink, false).pos(center);
                let middle = at(x + layout.cell / 2, y + layout.row / 2);
                write(root, &self.scale.text(value, letters), middle, &style)?;
            }
        }
        Ok(())
    }
}

/// Left edge of everything.
const EDGE: i32 = 16;
const LEGEND_Y: i32 = 48;
/// Steps of the colour bar.
const BAR: i32 = 60;
/// Room between grids.
const GAP: (i32, i32) = (22, 20);

/// A place of the figure in drawn pixels.
fn at(x: i32, y: i32) -> (i32, i32) {
    (x * FINE, y * FINE)
}

fn block(
    root: &Area<'_>,
    from: (i32, i32),
    size: (i32, i32),
    color: RGBColor,
) -> Result<(), Failure> {
    let corners = [at(from.0, from.1), at(from.0 + size.0, from.1 + size.1)];
    root.draw(&Rectangle::new(corners, color.filled()))
}

/// Where the kinds stand in the legend.
fn places(kinds: &[Kind]) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (EDGE, LEGEND_Y);
    let mut out = Vec::new();
    for kind in kinds {
        let width = 44 + ((kind.name.chars().count() + 5) as f64 * 12.0 * LETTER) as i32;
        if x + width > WIDTH && x > EDGE {
            (x, y) = (EDGE, y + 20);
        }
        out.push((x, y));
        x += width;
    }
    out
}

/// How the grids are laid out, in pixels of the figure.
struct Layout {
    /// Width of a cell.
    cell: i32,
    /// Height of a cell.
    row: i32,
    /// Room for the names of rows.
    names: i32,
    /// Room for titles and the names of columns.
    heads: i32,
    /// Names of columns stand upright.
    upright: bool,
    /// Grids beside each other.
    beside: usize,
    /// Width and height of a grid with the room around it.
    step: (i32, i32),
    /// Where the first one begins.
    top: i32,
    height: i32,
}

impl Layout {
    fn new(map: &HeatMap) -> Self {
        let px = |name: &String| (name.chars().count() as f64 * 12.0 * LETTER) as i32 + 4;
        let widest = |names: &[String]| names.iter().map(px).max().unwrap_or(0);
        let first = map.grids.first();
        let (rows, columns) =
            first.map_or((0, 0), |g| (g.rows.len() as i32, g.columns.len() as i32));
        let (row_names, heads) = first.map_or((0, 0), |g| (widest(&g.rows), widest(&g.columns)));
        let names = (row_names + 10).min(WIDTH / 3);
        let alone = map.grids.len() == 1;
        let room = WIDTH - 2 * EDGE - names;
        // Several grids are to stand beside each other where they can.
        let wish = if alone { 84 } else { 44 };
        let cell = (room / columns.max(1)).min(wish).max(24);
        let upright = heads > cell - 4;
        let titled = first.is_some_and(|g| !g.title.is_empty());
        let heads = if upright { heads + 12 } else { 24 } + if titled { 22 } else { 0 };
        let row = if alone { 30 } else { 24 };
        let width = names + cell * columns + GAP.0;
        let step = (width, heads + row * rows + GAP.1);
        let beside =
            (((WIDTH - 2 * EDGE + GAP.0) / width).max(1) as usize).min(map.grids.len().max(1));
        let legend = match &map.scale {
            Shades::Kinds(kinds) => places(kinds).last().map_or(LEGEND_Y, |p| p.1),
            _ => LEGEND_Y,
        };
        let top = legend + 22;
        let lines = map.grids.len().div_ceil(beside) as i32;
        Self { cell, row, names, heads, upright, beside, step, top, height: top + step.1 * lines }
    }

    /// The upper left corner of the `i`-th grid.
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
        let grid = Grid {
            title: "next to <dctcp>".into(),
            rows: names(3),
            columns: names(columns),
            cells: (0..3 * columns).map(|i| (i > 0).then_some(i as f64)).collect(),
        };
        HeatMap {
            id: "goodput".into(),
            title: "Goodput & more".into(),
            caption: String::new(),
            axes: ["sender".into(), "receiver".into()],
            scale: Shades::Ramp { low: 0.0, high: 100.0, warm: false },
            grids: vec![grid; grids],
        }
    }

    #[test]
    fn every_cell_is_in_the_csv_file_and_in_the_drawing() {
        let map = map(4, 1);
        let csv = map.to_csv();
        assert_eq!(csv.lines().count(), 1 + 12);
        assert!(csv.starts_with("panel,sender,receiver,value,text\n"), "{csv}");
        assert!(csv.contains("scheme-2,scheme-3,11,11\n"), "{csv}");
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

    #[test]
    fn letters_stand_out_from_their_cell() {
        for i in 0..=20 {
            for stops in [&COLD[..], &WARM, &AWAY] {
                let cell = lightness(between(stops, f64::from(i) / 20.0));
                let ink = if cell < 0.62 { 1.0 } else { lightness(INK) };
                assert!((cell - ink).abs() > 0.35, "{i}: {cell}");
            }
        }
        assert_eq!(between(&COLD, -1.0), COLD[0]);
        assert_eq!(between(&COLD, 2.0), COLD[3]);
    }

    #[test]
    fn text_fits_its_cell() {
        let (name, short, code, color) = ("collapsed-window", "collapsed", "co", NONE);
        let kinds = Shades::Kinds(vec![Kind { name, short, code, color }]);
        assert_eq!(kinds.text(Some(0.0), 9), "collapsed");
        assert_eq!(kinds.text(Some(0.0), 4), "co");
        assert_eq!(Shades::Balance.text(Some(0.157), 3), "16");
        assert_eq!(kinds.text(None, 3), "\u{2013}");
    }
}
