//! Unlimited memory: no packet is dropped. For host ports and closed-form tests.

use super::{AdmissionRequest, Buffer};
use crate::registry::RegistryEntry;

/// Registration.
pub static ENTRY: RegistryEntry = RegistryEntry {
    name: "unlimited",
    summary: "every packet is admitted",
    spec: "lowtide",
    params: &[],
};

/// Admits everything.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl Buffer for Unlimited {
    #[inline]
    fn admits(&self, _: &AdmissionRequest) -> bool {
        true
    }
}
