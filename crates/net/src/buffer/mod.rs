//! Admission: whether there is memory for a packet. One file per rule, found by name.
//!
//! A rule sees the queue that the packet found, as the port counts it, and the packet's size. It
//! knows nothing of ECN.

// lowtide:registry begin (kept by `cargo xtask registry`)
pub mod static_;
pub mod unlimited;
// lowtide:registry end

use crate::registry::Entry;
use crate::{BufferSpec, Occupancy};

/// Every admission rule, by name.
// lowtide:registry list (kept by `cargo xtask registry`)
pub static REGISTRY: &[&Entry] = &[&static_::ENTRY, &unlimited::ENTRY];
// lowtide:registry list end

/// The rule of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().copied().find(|e| e.name == name)
}

/// Decides on admission.
pub trait Buffer {
    /// True if a packet of `size` IP bytes that found the queue `found` may enter.
    fn admits(&self, found: Occupancy, size: u32) -> bool;
}

/// Any registered rule. An enum, since this is on the path of every packet.
#[derive(Clone, Debug)]
pub(crate) enum Admission {
    Static(static_::Static),
    Unlimited(unlimited::Unlimited),
}

impl Admission {
    pub(crate) fn new(spec: &BufferSpec) -> Self {
        match *spec {
            BufferSpec::Static(size) => Self::Static(static_::Static::new(size)),
            // Refused by `check` until it is built.
            BufferSpec::Dynamic { .. } | BufferSpec::Unlimited => {
                Self::Unlimited(unlimited::Unlimited)
            }
        }
    }
}

impl Buffer for Admission {
    #[inline]
    fn admits(&self, found: Occupancy, size: u32) -> bool {
        match self {
            Self::Static(b) => b.admits(found, size),
            Self::Unlimited(b) => b.admits(found, size),
        }
    }
}
