//! Parameters of one registered file (a congestion control, a policy, a decoder).

use alloc::vec::Vec;

use lowtide_units::Duration;

use super::value::{Value, ValueKind};

/// Declaration of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in kebab case; users type `owner.name`, as in `dctcp.shift-g`.
    pub name: &'static str,
    /// Accepted values.
    pub kind: ValueKind,
    /// The default, as users would type it.
    pub default: &'static str,
    /// One sentence with the unit.
    pub doc: &'static str,
    /// Source of the default (`RFC 8257 §3.3`).
    pub source: &'static str,
}

/// The parameters that were set, by owner and name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Params(Vec<(&'static str, &'static str, Value)>);

impl Params {
    /// No parameter set: all have their defaults.
    pub const fn new() -> Self {
        Self(Vec::new())
    }
    /// Sets `owner.name`, replacing an earlier value.
    pub fn set(&mut self, owner: &'static str, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(o, n, _)| *o == owner && *n == name) {
            Some(slot) => slot.2 = value,
            None => self.0.push((owner, name, value)),
        }
    }
    /// The value set for `owner.name`.
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
    /// The duration set for `owner.name`, or `default`.
    pub fn duration(&self, owner: &str, name: &str, default: Duration) -> Duration {
        match self.get(owner, name) {
            Some(Value::Duration(d)) => *d,
            _ => default,
        }
    }
}
