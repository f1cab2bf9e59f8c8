//! The standard ECN echo: one bit that stays on until CWR reaches the receiver.
//!
//! ## What it does
//! Reports congestion for every ACK with ECE and counts all that such an ACK delivers as marked: the
//! latch hides how many packets really met CE, so this is an upper bound.
//!
//! ## Spec
//! RFC 3168 §6.1.2.
//!
//! ## Deviations
//! None; the byte count is not part of RFC 3168 and only matters to a control that asks for it.

use alloc::boxed::Box;

use super::{AckView, CeFeedback, Entry, FeedbackDecoder};
use crate::params::Params;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "rfc3168",
    summary: "latched echo: congestion from the first ECE until CWR",
    spec: "RFC 3168 §6.1.2",
    params: &[],
    understands: &[],
    build,
};

fn build(_: &Params) -> Box<dyn FeedbackDecoder> {
    Box::new(Latched)
}

#[derive(Debug)]
struct Latched;

impl FeedbackDecoder for Latched {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        if !ack.ece {
            return CeFeedback::default();
        }
        CeFeedback { bytes: ack.delivered_bytes, segments: ack.delivered_segments, congested: true }
    }
}
