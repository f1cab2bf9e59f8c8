//! Lengths on paper.

use std::fmt;

/// A length on paper.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Length {
    points: f64,
}

/// Units with their points; a point is 1/72 inch.
const UNITS: [(&str, f64); 4] =
    [("in", 72.0), ("mm", 72.0 / 25.4), ("cm", 720.0 / 25.4), ("pt", 1.0)];

impl Length {
    /// Returns the length in points, 1/72 inch.
    pub const fn points(self) -> f64 {
        self.points
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}pt", (self.points * 100.0).round() / 100.0)
    }
}

/// Parses `3.3in`, `84mm`, `8.4cm` or `240pt`.
pub fn parse_length(text: &str) -> Result<Length, String> {
    let wrong = || "expected a length with its unit, as 3.3in, 84mm, 8.4cm or 240pt".to_owned();
    let text = text.trim();
    let (unit, points) = UNITS.iter().find(|(unit, _)| text.ends_with(unit)).ok_or_else(wrong)?;
    let number = text.strip_suffix(unit).unwrap_or_default().trim_end();
    let value: f64 = number.parse().map_err(|_| wrong())?;
    let is_length = value.is_finite() && value > 0.0;
    if is_length { Ok(Length { points: value * points }) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_unit() {
        let points = |text| parse_length(text).unwrap().points();
        assert!((points("3.3in") - 237.6).abs() < 1e-9);
        assert!((points("84 mm") - 238.110_236).abs() < 1e-6);
        assert!((points("8.4cm") - points("84mm")).abs() < 1e-9);
        assert_eq!(parse_length("240pt").unwrap().to_string(), "240pt");
        for bad in ["3.3", "in", "-1in", "0mm", "infpt", "nanpt", "3,3in", "84px", ""] {
            assert!(parse_length(bad).is_err_and(|e| e.contains("3.3in")), "{bad}");
        }
    }
}
