//! Values of swept keys as numbers: a column beside the text of each key.
//!
//! The name of the column is the key and the suffix of its unit, `switch.mark.k_packets`. Keys have
//! no underscore, so it is never the name of another key.

use lowtide_units::{
    Ratio, parse_bytes, parse_duration, parse_fraction, parse_packets, parse_rate,
};

use crate::table::{Cell, ColumnType};

/// The unit of the values of a swept key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SweptUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Picoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// A share: 1 is 100 %.
    Share,
    /// A number without a unit, or a ratio.
    Number,
}

impl SweptUnit {
    /// All units.
    pub const ALL: [Self; 6] =
        [Self::Packets, Self::Bytes, Self::Time, Self::Rate, Self::Share, Self::Number];

    /// Returns the unit that `values` have in common; `None` if they have several units, or if none
    /// is a quantity. Words among them, as `off` or a name, have no unit.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut units = values.into_iter().filter_map(Self::of_one);
        let first = units.next()?;
        units.all(|unit| unit == first).then_some(first)
    }

    fn of_one(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|unit| unit.read(value) != Cell::Null)
    }

    /// Returns the name of the unit, as in the units of columns.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Time => "ps",
            Self::Rate => "bit/s",
            Self::Share => "1",
            Self::Number => "",
        }
    }

    /// Returns the end of the name of the column.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::Time => "ps",
            Self::Rate => "bps",
            Self::Share => "share",
            Self::Number => "number",
        }
    }

    /// Returns the type of the column.
    pub const fn kind(self) -> ColumnType {
        match self {
            Self::Packets | Self::Bytes | Self::Time | Self::Rate => ColumnType::U64,
            Self::Share | Self::Number => ColumnType::F64,
        }
    }

    /// Reads a value of this unit. It is null if the value is a word, or has another unit.
    pub fn read(self, value: &str) -> Cell<'static> {
        // Durations have a word that is a number: `never`.
        if !value.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Cell::Null;
        }
        let cell = match self {
            Self::Packets => parse_packets(value).ok().map(Cell::U64),
            Self::Bytes => parse_bytes(value).ok().map(|b| Cell::U64(b.as_u64())),
            Self::Time => parse_duration(value).ok().map(|d| Cell::U64(d.as_ps())),
            Self::Rate => parse_rate(value).ok().map(|r| Cell::U64(r.as_bps())),
            Self::Share => parse_fraction(value).ok().map(|f| Cell::F64(f.as_ppb() as f64 / 1e9)),
            Self::Number => number(value).map(Cell::F64),
        };
        cell.unwrap_or(Cell::Null)
    }
}

/// Reads a number or a ratio.
fn number(value: &str) -> Option<f64> {
    let ratio = || Ratio::parse(value).map(|r| f64::from(r.num) / f64::from(r.den.get()));
    value.parse().ok().filter(|n: &f64| n.is_finite()).or_else(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_reads_its_values_in_base_units() {
        for (value, unit, cell) in [
            ("65 pkt", SweptUnit::Packets, Cell::U64(65)),
            ("30 kB", SweptUnit::Bytes, Cell::U64(30_000)),
            ("10 us", SweptUnit::Time, Cell::U64(10_000_000)),
            ("10 Gbit/s", SweptUnit::Rate, Cell::U64(10_000_000_000)),
            ("60 %", SweptUnit::Share, Cell::F64(0.6)),
            ("-40 ppm", SweptUnit::Share, Cell::F64(-4e-5)),
            ("1/4", SweptUnit::Number, Cell::F64(0.25)),
            ("30", SweptUnit::Number, Cell::F64(30.0)),
        ] {
            assert_eq!(SweptUnit::of([value]), Some(unit), "{value}");
            assert_eq!(unit.read(value), cell, "{value}");
            let others = SweptUnit::ALL.into_iter().filter(|other| *other != unit);
            others.for_each(|other| assert_eq!(other.read(value), Cell::Null, "{value} {other:?}"));
        }
    }

    #[test]
    fn words_are_null_and_mixed_units_have_no_column() {
        assert_eq!(SweptUnit::of(["20 pkt", "unlimited"]), Some(SweptUnit::Packets));
        assert_eq!(SweptUnit::Packets.read("unlimited"), Cell::Null);
        assert_eq!(SweptUnit::of(["20 pkt", "30 kB"]), None);
        for word in ["newreno", "never", "true", "nan", "inf", "", "servers[0..1]", "1, 2"] {
            assert_eq!(SweptUnit::of([word]), None, "{word}");
        }
    }
}
