//! The DCTCP echo: each ACK reports whether its segments carried CE.
//!
//! ## Algorithm
//! Counts all data delivered by an ACK with ECE as marked, and by an ACK without as clean.
//!
//! ## Spec
//! RFC 8257 §3.3 (bytes marked), against the receiver of §3.2.
//!
//! ## Deviations
//! Counts delivered data, including SACKed segments; RFC 8257 §3.3 ignores SACK. A control that
//! follows the RFC literally scales by the bytes acknowledged cumulatively.
//!
//! ## Kernel twin
//! `tp->delivered_ce` in Linux: the segments delivered by ACKs that carry ECE.

use alloc::boxed::Box;

use lowtide_schema::Values;

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "dctcp",
    summary: "exact echo: data delivered by an ACK with ECE was marked, nothing else",
    spec: "RFC 8257 §3.3",
    params: &[],
    ack_policies: &["dctcp", "odctcp", "tdctcp"],
    build,
};

fn build(_: &Values) -> Box<dyn FeedbackDecoder> {
    Box::new(DctcpEcho)
}

#[derive(Debug)]
struct DctcpEcho;

impl FeedbackDecoder for DctcpEcho {
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
