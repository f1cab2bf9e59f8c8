//! Unlimited memory: no packet is dropped. For host ports and closed-form tests.

use super::{AdmissionRequest, Buffer, BufferEntry};

/// Registration.
pub static ENTRY: BufferEntry = BufferEntry {
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
