//! The look that all figures share: colours, dashes, markers, type sizes.
//!
//! Colours are those of Okabe and Ito ("Color Universal Design", 2008), which
//! colour-blind readers tell apart, in an order in which the first three also
//! differ most as shades of grey; lines with few points add dashes and
//! markers, so that a figure survives a black and white printer.

use plotters::style::RGBColor;

/// Size of a figure, px.
pub(super) const WIDTH: f64 = 820.0;
/// Height of a figure of one panel, px.
pub(super) const HEIGHT: f64 = 440.0;

/// Size of tick labels and legends, px.
pub(super) const SMALL: f64 = 13.0;
/// Size of axis titles, px.
pub(super) const TITLE: f64 = 14.0;

/// Text and axis lines.
pub(super) const INK: RGBColor = RGBColor(0x26, 0x2b, 0x33);
/// Secondary text.
pub(super) const FAINT_INK: RGBColor = RGBColor(0x5b, 0x64, 0x70);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xe4, 0xe7, 0xeb);
/// The card a figure is drawn on; figures keep it on a dark page.
pub(super) const CARD: RGBColor = RGBColor(0xff, 0xff, 0xff);

const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
];
const DASHES: [Option<&str>; 4] = [None, Some("9 3.5"), Some("3 2.5"), Some("10 3 2.5 3")];
const MARKERS: [Marker; 4] = [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond];

/// The shape of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square on its corner.
    Diamond,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stroke {
    /// Colour.
    pub(super) colour: RGBColor,
    /// Width, px.
    pub(super) width: f64,
    /// Lengths of dashes and gaps, px; none for a full line.
    pub(super) dash: Option<&'static str>,
}

impl Stroke {
    /// A full line.
    pub(super) fn full(colour: RGBColor, width: f64) -> Self {
        Self { colour, width, dash: None }
    }

    /// The same with dashes.
    pub(super) fn dashed(self, dash: &'static str) -> Self {
        Self { dash: Some(dash), ..self }
    }
}

/// How the scheme at a position of the list is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// Colour of line and marker.
    pub(super) colour: RGBColor,
    /// Dashes of lines with few points.
    pub(super) dash: Option<&'static str>,
    /// Marker of single points.
    pub(super) marker: Marker,
}

impl Look {
    /// The look of a scheme; 28 positions differ.
    pub(super) fn of(index: usize) -> Self {
        let (colour, round) = (index % COLOURS.len(), index / COLOURS.len());
        Self {
            colour: COLOURS[colour],
            dash: DASHES[(colour + round) % DASHES.len()],
            marker: MARKERS[(colour + round) % MARKERS.len()],
        }
    }

    /// A line with few points: dashes tell the schemes apart.
    pub(super) fn stroke(self) -> Stroke {
        Stroke { colour: self.colour, width: 2.0, dash: self.dash }
    }

    /// A dense series over time: always full, for dashes would tear it apart.
    pub(super) fn dense(self) -> Stroke {
        Stroke::full(self.colour, 1.3)
    }
}

/// A colour mixed with white; 0 leaves it, 1 is white.
pub(super) fn tint(colour: RGBColor, share: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) + (255.0 - f64::from(part)) * share).round() as u8;
    RGBColor(mix(colour.0), mix(colour.1), mix(colour.2))
}

/// The colour of a scheme's flow number `flow`: lighter with each.
pub(super) fn shade(colour: RGBColor, flow: usize) -> RGBColor {
    tint(colour, (0.34 * flow as f64).min(0.68))
}

/// Width of a text in px, as a sans-serif face sets it: there is no font to
/// ask. Rounded up rather than down, so that labels do not touch.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ' ' | '\u{2009}' | '\'' | '|' | ':' | ';' | '!' => 0.3,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' => 0.9,
            'A'..='Z' => 0.7,
            _ => 0.57,
        })
        .sum();
    em * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_the_first_schemes_look_alike() {
        let looks: Vec<Look> = (0..28).map(Look::of).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "scheme {index}");
        }
    }

    #[test]
    fn the_first_three_differ_in_grey() {
        let grey = |c: RGBColor| {
            0.2126 * f64::from(c.0) + 0.7152 * f64::from(c.1) + 0.0722 * f64::from(c.2)
        };
        let mut shades: Vec<f64> = (0..3).map(|i| grey(Look::of(i).colour)).collect();
        shades.sort_by(f64::total_cmp);
        assert!(shades.windows(2).all(|pair| pair[1] - pair[0] > 60.0), "{shades:?}");
    }
}
