//! What a workload declares and what it is given.

use lowtide_units::{Bytes, Duration, Rate};

use crate::Flow;

/// What a parameter of a workload accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A whole number in a closed range.
    Count {
        /// Least.
        min: u64,
        /// Most.
        max: u64,
    },
    /// A size of at least one byte.
    Size,
    /// A size of at least one byte, or `unlimited`.
    SizeOrUnlimited,
    /// A span of time.
    Time,
    /// Bits per second.
    Rate,
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// A value of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamValue {
    /// A number.
    Count(u64),
    /// A size; `None` is unlimited.
    Size(Option<Bytes>),
    /// A span of time.
    Time(Duration),
    /// Bits per second.
    Rate(Rate),
    /// A name.
    Choice(&'static str),
}

/// One parameter as its workload declares it.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case.
    pub name: &'static str,
    /// What it accepts.
    pub kind: ParamKind,
    /// The default as people would write it; `None` must be given.
    pub default: Option<&'static str>,
    /// One sentence with the unit.
    pub doc: &'static str,
}

/// Everything that a workload makes flows from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Args {
    /// Index of the traffic group, copied into the flows.
    pub group: u16,
    /// Sending hosts; not empty.
    pub sources: Vec<u32>,
    /// Receiving hosts; not empty.
    pub destinations: Vec<u32>,
    /// A value for each parameter that the workload declares.
    pub values: Vec<(&'static str, ParamValue)>,
}

impl Args {
    /// The number set for `name`; zero when it is none.
    pub fn count(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(ParamValue::Count(n)) => n,
            _ => 0,
        }
    }
    /// The size set for `name`; `None` is unlimited.
    pub fn size(&self, name: &str) -> Option<Bytes> {
        match self.get(name) {
            Some(ParamValue::Size(size)) => size,
            _ => None,
        }
    }
    /// The time set for `name`; zero when it is none.
    pub fn time(&self, name: &str) -> Duration {
        match self.get(name) {
            Some(ParamValue::Time(time)) => time,
            _ => Duration::ZERO,
        }
    }
    /// The rate set for `name`.
    pub fn rate(&self, name: &str) -> Option<Rate> {
        match self.get(name) {
            Some(ParamValue::Rate(rate)) => Some(rate),
            _ => None,
        }
    }
    /// The name chosen for `name`.
    pub fn choice(&self, name: &str) -> Option<&'static str> {
        match self.get(name) {
            Some(ParamValue::Choice(choice)) => Some(choice),
            _ => None,
        }
    }
    fn get(&self, name: &str) -> Option<ParamValue> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }
}

/// One registered workload.
#[derive(Debug)]
pub struct Entry {
    /// Name as people write it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes the flows: a pure function, the same flows for the same arguments.
    pub flows: fn(&Args) -> Vec<Flow>,
}
