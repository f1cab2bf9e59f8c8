//! Admission rules. One file per rule, found by name.
//!
//! A rule sees the queue that the packet found, as the port counts it, the packet's size and the
//! available memory. It does not see ECN.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod dynamic;
pub mod static_;
pub mod unlimited;
// lowtide:registry end

use lowtide_schema::Param;

use crate::limit::Limit;
use crate::{BufferSpec, Occupancy};

/// Declaration of an admission rule. The rules are those of [`BufferSpec`]: the memory of a switch
/// is counted by the rule, so other crates cannot add one.
#[derive(Clone, Copy, Debug)]
pub struct BufferEntry {
    /// Name in kebab case, as users write it.
    pub name: &'static str,
    /// A one-line summary.
    pub summary: &'static str,
    /// Its specification.
    pub spec: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
}

/// Every admission rule, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static RULES: &[&BufferEntry] = &[&dynamic::ENTRY, &static_::ENTRY, &unlimited::ENTRY];
// lowtide:registry list end

/// An admission request of a packet.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionRequest {
    /// The queue that it found, as the port counts it.
    pub backlog: Occupancy,
    /// Its IP bytes.
    pub size: u32,
    /// Bytes held by its queue in memory, including the packet in service.
    pub held: u64,
    /// Free bytes of the shared memory; zero without shared memory.
    pub free: u64,
}

/// An admission rule.
pub trait Buffer {
    /// Returns true if the packet is admitted.
    fn admits(&self, room: &AdmissionRequest) -> bool;
}

/// Any registered rule. An enum, since it is on the fast path.
#[derive(Clone, Debug)]
pub(crate) enum Admission {
    Dynamic(Box<dynamic::Dynamic>),
    Static(static_::Static),
    Unlimited(unlimited::Unlimited),
}

impl Admission {
    pub(crate) fn new(spec: &BufferSpec) -> Self {
        match *spec {
            BufferSpec::Static(size) => Self::Static(static_::Static::new(size)),
            BufferSpec::Dynamic { alpha, reserved } => {
                Self::Dynamic(Box::new(dynamic::Dynamic::new(alpha, reserved.as_u64())))
            }
            BufferSpec::Unlimited => Self::Unlimited(unlimited::Unlimited),
        }
    }
    /// Returns the limit within which queue and packet must fit; `None` if it depends on other
    /// queues.
    pub(crate) const fn static_limit(&self) -> Option<Limit> {
        match self {
            Self::Dynamic(_) => None,
            Self::Static(b) => Some(b.size()),
            Self::Unlimited(_) => Some(Limit::NONE),
        }
    }
}

impl Buffer for Admission {
    fn admits(&self, room: &AdmissionRequest) -> bool {
        match self {
            Self::Dynamic(b) => b.admits(room),
            Self::Static(b) => b.admits(room),
            Self::Unlimited(b) => b.admits(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_schema::DefaultValue;

    use super::*;

    #[test]
    fn declarations_are_complete() {
        assert!(RULES.is_sorted_by_key(|rule| rule.name));
        for rule in RULES {
            assert!(!rule.summary.is_empty() && !rule.spec.is_empty(), "{}", rule.name);
            for param in rule.params {
                assert!(param.doc.ends_with('.') && !param.source.is_empty(), "{}", param.name);
                if let DefaultValue::Is(text) = param.default {
                    assert!(param.kind.parse(text).is_ok(), "{}", param.name);
                }
            }
        }
    }
}
