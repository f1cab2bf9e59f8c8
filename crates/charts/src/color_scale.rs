//! Colours and texts of heat map cells.

use plotters::style::RGBColor;
use serde::Serialize;

use super::axis::number;
use super::palette::{grey_of, hex};

/// Mapping from values to colours.
#[derive(Clone, PartialEq, Debug)]
pub enum ColorScale {
    /// From light to dark between two values.
    Sequential {
        /// Value at the light end.
        low: f64,
        /// Value at the dark end.
        high: f64,
        /// Whether more is worse: warm colours instead of cold ones.
        warm: bool,
    },
    /// From a middle to both sides, for values from zero to one.
    Diverging,
    /// Values are indices of these kinds.
    Categorical(Vec<CellKind>),
}

/// One kind of cell.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CellKind {
    /// Name in the legend.
    pub name: &'static str,
    /// Short name, for cells with room.
    pub short: &'static str,
    /// Two letters, for cells without.
    pub code: &'static str,
    /// Its colour.
    #[serde(serialize_with = "hex")]
    pub color: RGBColor,
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
/// The light and the dark end of greys.
const GREYS: [RGBColor; 2] = [RGBColor(0xf2, 0xf2, 0xf2), RGBColor(0x38, 0x38, 0x38)];
const NONE: RGBColor = RGBColor(0xec, 0xee, 0xf0);

/// Interpolates between `stops` at `share`, from 0 to 1.
fn interpolate(stops: &[RGBColor], share: f64) -> RGBColor {
    let place = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let i = (place as usize).min(stops.len() - 2);
    let (a, b, part) = (stops[i], stops[i + 1], place - i as f64);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

impl ColorScale {
    pub(super) fn color(&self, value: Option<f64>) -> RGBColor {
        let Some(value) = value else { return NONE };
        match self {
            Self::Sequential { low, high, warm } => {
                let stops = if *warm { &WARM } else { &COLD };
                let share = if high > low { (value - low) / (high - low) } else { 0.0 };
                interpolate(stops, share)
            }
            Self::Diverging => interpolate(&AWAY, value),
            Self::Categorical(kinds) => kinds.get(value as usize).map_or(NONE, |k| k.color),
        }
    }

    /// Returns the grey of a cell: darker for greater values, and evenly spaced for kinds.
    pub(super) fn grey(&self, value: Option<f64>) -> RGBColor {
        let [light, dark] = GREYS;
        let Some(value) = value else { return RGBColor(0xff, 0xff, 0xff) };
        match self {
            Self::Sequential { .. } => grey_of(self.color(Some(value))),
            Self::Diverging => interpolate(&[light, dark], value),
            Self::Categorical(kinds) => {
                let steps = kinds.len().saturating_sub(1).max(1) as f64;
                interpolate(&[light, dark], value / steps)
            }
        }
    }

    /// Returns the text of a cell with room for `letters` letters.
    pub(super) fn text(&self, value: Option<f64>, letters: usize) -> String {
        let Some(value) = value else { return "\u{2013}".to_owned() };
        match self {
            Self::Categorical(kinds) => kinds.get(value as usize).map_or_else(String::new, |k| {
                if k.short.len() <= letters { k.short } else { k.code }.to_owned()
            }),
            Self::Diverging => format!("{:.0}", value * 100.0),
            Self::Sequential { .. } if value.abs() >= 10.0 => format!("{value:.0}"),
            Self::Sequential { .. } => number((value * 100.0).round() / 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::lightness;
    use crate::primitives::INK;

    #[test]
    fn letters_stand_out_from_their_cell() {
        for i in 0..=20 {
            for stops in [&COLD[..], &WARM, &AWAY] {
                let cell = lightness(interpolate(stops, f64::from(i) / 20.0));
                let ink = if cell < 0.52 { 1.0 } else { lightness(INK) };
                assert!((cell - ink).abs() > 0.35, "{i}: {cell}");
            }
        }
        assert_eq!(interpolate(&COLD, -1.0), COLD[0]);
        assert_eq!(interpolate(&COLD, 2.0), COLD[3]);
    }

    #[test]
    fn text_fits_its_cell() {
        let (name, short, code, color) = ("collapsed-window", "collapsed", "co", NONE);
        let kinds = ColorScale::Categorical(vec![CellKind { name, short, code, color }]);
        assert_eq!(kinds.text(Some(0.0), 9), "collapsed");
        assert_eq!(kinds.text(Some(0.0), 4), "co");
        assert_eq!(ColorScale::Diverging.text(Some(0.157), 3), "16");
        assert_eq!(kinds.text(None, 3), "\u{2013}");
    }
}
