//! Which congestion control sent the data of a direction.
//!
//! Contract: `record` keeps what a sender did by round trips, `features` measures it, and
//! `verdict` names the control or says why it cannot.

mod features;
mod record;
#[cfg(test)]
mod tests;
mod verdict;

pub(super) use record::{ReductionCause, SenderRecord};
pub(super) use verdict::{Echo, SenderVerdict};
