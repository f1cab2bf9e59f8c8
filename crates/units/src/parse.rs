//! Parses quantities as people write them: `"10us"`, `"30 kB"`, `"10 Gbit/s"`, `"20 pkt"`.
//!
//! Contract: a number, at most one decimal point, then a unit, with or without space between them.
//! A number alone is a size in bytes, or a share up to 1. Fractions use exact integer arithmetic:
//! values that are not a whole number of picoseconds, bytes, bits per second or packets are
//! rejected, never rounded. Nothing is guessed: other numbers without a unit, a unit in the wrong
//! case, and an ambiguous bit or byte are errors. A form that an error suggests has the same value.
//! The output of [`Display`] parses back to the same quantity.
//!
//! [`Display`]: fmt::Display

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::{Bytes, Duration, Fraction, Rate};

/// Error of a quantity, with a suggestion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseUnitError {
    message: String,
    too_large: bool,
}

impl ParseUnitError {
    pub(crate) const fn new(message: String) -> Self {
        Self { message, too_large: false }
    }

    /// Whether the only error is overflow.
    pub const fn is_too_large(&self) -> bool {
        self.too_large
    }
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ParseUnitError {}

/// One kind of quantity: its units and the texts of its errors.
struct Dimension {
    /// Name with an article, as in "is not a size".
    what: &'static str,
    /// Name of the base unit, as in "a whole number of bytes".
    base: &'static str,
    /// Unit in examples.
    example: &'static str,
    /// Accepted spellings, each with its number of base units; "" for a number alone.
    units: &'static [(&'static str, u64)],
    /// List of the units in errors.
    list: &'static str,
}

const TIME: Dimension = Dimension {
    what: "a span of time",
    base: "picoseconds",
    example: "ms",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("\u{b5}s", 1_000_000),  // micro sign
        ("\u{3bc}s", 1_000_000), // Greek letter mu, which keyboards and NFKC give
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
    ],
    list: "ps, ns, us, ms, s, min",
};

const SIZE: Dimension = Dimension {
    what: "a size",
    base: "bytes",
    example: "kB",
    units: &[
        ("", 1),
        ("B", 1),
        ("byte", 1),
        ("bytes", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    list: "B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)",
};

const RATE: Dimension = Dimension {
    what: "a rate",
    base: "bits per second",
    example: "Gbit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("bit", 1),
        ("kbit", 1_000),
        ("Mbit", 1_000_000),
        ("Gbit", 1_000_000_000),
        ("Tbit", 1_000_000_000_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        ("kb/s", 1_000),
        ("Mb/s", 1_000_000),
        ("Gb/s", 1_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("k", 1_000),
        ("K", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
    ],
    list: "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s, or k, M, G, T",
};

/// Byte rates, which are rejected; only the hint in the error needs them.
const BYTE_RATES: [(&str, u64); 5] =
    [("B", 8), ("kB", 8_000), ("MB", 8_000_000), ("GB", 8_000_000_000), ("TB", 8_000_000_000_000)];

const PACKETS: Dimension = Dimension {
    what: "a number of packets",
    base: "packets",
    example: "pkt",
    units: &[("pkt", 1), ("pkts", 1), ("packet", 1), ("packets", 1)],
    list: "pkt, packets",
};

const FRACTION: Dimension = Dimension {
    what: "a share",
    base: "parts per billion",
    example: "%",
    units: &[("", 1_000_000_000), ("%", 10_000_000), ("ppm", 1_000), ("ppb", 1)],
    list: "%, ppm, ppb",
};

/// The longest duration in whole seconds.
const LONGEST_S: u64 = u64::MAX / 1_000_000_000_000;

/// Parses a duration: `ps`, `ns`, `us` (or `µs`), `ms`, `s`, `min`; `never` is [`Duration::MAX`].
///
/// # Errors
/// A missing or unknown unit, a fraction of a picosecond, or more than 213 days.
pub fn parse_duration(text: &str) -> Result<Duration, ParseUnitError> {
    if text.trim() == "never" {
        return Ok(Duration::MAX);
    }
    let written = ParsedQuantity::read(text, &TIME)?;
    match written.unit {
        "m" => Err(error(text, "has the unit `m`, which may be `ms` or `min`; write which")),
        _ => written.value().map(Duration::from_ps),
    }
}

/// Parses a size: `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB` (powers of 1024); a
/// number alone is bytes.
///
/// # Errors
/// An unknown unit, a unit of bits, a fraction of a byte, or more than 2^64 - 1 bytes.
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseUnitError> {
    let written = ParsedQuantity::read(text, &SIZE)?;
    let number = written.number();
    let unit = written.unit;
    if let Some(prefix) = bits_or_bytes(unit) {
        let hint = format!("may be bits or bytes; as bytes it is \"{number} {prefix}B\"");
        return Err(error(text, &hint));
    }
    let hint = match unit {
        "KB" => format!(
            "has the unit `KB`; write \"{number} kB\" (1000 B) or \"{number} KiB\" (1024 B)"
        ),
        "k" | "K" => format!(
            "lacks the base unit; write \"{number} kB\" (1000 B) or \"{number} KiB\" (1024 B)"
        ),
        "M" | "G" => {
            format!("lacks the base unit; write \"{number} {unit}B\" or \"{number} {unit}iB\"")
        }
        _ => return written.value().map(Bytes::new),
    };
    Err(error(text, &hint))
}

/// Parses a rate: `bit/s`, `kbit/s`, `Mbit/s`, `Gbit/s`, `Tbit/s` and the spellings `G`, `Gb/s`,
/// `Gbps`, `gbit`.
///
/// # Errors
/// A missing, unknown or ambiguous unit (`Gb`), a unit of bytes, a fraction of a bit per second,
/// zero, or more than 2^64 - 1 bit/s.
pub fn parse_rate(text: &str) -> Result<Rate, ParseUnitError> {
    let written = ParsedQuantity::read(text, &RATE)?;
    let number = written.number();
    let stem = written.unit.strip_suffix("/s").or(written.unit.strip_suffix("ps"));
    let stem = stem.unwrap_or(written.unit);
    if let Some((_, scale)) = BYTE_RATES.iter().find(|(name, _)| *name == stem) {
        let hint = match written.scaled(*scale).ok().and_then(Rate::from_bps) {
            Some(rate) => format!("is in bytes; a rate is in bits per second: write \"{rate}\""),
            None => "is in bytes; a rate is in bits per second".to_string(),
        };
        return Err(error(text, &hint));
    }
    // "bps" and "Gb/s" are conventionally bits and accepted; "Gb" and "gb/s" are ambiguous.
    if let Some(prefix) = bits_or_bytes(stem).filter(|_| !written.is_known()) {
        let hint = format!("may be bits or bytes; as bits it is \"{number} {prefix}bit/s\"");
        return Err(error(text, &hint));
    }
    Rate::from_bps(written.value()?).ok_or_else(|| {
        error(text, "is not a rate: it must be above zero, for instance \"10 Gbit/s\"")
    })
}

/// Parses a number of packets: `"20 pkt"`, `"20 packets"`.
///
/// # Errors
/// A missing or unknown unit, or a fraction of a packet.
pub fn parse_packets(text: &str) -> Result<u64, ParseUnitError> {
    let written = ParsedQuantity::read(text, &PACKETS)?;
    if SIZE.find(written.unit).is_some() {
        return Err(error(text, "is a size where a number of packets is wanted, \"20 pkt\""));
    }
    written.value()
}

/// Parses a fraction, which may be negative: `"95 %"`, `"-40 ppm"`, `"250 ppb"`, `0.95`.
///
/// # Errors
/// An unknown unit, a number above 1 without a unit, a fraction of a part per billion, or more than
/// 2^63 - 1 of them.
pub fn parse_fraction(text: &str) -> Result<Fraction, ParseUnitError> {
    let positive = text.trim().strip_prefix('-');
    let written = ParsedQuantity::read(positive.unwrap_or(text), &FRACTION)?;
    let ppb = written.value()?;
    if written.unit.is_empty() && ppb > 1_000_000_000 {
        return Err(error(text, "has no unit and is above 1: the unit is one of %, ppm, ppb"));
    }
    let ppb = i64::try_from(ppb).map_err(|_| error(text, "is more than any share"))?;
    Ok(Fraction::from_ppb(if positive.is_some() { -ppb } else { ppb }))
}

impl Dimension {
    fn find(&self, unit: &str) -> Option<u64> {
        self.units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
    }
}

/// A text split into `whole.fraction unit`.
struct ParsedQuantity<'a> {
    text: &'a str,
    measure: &'static Dimension,
    whole: &'a str,
    /// Digits after the point, without trailing zeros.
    fraction: &'a str,
    unit: &'a str,
}

impl<'a> ParsedQuantity<'a> {
    fn read(text: &'a str, measure: &'static Dimension) -> Result<Self, ParseUnitError> {
        let trimmed = text.trim();
        let example = measure.example;
        if trimmed.is_empty() {
            let hint = format!("is empty; write for instance \"10 {example}\"");
            return Err(error(text, &hint));
        }
        let (whole, rest) = digits(trimmed);
        if whole.is_empty() {
            let hint = if trimmed.starts_with('-') {
                format!("is negative; {} starts at zero", measure.what)
            } else {
                format!("is not {}; write a number and a unit, \"10 {example}\"", measure.what)
            };
            return Err(error(text, &hint));
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(after) => {
                let (fraction, rest) = digits(after);
                if fraction.is_empty() {
                    return Err(error(text, "has a decimal point without digits after it"));
                }
                (fraction.trim_end_matches('0'), rest)
            }
        };
        let unit = rest.trim_start();
        if unit.is_empty() && measure.find("").is_none() {
            let hint = format!("has no unit: the unit is one of {}", measure.list);
            return Err(error(text, &hint));
        }
        if rest.starts_with([',', '_', '\'']) {
            return Err(error(
                text,
                "is not a plain number; use `.` for the decimal point and nothing between thousands",
            ));
        }
        Ok(Self { text, measure, whole, fraction, unit })
    }

    /// The number as written, without trailing zeros.
    fn number(&self) -> String {
        if self.fraction.is_empty() {
            self.whole.to_string()
        } else {
            format!("{}.{}", self.whole, self.fraction)
        }
    }

    fn is_known(&self) -> bool {
        self.measure.find(self.unit).is_some()
    }

    /// The quantity in base units.
    fn value(&self) -> Result<u64, ParseUnitError> {
        let Some(scale) = self.measure.find(self.unit) else {
            return Err(self.unknown_unit());
        };
        self.scaled(scale)
    }

    /// The number times `scale`, if that is an integer below 2^64.
    fn scaled(&self, scale: u64) -> Result<u64, ParseUnitError> {
        let scale = u128::from(scale);
        let inexact = || {
            let hint = format!("is not a whole number of {}", self.measure.base);
            error(self.text, &hint)
        };
        // A fraction with more digits than 10^38 is finer than any base unit.
        let places = u32::try_from(self.fraction.len()).map_err(|_| inexact())?;
        let tenth = 10_u128.checked_pow(places).ok_or_else(inexact)?;
        let fraction = match self.fraction {
            "" => 0,
            digits => digits.parse::<u128>().map_err(|_| inexact())?,
        };
        // fraction * scale / tenth, reduced first so that nothing overflows.
        let shared = gcd(tenth, scale);
        let step = tenth / shared;
        if !fraction.is_multiple_of(step) {
            return Err(inexact());
        }
        let part = fraction / step * (scale / shared);
        let whole = self.whole.parse::<u128>().ok().and_then(|n| n.checked_mul(scale));
        whole.and_then(|n| n.checked_add(part)).and_then(|n| u64::try_from(n).ok()).ok_or_else(
            || {
                let hint = if self.measure.base == TIME.base {
                    format!(
                        "is longer than the 213 days that fit; the longest span is \"{LONGEST_S} s\""
                    )
                } else {
                    format!("is more than {} {}, the most that fits", u64::MAX, self.measure.base)
                };
                ParseUnitError { too_large: true, ..error(self.text, &hint) }
            },
        )
    }

    fn unknown_unit(&self) -> ParseUnitError {
        let Dimension { what, units, list, .. } = self.measure;
        let same = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(self.unit));
        let hint = match same {
            Some((name, _)) => {
                format!("has its unit in the wrong case; write \"{} {name}\"", self.number())
            }
            None => format!("is not {what}: the unit is one of {list}"),
        };
        error(self.text, &hint)
    }
}

/// The prefix of an ambiguous unit in `b` alone, such as `Gb`, which may be bits or bytes.
fn bits_or_bytes(unit: &str) -> Option<&'static str> {
    match unit.strip_suffix('b')? {
        "" => Some(""),
        "k" | "K" => Some("k"),
        "m" | "M" => Some("M"),
        "g" | "G" => Some("G"),
        "t" | "T" => Some("T"),
        _ => None,
    }
}

/// The leading ASCII digits, and the remaining text.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An error about `text`, which is quoted, shortened, and escaped.
fn error(text: &str, hint: &str) -> ParseUnitError {
    const SHOWN: usize = 40;
    let mut shown: String = text.trim().chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.trim().chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    ParseUnitError { message: format!("`{shown}` {hint}"), too_large: false }
}
