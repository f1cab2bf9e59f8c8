//! Arguments and results as users write them.

use std::fmt::Display;

use lowtide_schema::UnknownName;
use lowtide_tcp::State;
use lowtide_tcp::units::{Duration, parse_duration};
use lowtide_tcp::wire::{Ecn, Flags};
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::misuse::Misuse;

/// Control bits by name, in the order of the header from the lowest bit.
const FLAGS: [(&str, Flags); 9] = [
    ("FIN", Flags::FIN),
    ("SYN", Flags::SYN),
    ("RST", Flags::RST),
    ("PSH", Flags::PSH),
    ("ACK", Flags::ACK),
    ("URG", Flags::URG),
    ("ECE", Flags::ECE),
    ("CWR", Flags::CWR),
    ("AE", Flags::AE),
];

const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

fn named<T: Copy>(what: &'static str, name: &str, all: &[(&'static str, T)]) -> Result<T, Misuse> {
    let found = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|(name, _)| (*name).to_owned()).collect();
        let known = format!("there are {}", names.join(", "));
        Misuse::new(UnknownName::new(what, name, names), known)
    })
}

pub(super) fn ecn(name: &str) -> Result<Ecn, Misuse> {
    named("ECN codepoint", name, &CODEPOINTS)
}

pub(super) fn ecn_name(ecn: Ecn) -> &'static str {
    CODEPOINTS.iter().find(|(_, value)| *value == ecn).map_or("not-ect", |(name, _)| name)
}

/// Control bits by name: "SYN ACK".
pub(super) fn flags(names: &str) -> Result<Flags, Misuse> {
    names
        .split_whitespace()
        .try_fold(Flags::NONE, |set, name| Ok(set | named("control bit", name, &FLAGS)?))
}

pub(super) fn flag_names(set: Flags) -> Vec<&'static str> {
    FLAGS.iter().filter(|(_, flag)| set.contains(*flag)).map(|(name, _)| *name).collect()
}

/// The state of a connection, as RFC 9293 writes it.
pub(super) fn state_name(state: Option<State>) -> &'static str {
    state.map_or("LISTEN", State::name)
}

/// A whole number from 0 to `max`.
pub(super) fn whole(name: impl Display, value: &Bound<'_, PyAny>, max: u64) -> Result<u64, Misuse> {
    let number = if value.is_instance_of::<PyBool>() { None } else { value.extract().ok() };
    number.filter(|number| *number <= max).ok_or_else(|| {
        Misuse::of(format!("{name} is {value}: it must be a whole number from 0 to {max}"))
    })
}

/// A text.
pub(super) fn text(name: &str, value: &Bound<'_, PyAny>) -> Result<String, Misuse> {
    value.extract().map_err(|_| Misuse::of(format!("{name} is {value}: it must be text")))
}

/// A duration: text with its unit, or picoseconds.
pub(super) fn duration(value: &Bound<'_, PyAny>) -> Result<Duration, Misuse> {
    if let Ok(text) = value.extract::<String>() {
        return parse_duration(&text).map_err(Misuse::of);
    }
    whole("the duration in ps", value, u64::MAX).map(Duration::from_ps)
}

/// A value of a setting as a scenario file writes it.
pub(super) fn setting(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<bool>() {
        Ok(on) => Ok(on.to_string()),
        Err(_) => Ok(value.str()?.to_string()),
    }
}
