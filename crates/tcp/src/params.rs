//! Parameters that belong to one registered file (a congestion control, a policy, a decoder).

use alloc::vec::Vec;

use lowtide_units::Duration;

use crate::value::{Value, ValueKind};

/// One parameter as its file declares it.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case; people write `owner.name`, as in `dctcp.shift-g`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: ValueKind,
    /// The default, as people would write it.
    pub default: &'static str,
    /// One sentence with the unit.
    pub doc: &'static str,
    /// Where the default comes from (`RFC 8257 §3.3`).
    pub source: &'static str,
}

/// The parameters that were set, by owner and name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Params(Vec<(&'static str, &'static str, Value)>);

impl Params {
    /// Nothing set: every parameter has its default.
    pub const fn new() -> Self {
        Self(Vec::new())
    }
    /// Sets `owner.name`, replacing what was there.
    pub fn set(&mut self, owner: &'static str, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(o, n, _)| *o == owner && *n == name) {
            Some(slot) => slot.2 = value,
            None => self.0.push((owner, name, value)),
        }
    }
    /// What was set for `owner.name`.
    pub fn get(&self, owner: &str, name: &str) -> Option<&Value> {
        self.0.iter().find(|(o, n, _)| *o == owner && *n == name).map(|(_, _, v)| v)
    }
    /// The number set for `owner.name`, or `default`.
    pub fn count(&self, owner: &str, name: &str, default: u64) -> u64 {
        match self.get(owner, name) {
            Some(Value::Count(n)) => *n,
            _ => default,
        }
    }
    /// The time set for `owner.name`, or `default`.
    pub fn duration(&self, owner: &str, name: &str, default: Duration) -> Duration {
        match self.get(owner, name) {
            Some(Value::Duration(d)) => *d,
            _ => default,
        }
    }
}
