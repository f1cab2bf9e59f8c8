//! Values that a parameter accepts, and how their text is read.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use lowtide_units::{
    Bytes, Duration, Fraction, ParseUnitError, QueueLength, Ratio, parse_bytes, parse_duration,
    parse_fraction, parse_rate,
};

use crate::not_simulated::NotSimulated;
use crate::value::Value;

/// Values that a parameter accepts.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// `true` or `false`.
    Bool,
    /// A whole number in a closed range.
    Count {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A size in a closed range, in bytes.
    Bytes {
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A duration in a closed range.
    Duration {
        /// Minimum.
        min: Duration,
        /// Maximum.
        max: Duration,
    },
    /// Bits per second, above zero.
    Rate,
    /// A fraction in a closed range, as `15 %`.
    Fraction {
        /// Minimum.
        min: Fraction,
        /// Maximum.
        max: Fraction,
    },
    /// An exact ratio above zero: `1/5`, `0.2` or `2`.
    Ratio,
    /// A queue length in packets or bytes: `20 pkt`, `30 kB`.
    Length,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A name out of `allowed`; `refused` names are known but not implemented.
    Name {
        /// The accepted names.
        allowed: fn() -> Vec<&'static str>,
        /// Known but rejected names, each with the reason.
        refused: &'static [(&'static str, &'static str)],
    },
    /// A name out of `allowed`, or a whole number in a closed range.
    NameOrCount {
        /// The accepted names.
        allowed: fn() -> Vec<&'static str>,
        /// Minimum.
        min: u64,
        /// Maximum.
        max: u64,
    },
    /// A distribution: the name of a built-in one, one value (`1 MB`, `10 ms`), or a file.
    Distribution(DistributionOf),
    /// The path of a user's file.
    File,
    /// A value of `kind`, or `word`: `off`, `unlimited`.
    Or {
        /// The kind of other values.
        kind: &'static ValueKind,
        /// The accepted word.
        word: &'static str,
    },
}

/// Quantity that a distribution draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DistributionOf {
    /// Sizes in bytes.
    Size,
    /// Durations.
    Time,
}

/// Error: a text or value does not fit a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError(String);

impl ValueError {
    /// An error with this message, which states the accepted values.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<ParseUnitError> for ValueError {
    fn from(error: ParseUnitError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ValueError {}

impl ValueKind {
    /// A size of at least one byte.
    pub const SIZE: Self = Self::Bytes { min: 1, max: u64::MAX };
    /// A fraction from 0 % to 100 %.
    pub const SHARE: Self = Self::Fraction { min: Fraction::ZERO, max: Fraction::ONE };
    /// The longest duration of a scenario.
    pub const MAX_TIME: Duration = Duration::from_secs(24 * 3600);
    /// A duration of at most [`Self::MAX_TIME`].
    pub const TIME: Self = Self::Duration { min: Duration::ZERO, max: Self::MAX_TIME };
    /// A duration above zero, of at most [`Self::MAX_TIME`].
    pub const POSITIVE_TIME: Self =
        Self::Duration { min: Duration::from_ps(1), max: Self::MAX_TIME };

    /// Returns the kind of the values that are not words: of `kind or off` it is `kind`.
    pub const fn without_word(&self) -> &Self {
        let mut kind = self;
        while let Self::Or { kind: inner, .. } = kind {
            kind = inner;
        }
        kind
    }

    /// Parses `text` as a value of this kind; the error states the accepted values.
    pub fn parse(&self, text: &str) -> Result<Value, ValueError> {
        let text = text.trim();
        let value = match *self {
            Self::Bool => match text {
                "true" | "on" => Value::Bool(true),
                "false" | "off" => Value::Bool(false),
                _ => return Err(ValueError(format!("`{text}` is neither `true` nor `false`"))),
            },
            Self::Count { min, max } => count(text, min, max)?,
            Self::Bytes { .. } => Value::Bytes(parse_bytes(text)?),
            Self::Duration { .. } => Value::Duration(parse_duration(text)?),
            Self::Rate => Value::Rate(parse_rate(text)?),
            Self::Fraction { .. } => Value::Fraction(parse_fraction(text)?),
            Self::Ratio => {
                Value::Ratio(Ratio::parse(text).ok_or_else(|| ValueError(self.complaint(text)))?)
            }
            Self::Length => Value::Length(QueueLength::parse(text)?),
            Self::Choice(names) => name(text, names, &[])?,
            Self::Name { allowed, refused } => name(text, &allowed(), refused)?,
            Self::NameOrCount { allowed, min, max } => {
                if text.starts_with(|c: char| c.is_ascii_digit()) {
                    count(text, min, max)?
                } else {
                    name(text, &allowed(), &[])?
                }
            }
            Self::Distribution(_) | Self::File => Value::Text(text.to_string()),
            Self::Or { word, .. } if text == word => Value::Name(word),
            Self::Or { kind, .. } => kind.parse(text)?,
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks that `value` is of this kind and in range; the error states the accepted values.
    pub fn check(&self, value: &Value) -> Result<(), ValueError> {
        let fits = match (self, value) {
            (Self::Bool, Value::Bool(_))
            | (Self::Rate, Value::Rate(_))
            | (Self::Length, Value::Length(_)) => true,
            (Self::Ratio, Value::Ratio(ratio)) => ratio.num > 0,
            (&(Self::Count { min, max } | Self::NameOrCount { min, max, .. }), Value::Count(n)) => {
                (min..=max).contains(n)
            }
            (&Self::Bytes { min, max }, Value::Bytes(b)) => (min..=max).contains(&b.as_u64()),
            (Self::Duration { min, max }, Value::Duration(d)) => (min..=max).contains(&d),
            (Self::Fraction { min, max }, Value::Fraction(f)) => (min..=max).contains(&f),
            (Self::Choice(names), Value::Name(n)) => names.contains(n),
            (Self::Name { allowed, .. } | Self::NameOrCount { allowed, .. }, Value::Name(n)) => {
                allowed().contains(n)
            }
            (Self::Distribution(_) | Self::File, Value::Text(text)) => {
                !text.is_empty() && !text.contains('\n')
            }
            (Self::Or { word, .. }, Value::Name(n)) if n == word => true,
            (Self::Or { kind, .. }, value) => return kind.check(value),
            _ => false,
        };
        if fits { Ok(()) } else { Err(ValueError(self.complaint(value))) }
    }

    fn complaint(&self, value: impl fmt::Display) -> String {
        format!("{value} is not accepted; expected {}", self.describe())
    }

    /// Describes the accepted values: `one of newreno, cubic`, `a whole number, 0 to 10`.
    pub fn describe(&self) -> String {
        match *self {
            Self::Bool => "true or false".to_string(),
            Self::Count { min, max } => format!("a whole number, {min} to {max}"),
            Self::Bytes { min, max } => {
                format!("a size, {} to {}", Bytes::new(min), Bytes::new(max))
            }
            Self::Duration { min, max } => format!("a time, {min} to {max}"),
            Self::Rate => "a rate, as \"10 Gbit/s\"".to_string(),
            Self::Fraction { min, max } => format!("a share, {min} to {max}"),
            Self::Ratio => "a ratio above zero, as 1/5, 0.2 or 2".to_string(),
            Self::Length => "packets or bytes, as \"20 pkt\" or \"30 kB\"".to_string(),
            Self::Choice(names) => format!("one of {}", names.join(", ")),
            Self::Name { allowed, .. } => format!("one of {}", allowed().join(", ")),
            Self::NameOrCount { allowed, min, max } => {
                format!("one of {}, or a whole number, {min} to {max}", allowed().join(", "))
            }
            Self::Distribution(DistributionOf::Size) => {
                "a distribution of sizes: its name, one size, or a file".to_string()
            }
            Self::Distribution(DistributionOf::Time) => {
                "a distribution of times: its name, one time, or a file".to_string()
            }
            Self::File => "a file".to_string(),
            Self::Or { kind, word } => format!("{}, or {word}", kind.describe()),
        }
    }
}

fn count(text: &str, min: u64, max: u64) -> Result<Value, ValueError> {
    match text.parse::<u64>() {
        Ok(n) => Ok(Value::Count(n)),
        Err(_) => Err(ValueError(format!("`{text}` is not a whole number from {min} to {max}"))),
    }
}

fn name(
    text: &str,
    allowed: &[&'static str],
    refused: &[(&'static str, &'static str)],
) -> Result<Value, ValueError> {
    if let Some(found) = allowed.iter().find(|n| **n == text) {
        return Ok(Value::Name(found));
    }
    if let Some(absent) = NotSimulated::find(text) {
        return Err(ValueError::new(absent.sentence));
    }
    if let Some((_, why)) = refused.iter().find(|(n, _)| *n == text) {
        return Err(ValueError(format!(
            "`{text}` is not available in this version: {why}; expected one of {}",
            allowed.join(", ")
        )));
    }
    Err(ValueError(format!("`{text}` is unknown; expected one of {}", allowed.join(", "))))
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn a_value_reads_back_from_its_text() {
        static OFF: ValueKind = ValueKind::Or { kind: &ValueKind::SIZE, word: "off" };
        for (kind, texts) in [
            (ValueKind::Bool, vec!["true", "false"]),
            (ValueKind::Count { min: 1, max: 9 }, vec!["1", "9"]),
            (ValueKind::SIZE, vec!["1 B", "30 kB"]),
            (ValueKind::TIME, vec!["0 s", "6250 us"]),
            (ValueKind::Rate, vec!["10 Gbit/s"]),
            (ValueKind::SHARE, vec!["95 %", "18220 ppb"]),
            (ValueKind::Ratio, vec!["1/4", "2"]),
            (ValueKind::Length, vec!["20 pkt", "30 kB"]),
            (ValueKind::Choice(&["mark", "drop"]), vec!["drop"]),
            (ValueKind::Distribution(DistributionOf::Size), vec!["websearch", "a/b.csv"]),
            (OFF, vec!["off", "3 kB"]),
        ] {
            for text in texts {
                assert_eq!(kind.parse(text).unwrap().to_string(), text, "{kind:?}");
            }
        }
    }

    #[test]
    fn words_are_removed_at_any_depth() {
        static SIZE_OR_OFF: ValueKind = ValueKind::Or { kind: &ValueKind::SIZE, word: "off" };
        let nested = ValueKind::Or { kind: &SIZE_OR_OFF, word: "unlimited" };
        for kind in [ValueKind::SIZE, SIZE_OR_OFF, nested] {
            assert_eq!(kind.without_word().describe(), ValueKind::SIZE.describe());
        }
    }

    #[test]
    fn values_outside_of_the_range_are_errors() {
        for (kind, text) in [
            (ValueKind::Count { min: 1, max: 9 }, "10"),
            (ValueKind::Count { min: 1, max: 9 }, "x"),
            (ValueKind::SIZE, "0 B"),
            (ValueKind::POSITIVE_TIME, "0 s"),
            (ValueKind::TIME, "25 h"),
            (ValueKind::SHARE, "101 %"),
            (ValueKind::Ratio, "0"),
            (ValueKind::Length, "20"),
            (ValueKind::Choice(&["mark", "drop"]), "off"),
            (ValueKind::File, ""),
        ] {
            assert!(kind.parse(text).is_err(), "{kind:?} {text}");
        }
    }
}
