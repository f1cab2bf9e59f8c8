//! A value of a parameter, and its text form.

use alloc::string::String;
use core::fmt;

use lowtide_units::{Bytes, Duration, Fraction, QueueLength, Rate, Ratio};

/// A value of one parameter. Its [`Display`](fmt::Display) form reads back as the same value.
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
    /// Bits per second.
    Rate(Rate),
    /// A fraction, as `95 %`.
    Fraction(Fraction),
    /// An exact ratio, as `1/4`.
    Ratio(Ratio),
    /// A queue length in packets or bytes.
    Length(QueueLength),
    /// One of the names or words that the parameter declares, as `drop` or `off`.
    Name(&'static str),
    /// Any other text: the path of a file, the name of a distribution.
    Text(String),
}

impl Value {
    /// Returns the name, if the value is one.
    pub const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Count(value) => write!(f, "{value}"),
            Self::Bytes(value) => write!(f, "{value}"),
            Self::Duration(value) => write!(f, "{value}"),
            Self::Rate(value) => write!(f, "{value}"),
            Self::Fraction(value) => write!(f, "{value}"),
            Self::Ratio(value) => write!(f, "{value}"),
            Self::Length(value) => write!(f, "{value}"),
            Self::Name(value) => f.write_str(value),
            Self::Text(value) => f.write_str(value),
        }
    }
}
