//! Values of swept keys as numbers: a column beside the text of each key.
//!
//! The name of the column is the key and the suffix of its unit, `switch.mark.k_packets`. Keys have
//! no underscore, so it is never the name of another key.

use lowtide_units::{
    Ratio, parse_bytes, parse_duration, parse_fraction, parse_packets, parse_rate,
};

use crate::table::{Cell, ColumnType};

lowtide_units::named_enum! {
    /// The unit of the values of a swept key.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SweptUnit ALL {
        /// Packets.
        Packets = "packets",
        /// Bytes.
        Bytes = "bytes",
        /// Picoseconds.
        Time = "ps",
        /// Bits per second.
        Rate = "bit/s",
        /// A share: 1 is 100 %.
        Share = "1",
        /// A number without a unit, or a ratio.
        Number = "",
        /// Hosts of a group, `servers[0..10]`: their number.
        Hosts = "hosts",
    }
}

/// Hosts of a group by their numbers: `servers[0..10]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostRange<'a> {
    /// The group.
    pub group: &'a str,
    /// Number of the first host, from zero.
    pub first: u32,
    /// Number of hosts, at least one.
    pub count: u32,
}

impl<'a> HostRange<'a> {
    /// Reads a value; `None` if it is something else.
    pub fn read(value: &'a str) -> Option<Self> {
        let (group, range) = value.strip_suffix(']')?.split_once('[')?;
        let (first, end) = range.split_once("..")?;
        let (first, end) = (first.parse::<u32>().ok()?, end.parse::<u32>().ok()?);
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let named = !group.is_empty() && group.chars().all(is_word);
        let count = end.checked_sub(first).filter(|count| named && *count > 0)?;
        Some(Self { group, first, count })
    }

    /// Returns the number of hosts in words, with the first one if that is not number zero.
    pub fn count_text(self) -> String {
        let Self { first, count, .. } = self;
        if first > 0 { format!("{count} from number {first}") } else { count.to_string() }
    }

    /// Returns a value in words: `10 servers` for `servers[0..10]`, other values as they are.
    pub fn value_text(value: &str) -> String {
        let Some(HostRange { group, first, count }) = HostRange::read(value) else {
            return value.to_owned();
        };
        let from = if first > 0 { format!(" from number {first}") } else { String::new() };
        format!("{count} {group}{from}")
    }
}

impl SweptUnit {
    /// Returns the unit that `values` have in common; `None` if they have several units, or if none
    /// is a quantity. Words among them, as `off` or a name, have no unit.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut units = values.into_iter().filter_map(Self::of_one);
        let first = units.next()?;
        units.all(|unit| unit == first).then_some(first)
    }

    fn of_one(value: &str) -> Option<Self> {
        // A number alone is also a size and a share.
        let mut all = std::iter::once(Self::Number).chain(Self::ALL);
        all.find(|unit| unit.read(value) != Cell::Null)
    }

    /// Returns the end of the name of the column.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Rate => "bps",
            Self::Share => "share",
            Self::Number => "number",
            unit => unit.name(),
        }
    }

    /// Returns the type of the column.
    pub const fn kind(self) -> ColumnType {
        match self {
            Self::Packets | Self::Bytes | Self::Time | Self::Rate | Self::Hosts => ColumnType::Int,
            Self::Share | Self::Number => ColumnType::F64,
        }
    }

    /// Reads a value of this unit. It is null if the value is a word, or has another unit.
    pub fn read(self, value: &str) -> Cell<'static> {
        if self == Self::Hosts {
            let count = |hosts: HostRange<'_>| Cell::of_count(u64::from(hosts.count));
            return HostRange::read(value).map_or(Cell::Null, count);
        }
        // Durations have a word that is a number: `never`.
        if !value.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return Cell::Null;
        }
        let cell = match self {
            Self::Packets => parse_packets(value).ok().map(Cell::of_count),
            Self::Bytes => parse_bytes(value).ok().map(|b| Cell::of_count(b.as_u64())),
            Self::Time => parse_duration(value).ok().map(|d| Cell::of_count(d.as_ps())),
            Self::Rate => parse_rate(value).ok().map(|r| Cell::of_count(r.as_bps())),
            Self::Share => parse_fraction(value).ok().map(|f| Cell::F64(f.as_ppb() as f64 / 1e9)),
            Self::Number => number(value).map(Cell::F64),
            Self::Hosts => None,
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
            ("65 pkt", SweptUnit::Packets, Cell::Int(65)),
            ("30 kB", SweptUnit::Bytes, Cell::Int(30_000)),
            ("10 us", SweptUnit::Time, Cell::Int(10_000_000)),
            ("10 Gbit/s", SweptUnit::Rate, Cell::Int(10_000_000_000)),
            ("60 %", SweptUnit::Share, Cell::F64(0.6)),
            ("-40 ppm", SweptUnit::Share, Cell::F64(-4e-5)),
            ("1/4", SweptUnit::Number, Cell::F64(0.25)),
            ("30", SweptUnit::Number, Cell::F64(30.0)),
            ("servers[5..15]", SweptUnit::Hosts, Cell::Int(10)),
        ] {
            assert_eq!(SweptUnit::of([value]), Some(unit), "{value}");
            assert_eq!(unit.read(value), cell, "{value}");
            if unit == SweptUnit::Number {
                // A number alone is also a size and a share.
                continue;
            }
            let others = SweptUnit::ALL.into_iter().filter(|other| *other != unit);
            others.for_each(|other| assert_eq!(other.read(value), Cell::Null, "{value} {other:?}"));
        }
    }

    #[test]
    fn words_are_null_and_mixed_units_have_no_column() {
        assert_eq!(SweptUnit::of(["20 pkt", "unlimited"]), Some(SweptUnit::Packets));
        assert_eq!(SweptUnit::Packets.read("unlimited"), Cell::Null);
        assert_eq!(SweptUnit::of(["20 pkt", "30 kB"]), None);
        for word in [
            "newreno",
            "never",
            "true",
            "nan",
            "inf",
            "",
            "servers.1",
            "servers[1..1]",
            "[0..2]",
            "a b[0..2]",
            "a[-1..2]",
            "1, 2",
        ] {
            assert_eq!(SweptUnit::of([word]), None, "{word}");
        }
    }
}
