//! Values of switches and parameters, and their text form.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use lowtide_units::{Bytes, Duration, parse_bytes, parse_duration};

/// A value of one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A number without a unit.
    Count(u64),
    /// A size.
    Bytes(Bytes),
    /// A duration.
    Duration(Duration),
    /// One of a list of names.
    Name(&'static str),
}

/// Values that a switch accepts.
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
}

/// Error: a text or value does not fit a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueError(String);

impl ValueError {
    /// An error with this message, which states the accepted values.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ValueError {}

impl Value {
    /// The name, if the value is one.
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Name(n) => Some(n),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Bytes(b) => write!(f, "{b}"),
            Self::Duration(d) => write!(f, "{d}"),
            Self::Name(n) => f.write_str(n),
        }
    }
}

impl ValueKind {
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
            Self::Bytes { .. } => {
                Value::Bytes(parse_bytes(text).map_err(|e| ValueError(e.to_string()))?)
            }
            Self::Duration { .. } => {
                Value::Duration(parse_duration(text).map_err(|e| ValueError(e.to_string()))?)
            }
            Self::Name { allowed, refused } => name(text, &allowed(), refused)?,
            Self::NameOrCount { allowed, min, max } => {
                if text.starts_with(|c: char| c.is_ascii_digit()) {
                    count(text, min, max)?
                } else {
                    name(text, &allowed(), &[])?
                }
            }
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks that `value` is of this kind and in range; the error states the accepted values.
    pub fn check(&self, value: &Value) -> Result<(), ValueError> {
        let fits = match (self, value) {
            (Self::Bool, Value::Bool(_)) => true,
            (&(Self::Count { min, max } | Self::NameOrCount { min, max, .. }), Value::Count(n)) => {
                (min..=max).contains(n)
            }
            (&Self::Bytes { min, max }, Value::Bytes(b)) => (min..=max).contains(&b.as_u64()),
            (Self::Duration { min, max }, Value::Duration(d)) => (min..=max).contains(&d),
            (Self::Name { allowed, .. } | Self::NameOrCount { allowed, .. }, Value::Name(n)) => {
                allowed().contains(n)
            }
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            Err(ValueError(format!("{value} is not accepted; expected {}", self.describe())))
        }
    }

    /// Describes the accepted values: `one of newreno, cubic`, `0 to 10`.
    pub fn describe(&self) -> String {
        match *self {
            Self::Bool => "true or false".to_string(),
            Self::Count { min, max } => format!("a whole number, {min} to {max}"),
            Self::Bytes { min, max } => {
                format!("a size, {} to {}", Bytes::new(min), Bytes::new(max))
            }
            Self::Duration { min, max } => format!("a time, {min} to {max}"),
            Self::Name { allowed, .. } => format!("one of {}", allowed().join(", ")),
            Self::NameOrCount { allowed, min, max } => {
                format!("one of {}, or a whole number, {min} to {max}", allowed().join(", "))
            }
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
    if let Some((_, why)) = refused.iter().find(|(n, _)| *n == text) {
        return Err(ValueError(format!(
            "`{text}` is not available in this version: {why}; expected one of {}",
            allowed.join(", ")
        )));
    }
    Err(ValueError(format!("`{text}` is unknown; expected one of {}", allowed.join(", "))))
}
