//! Smaller SVG for the same drawing: fewer elements, shorter coordinates, no default attributes.
//!
//! Contract: the input is the output of the `plotters` backend, which writes each element on a
//! separate line, with whole coordinates.

use std::fmt::Write as _;

/// Default values that the backend writes.
const DEFAULTS: [&str; 3] =
    [" opacity=\"1\"", " stroke=\"none\" stroke-width=\"1\"", " stroke=\"none\""];

/// Returns the drawing with consecutive lines of one style as one path, and without attributes
/// that repeat the default or the root element, whose fonts are `family`.
pub(crate) fn compact(svg: &str, family: &str) -> String {
    let font = format!(" font-family=\"{family}\"");
    let mut out = String::with_capacity(svg.len() / 2);
    let mut path = Path::default();
    for line in svg.lines() {
        if let Some((style, points)) = polyline(line).or_else(|| straight_line(line)) {
            if path.style != style {
                path.finish(&mut out);
                style.clone_into(&mut path.style);
            }
            path.line(&points);
            continue;
        }
        path.finish(&mut out);
        let mut line = DEFAULTS.iter().fold(line.to_owned(), |l, default| l.replace(default, ""));
        if line.starts_with("<text") {
            line = rounded_size(&line.replace(&font, ""));
        }
        out.push_str(&line);
        out.push('\n');
    }
    path.finish(&mut out);
    out
}

/// Returns the style and the points of a line of the backend.
fn polyline(line: &str) -> Option<(&str, Vec<(i32, i32)>)> {
    let (style, points) = line.strip_prefix("<polyline ")?.split_once(" points=\"")?;
    let points = points.strip_suffix("\"/>")?.split_ascii_whitespace();
    let point = |text: &str| {
        let (x, y) = text.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    Some((style, points.map(point).collect::<Option<_>>()?))
}

/// Returns the style and both ends of a straight line, as of a grid.
fn straight_line(line: &str) -> Option<(&str, Vec<(i32, i32)>)> {
    let (style, ends) = line.strip_prefix("<line ")?.split_once(" x1=\"")?;
    let mut numbers = ends.split('"').step_by(2).map_while(|text| text.parse().ok());
    let mut point = || Some((numbers.next()?, numbers.next()?));
    Some((style, vec![point()?, point()?]))
}

/// Removes the rounding error that the backend's scale leaves in font sizes.
fn rounded_size(line: &str) -> String {
    let Some((head, rest)) = line.split_once(" font-size=\"") else { return line.to_owned() };
    let Some((size, tail)) = rest.split_once('"') else { return line.to_owned() };
    let Ok(size) = size.parse::<f64>() else { return line.to_owned() };
    format!("{head} font-size=\"{}\"{tail}", (size * 100.0).round() / 100.0)
}

/// A path of lines of one style.
#[derive(Default)]
struct Path {
    style: String,
    data: String,
    /// End of the last line.
    at: Option<(i32, i32)>,
}

impl Path {
    /// Adds a line in relative coordinates; steps in the same direction along an axis become one.
    fn line(&mut self, points: &[(i32, i32)]) {
        let Some((&first, points)) = points.split_first() else { return };
        let (x, y) = self.at.unwrap_or_default();
        self.data.push(if self.at.is_none() { 'M' } else { 'm' });
        self.pair((first.0 - x, first.1 - y), true);
        let mut at = first;
        let mut steps: Vec<(i32, i32)> = Vec::new();
        for &to in points {
            let step = (to.0 - at.0, to.1 - at.1);
            at = to;
            match steps.last_mut() {
                Some(last) if same_direction(*last, step) => {
                    *last = (last.0 + step.0, last.1 + step.1);
                }
                _ => steps.push(step),
            }
        }
        for (i, step) in steps.into_iter().enumerate() {
            if i == 0 {
                self.data.push('l');
            }
            self.pair(step, i == 0);
        }
        self.at = Some(at);
    }

    /// Writes two numbers; a minus sign separates as well as a blank.
    fn pair(&mut self, (x, y): (i32, i32), first: bool) {
        for (value, first) in [(x, first), (y, false)] {
            if !first && value >= 0 {
                self.data.push(' ');
            }
            // Writing to a string cannot fail.
            let _ = write!(self.data, "{value}");
        }
    }

    fn finish(&mut self, out: &mut String) {
        if self.at.take().is_some() {
            let style = self.style.replace(DEFAULTS[0], "");
            let _ = writeln!(out, "<path {style} d=\"{}\"/>", self.data);
            self.data.clear();
            self.style.clear();
        }
    }
}

/// Returns whether two steps lead along one axis in one direction.
fn same_direction(a: (i32, i32), b: (i32, i32)) -> bool {
    let along =
        |a: (i32, i32), b: (i32, i32)| a.1 == 0 && b.1 == 0 && a.0.signum() * b.0.signum() >= 0;
    along(a, b) || along((a.1, a.0), (b.1, b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::PAGE_FACES as FACES;

    #[test]
    fn lines_of_one_style_become_one_path() {
        let line = |points: &str| {
            format!(
                "<polyline fill=\"none\" opacity=\"1\" stroke=\"#0072B2\" points=\"{points} \"/>\n"
            )
        };
        let dashes = line("10,20 30,20") + &line("46,20 66,20 66,5");
        assert_eq!(
            compact(&dashes, FACES),
            "<path fill=\"none\" stroke=\"#0072B2\" d=\"M10 20l20 0m16 0l20 0 0-15\"/>\n"
        );
        let other = dashes.clone() + &dashes.replace("#0072B2", "#E69F00");
        assert_eq!(compact(&other, FACES).matches("<path").count(), 2);
    }

    #[test]
    fn grid_lines_become_one_path() {
        let line = |y: i32| {
            format!(
                "<line opacity=\"0.2\" stroke=\"#000000\" stroke-width=\"8\" x1=\"480\" y1=\"{y}\" \
                 x2=\"900\" y2=\"{y}\"/>\n"
            )
        };
        assert_eq!(
            compact(&(line(100) + &line(60)), FACES),
            "<path opacity=\"0.2\" stroke=\"#000000\" stroke-width=\"8\" \
             d=\"M480 100l420 0m-420-40l420 0\"/>\n"
        );
    }

    #[test]
    fn steps_along_an_axis_are_merged() {
        let line = "<polyline points=\"0,0 0,4 0,9 5,9 7,9 7,9 3,9 3,8 \"/>\n";
        let path = compact(&line.replace("<polyline ", "<polyline fill=\"none\" "), FACES);
        assert_eq!(path, "<path fill=\"none\" d=\"M0 0l0 9 7 0-4 0 0-1\"/>\n");
    }

    #[test]
    fn text_keeps_its_content() {
        let text = format!(
            "<text x=\"1\" font-family=\"{FACES}\" font-size=\"52.00000000000001\" opacity=\"1\">\na b\n</text>\n"
        );
        assert_eq!(compact(&text, FACES), "<text x=\"1\" font-size=\"52\">\na b\n</text>\n");
    }
}
