//! DCTCP decoder for a receiver that does not split its ACKs: corrects one segment at each change
//! of the echo.
//!
//! ## Algorithm
//! Such a receiver acknowledges a change of CE at once with the new echo. The segment that was
//! waiting is covered by that ACK, under the wrong bit. Therefore the first ACK with ECE after
//! clean ones counts all its delivered bytes but one MSS as marked. The first clean ACK after ECE
//! counts one MSS as marked. An ACK of one segment or less needs no correction.
//!
//! ## Spec
//! RFC 8257 §3.2 allows the receiver; the correction is FreeBSD's (`cc_dctcp.c`), in no
//! specification.
//!
//! ## Deviations
//! Against a receiver that splits (`flip = "split"`) nothing is corrected: the ACK after a change
//! covers one segment. FreeBSD 11's receiver (`flip = "when-waiting"`) may cover two marks with
//! the first ACK with ECE, or two clean segments with the first without. Then the correction itself
//! is off by one. The latch of a standard receiver is read as a run of marks (FreeBSD's default is
//! one-sided deployment). FreeBSD forgets the last echo after an idle period; this code does not.
//!
//! ## Kernel twin
//! `dctcp_ack_received` in FreeBSD 11 to 15.

use alloc::boxed::Box;

use lowtide_schema::Values;

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "freebsd",
    summary: "exact echo, corrected by one MSS at each flip",
    spec: "FreeBSD cc_dctcp.c",
    params: &[],
    ack_policies: &["dctcp", "odctcp", "rfc3168"],
    build,
};

fn build(_: &Values) -> Box<dyn FeedbackDecoder> {
    Box::new(FlipCorrected { last_ece: false })
}

#[derive(Debug)]
struct FlipCorrected {
    /// The last ACK that delivered data carried ECE.
    last_ece: bool,
}

impl FeedbackDecoder for FlipCorrected {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        let mut seen = CeFeedback::from_whole_ack(ack);
        if ack.delivered_bytes == 0 {
            return seen;
        }
        let flipped = ack.ece != self.last_ece;
        self.last_ece = ack.ece;
        let mss = u64::from(ack.mss);
        if flipped && ack.delivered_bytes > mss {
            if ack.ece {
                seen.ce_bytes = ack.delivered_bytes - mss;
                seen.ce_segments = ack.delivered_segments.saturating_sub(1);
            } else {
                seen.ce_bytes = mss;
                seen.ce_segments = 1;
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marked bytes and segments counted for ACKs of these segments and echoes.
    fn seen(acks: &[(u32, bool)]) -> alloc::vec::Vec<(u64, u32)> {
        let mut decoder = build(&Values::new());
        let view = |&(segments, ece): &(u32, bool)| AckView {
            ece,
            delivered_bytes: u64::from(segments) * 1000,
            delivered_segments: segments,
            mss: 1000,
            ..AckView::default()
        };
        acks.iter()
            .map(|ack| {
                let feedback = decoder.on_ack(&view(ack));
                assert_eq!(feedback.congested, ack.1, "the echo itself is not corrected");
                (feedback.ce_bytes, feedback.ce_segments)
            })
            .collect()
    }

    #[test]
    fn a_flip_is_corrected_by_one_segment_on_both_sides() {
        let acks = [(2, false), (2, true), (2, true), (2, false), (2, false)];
        assert_eq!(seen(&acks), [(0, 0), (1000, 1), (2000, 2), (1000, 1), (0, 0)]);
    }

    #[test]
    fn an_ack_of_one_segment_is_not_corrected() {
        let acks = [(1, true), (1, false), (1, true), (2, true), (1, false)];
        assert_eq!(seen(&acks), [(1000, 1), (0, 0), (1000, 1), (2000, 2), (0, 0)]);
    }

    #[test]
    fn an_ack_that_delivers_nothing_is_not_the_one_before() {
        let acks = [(2, false), (0, true), (2, true)];
        assert_eq!(seen(&acks), [(0, 0), (0, 0), (1000, 1)]);
    }
}
