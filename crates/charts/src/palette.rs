//! Styles of schemes: colours, and for readers without colour dashes and markers.
//!
//! The colours are those of Okabe and Ito (2008), which any colour vision can distinguish. The
//! order makes the first ones differ in grey too.

use plotters::style::RGBColor;
use serde::{Serialize, Serializer};

/// Marker at a data point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MarkerShape {
    /// Disc.
    Circle,
    /// Square.
    Square,
    /// Triangle, point up.
    Triangle,
    /// Square on its corner.
    Diamond,
}

/// Style of one scheme in every figure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Style {
    /// Colour of line and marker.
    #[serde(serialize_with = "hex")]
    pub(crate) color: RGBColor,
    /// Colour on a dark page.
    #[serde(serialize_with = "hex")]
    pub(crate) dark: RGBColor,
    /// Length of dash and gap in pixels; `None` is solid.
    pub(crate) dash: Option<(i32, i32)>,
    /// Marker at data points.
    pub(crate) marker: MarkerShape,
}

const COLORS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x40, 0x40, 0x40),
];
/// Lighter forms of [`COLORS`] where these are too dark for a dark page.
const DARK: [RGBColor; 7] = [
    RGBColor(0x3f, 0xa2, 0xdc),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x1f, 0xc2, 0x95),
    RGBColor(0xd9, 0x92, 0xbb),
    RGBColor(0x8f, 0xd0, 0xf5),
    RGBColor(0xf0, 0x7b, 0x2a),
    RGBColor(0xc8, 0xc8, 0xc8),
];
const DASHES: [Option<(i32, i32)>; 5] =
    [None, Some((8, 4)), Some((3, 3)), Some((14, 4)), Some((6, 8))];
const MARKERS: [MarkerShape; 4] =
    [MarkerShape::Circle, MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Diamond];

/// Returns the style of the `i`-th scheme. The numbers of colours, dashes and markers are pairwise
/// coprime, so 140 styles differ.
pub(crate) const fn style(i: usize) -> Style {
    Style {
        color: COLORS[i % COLORS.len()],
        dark: DARK[i % DARK.len()],
        dash: DASHES[i % DASHES.len()],
        marker: MARKERS[i % MARKERS.len()],
    }
}

/// Greys of [`grey_style`], the first ones far apart; all are visible on white.
const GREYS: [u8; 5] = [0x00, 0x8c, 0x4d, 0xb3, 0x2b];

/// Returns the style of the `i`-th scheme in greys. The dashes and markers are those of [`style`],
/// so 20 styles differ without the greys too.
pub(crate) const fn grey_style(i: usize) -> Style {
    let grey = GREYS[i % GREYS.len()];
    let color = RGBColor(grey, grey, grey);
    Style { color, dark: color, ..style(i) }
}

/// Returns the perceived lightness of a colour, 0 to 1.
pub(crate) fn lightness(c: RGBColor) -> f64 {
    let linear = |v: u8| (f64::from(v) / 255.0).powf(2.2);
    (0.2126 * linear(c.0) + 0.7152 * linear(c.1) + 0.0722 * linear(c.2)).powf(1.0 / 2.2)
}

/// Returns the grey of equal lightness.
pub(crate) fn grey_of(c: RGBColor) -> RGBColor {
    let grey = (lightness(c) * 255.0).round() as u8;
    RGBColor(grey, grey, grey)
}

/// Serialises a colour as `#rrggbb`.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub(crate) fn hex<S: Serializer>(color: &RGBColor, to: S) -> Result<S::Ok, S::Error> {
    let RGBColor(red, green, blue) = color;
    to.collect_str(&format_args!("#{red:02x}{green:02x}{blue:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_readable_on_a_dark_page() {
        // The figures of a dark page have the background #1e2227.
        let back = lightness(RGBColor(0x1e, 0x22, 0x27)).powf(2.2);
        for color in DARK {
            assert!((lightness(color).powf(2.2) + 0.05) / (back + 0.05) > 4.5, "{color:?}");
        }
    }

    #[test]
    fn the_first_three_differ_in_grey_and_all_differ_somehow() {
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            let (a, b) = (style(a), style(b));
            assert!((lightness(a.color) - lightness(b.color)).abs() > 0.1);
            assert!(a.dash != b.dash && a.marker != b.marker);
        }
        for i in 0..140 {
            assert!((0..i).all(|j| style(i) != style(j)), "{i}");
        }
    }
}
