//! The standard ECN echo: one bit that stays on until CWR reaches the receiver.
//!
//! ## Algorithm
//! Reports congestion for every ACK with ECE and counts all its delivered data as marked. The latch
//! hides the number of CE packets, so this is an upper bound.
//!
//! ## Spec
//! RFC 3168 §6.1.2.
//!
//! ## Deviations
//! None; the byte count is not part of RFC 3168 and is used only by controls that request it.
//!
//! ## Kernel twin
//! `tp->delivered_ce` in Linux without Accurate ECN: the segments delivered by ACKs with ECE.

use alloc::boxed::Box;

use lowtide_schema::Values;

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "rfc3168",
    summary: "latched echo: congestion from the first ECE until CWR",
    spec: "RFC 3168 §6.1.2",
    params: &[],
    ack_policies: &[],
    build,
};

fn build(_: &Values) -> Box<dyn FeedbackDecoder> {
    Box::new(WholeAck)
}

/// The decoder of the latched echo, and of DCTCP's echo, which states each ACK.
#[derive(Debug)]
struct WholeAck;

impl FeedbackDecoder for WholeAck {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        CeFeedback::from_whole_ack(ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_an_ack_with_ece_delivers_is_marked_and_nothing_else() {
        let view = |ece| AckView {
            ece,
            delivered_bytes: 2500,
            delivered_segments: 3,
            acked_bytes: 1000,
            mss: 1000,
            ..AckView::default()
        };
        let mut decoder = build(&Values::new());
        let marked = CeFeedback { ce_bytes: 2500, ce_segments: 3, congested: true };
        let seen = [true, false, true].map(|ece| decoder.on_ack(&view(ece)));
        assert_eq!(seen, [marked, CeFeedback::default(), marked]);
    }
}
