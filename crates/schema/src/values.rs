//! The values of one part's parameters.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use lowtide_units::{Bytes, Duration, Fraction, QueueLength, Rate, Ratio};

use crate::kind::ValueError;
use crate::param::{DefaultValue, Param};
use crate::value::Value;

/// The values of one part's parameters, in order of declaration.
///
/// Contract: made by [`Values::complete`], it has a value for each parameter that is required or
/// has a default. So a getter panics for a parameter that the part did not declare with that type:
/// that is a bug of the part, and nothing from outside causes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Values(Vec<(&'static str, Value)>);

/// Error of one parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// Name of the parameter; `None` if the error concerns the whole part.
    pub param: Option<&'static str>,
    /// The error.
    pub message: String,
    /// The remedy, if known.
    pub help: Option<String>,
}

impl ParamError {
    /// An error of `param`, and what to do.
    pub fn new(param: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { param: Some(param), message: message.into(), help: Some(help.into()) }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for ParamError {}

impl Values {
    /// No values: for parts without parameters.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the values that `given` returns for each of `params`, or else the defaults.
    ///
    /// # Errors
    /// A value is not of the parameter's kind, or a required parameter has none.
    pub fn complete(
        params: impl IntoIterator<Item = &'static Param>,
        mut given: impl FnMut(&'static Param) -> Option<Value>,
    ) -> Result<Self, ParamError> {
        let mut out = Self::new();
        for param in params {
            let wrong = |error: ValueError| ParamError {
                param: Some(param.name),
                message: alloc::format!("`{}`: {error}", param.name),
                help: None,
            };
            let value = match (given(param), param.default) {
                (Some(value), _) => {
                    param.kind.check(&value).map_err(wrong)?;
                    value
                }
                (None, DefaultValue::Is(text)) => param.kind.parse(text).map_err(wrong)?,
                (None, DefaultValue::Unset(_)) => continue,
                (None, DefaultValue::Required) => {
                    let message = alloc::format!("`{}` is required", param.name);
                    return Err(ParamError::new(param.name, message, param.kind.describe()));
                }
            };
            out.set(param.name, value);
        }
        Ok(out)
    }

    /// Returns the values for texts as users write them, or else the defaults. For tests and
    /// examples.
    ///
    /// # Errors
    /// As [`Values::complete`]; also a name that is not declared.
    pub fn parse(params: &'static [Param], given: &[(&str, &str)]) -> Result<Self, ParamError> {
        let mut values = Self::new();
        for (name, text) in given {
            let Some(param) = params.iter().find(|param| param.name == *name) else {
                let message = alloc::format!("there is no parameter `{name}`");
                return Err(ParamError { param: None, message, help: None });
            };
            let value = param.kind.parse(text).map_err(|error| ParamError {
                param: Some(param.name),
                message: alloc::format!("`{name}`: {error}"),
                help: None,
            })?;
            values.set(param.name, value);
        }
        Self::complete(params, |param| values.get(param.name).cloned())
    }

    /// Sets `name`, replacing an earlier value.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Returns the value of `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Returns false if `name` is unset or `off`.
    pub fn is_set(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Value::Name("off")))
    }

    /// Returns the boolean `name`.
    #[track_caller]
    pub fn bool(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(value)) => *value,
            other => not_declared(name, "bool", other),
        }
    }

    /// Returns the name or word chosen for `name`.
    #[track_caller]
    pub fn name(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Name(value)) => value,
            other => not_declared(name, "name", other),
        }
    }

    /// Returns the text of `name`: a path, or the name of a distribution.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// Two getters per type: one for a value that exists by declaration, and one for a value that may
/// be unset or a word (`off`, `unlimited`).
macro_rules! getters {
    ($($variant:ident: $type:ty, $get:ident, $find:ident, $what:literal;)*) => {
        impl Values {
            $(
                #[doc = concat!("Returns the ", $what, " of `name`.")]
                #[track_caller]
                pub fn $get(&self, name: &str) -> $type {
                    match self.get(name) {
                        Some(Value::$variant(value)) => *value,
                        other => not_declared(name, $what, other),
                    }
                }
                #[doc = concat!("Returns the ", $what, " of `name`; `None` if it is unset or a word.")]
                pub fn $find(&self, name: &str) -> Option<$type> {
                    match self.get(name) {
                        Some(Value::$variant(value)) => Some(*value),
                        _ => None,
                    }
                }
            )*
        }
    };
}

getters! {
    Count: u64, count, find_count, "count";
    Bytes: Bytes, bytes, find_bytes, "size";
    Duration: Duration, duration, find_duration, "duration";
    Rate: Rate, rate, find_rate, "rate";
    Fraction: Fraction, fraction, find_fraction, "fraction";
    Ratio: Ratio, ratio, find_ratio, "ratio";
    Length: QueueLength, length, find_length, "queue length";
}

/// Panics because a part reads a parameter that it did not declare.
#[cold]
#[track_caller]
fn not_declared(name: &str, what: &str, value: Option<&Value>) -> ! {
    panic!("the part declares no parameter `{name}` with a {what}: its value is {value:?}")
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::ValueKind;

    const fn param(name: &'static str, kind: ValueKind, default: DefaultValue) -> Param {
        Param { name, kind, default, doc: "A test.", source: "lowtide" }
    }

    static PARAMS: &[Param] = &[
        param("k", ValueKind::Length, DefaultValue::Required),
        param("n", ValueKind::Count { min: 1, max: 9 }, DefaultValue::Is("3")),
        param("rate", ValueKind::Rate, DefaultValue::Unset("as `link-rate`")),
    ];

    #[test]
    fn defaults_complete_the_given_values() {
        let values = Values::parse(PARAMS, &[("k", "20 pkt")]).unwrap();
        assert_eq!(values.length("k"), QueueLength::Packets(20));
        assert_eq!(values.count("n"), 3);
        assert_eq!(values.find_rate("rate"), None);
        assert_eq!(values.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["k", "n"]);
    }

    #[test]
    fn missing_unknown_and_wrong_values_are_errors() {
        for (given, part) in [
            (&[][..], "`k` is required"),
            (&[("k", "20 pkt"), ("n", "10")], "`n`"),
            (&[("k", "20")], "`k`"),
            (&[("x", "20")], "no parameter `x`"),
        ] {
            let error = Values::parse(PARAMS, given).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    #[should_panic(expected = "no parameter `n` with a rate")]
    fn reading_another_type_is_a_bug() {
        Values::parse(PARAMS, &[("k", "20 pkt")]).unwrap().rate("n");
    }
}
