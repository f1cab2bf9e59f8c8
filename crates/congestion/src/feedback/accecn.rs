//! Accurate ECN decoder: counts CE packets from a three-bit field.
//!
//! ## Algorithm
//! Each ACK reports by how much the peer's count of CE packets has increased since its last report,
//! modulo 8. If an ACK delivers more packets than that, the counter may have wrapped while ACKs
//! were lost; `wrap` selects the assumption. Bytes are an estimate: the mean size of the delivered
//! packets.
//!
//! ## Spec
//! RFC 9768 §3.2.2.5.2, appendix A.2.1 (wraps without the option) and A.3 (bytes).
//!
//! Bounds with `wrap = "safest"`, if no more CE packets arrived than the ACK newly delivers. The
//! count is never below the true count and never above the delivered packets. It equals the true
//! count modulo 8, and exactly while an ACK delivers less than 8 packets more than it reports.
//!
//! ## Deviations
//! Packets are counted on the scoreboard, not estimated from bytes. An ACK that reports more marks
//! than it delivers segments (marks on pure ACKs, or beyond a hole without SACK) counts no bytes
//! for the excess. A wrong assumption is not corrected later (a MAY). Continuous CE is not detected
//! (§3.2.2.3 leaves it open). The options with byte counters (kinds 172 and 174) are neither sent
//! nor read.
//!
//! ## Kernel twin
//! `tcp_accecn_process` in Linux, `tcp_ecn_input_segment` in FreeBSD; both assume the safest case
//! without an option.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// Number of values of the ACE field.
const CYCLE: u32 = 8;
/// Fraction bits of the moving mean of packets per ACK.
const MEAN_BITS: u32 = 4;
/// Gain of the mean: 1/16.
const GAIN_SHIFT: u32 = 4;

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "accecn",
    summary: "Accurate ECN: a count of CE packets modulo 8 on each ACK",
    spec: "RFC 9768 §3.2.2",
    params: &[Param {
        name: "wrap",
        kind: ValueKind::Choice(&["safest", "likely", "least"]),
        default: DefaultValue::Is("likely"),
        doc: "If the count may have wrapped: assume that it did (`safest`), only if ACKs usually \
              cover less than half a cycle (`likely`), or never (`least`).",
        source: "RFC 9768 §3.2.2.5.2; appendix A.2.1 has both `safest` and `likely`",
    }],
    ack_policies: &[],
    build,
};

fn build(values: &Values) -> Box<dyn FeedbackDecoder> {
    let wrap = match values.name("wrap") {
        "safest" => WrapAssumption::Safest,
        "least" => WrapAssumption::Least,
        _ => WrapAssumption::Likely,
    };
    Box::new(AccEcn { wrap, mean: CYCLE << MEAN_BITS })
}

/// Assumption about a counter that may have wrapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WrapAssumption {
    Safest,
    Likely,
    Least,
}

#[derive(Debug)]
struct AccEcn {
    wrap: WrapAssumption,
    /// Moving mean of packets delivered per ACK of new data; a stretch ACK counts as two cycles at
    /// most. It starts high, so ACKs are assumed to be long at first.
    mean: u32,
}

impl AccEcn {
    /// Recent ACKs delivered less than half a cycle each, so a longer one means that some were
    /// lost. Otherwise (aggregation, thinned or stretched ACKs) it means nothing.
    fn stretch_is_rare(&self) -> bool {
        self.mean < (CYCLE / 2) << MEAN_BITS
    }

    fn update_mean(&mut self, packets: u32) {
        let sample = packets.min(2 * CYCLE) << MEAN_BITS;
        self.mean = self.mean + (sample >> GAIN_SHIFT) - (self.mean >> GAIN_SHIFT);
    }
}

/// Maximum marks for a reported `least` with `packets` delivered (RFC 9768 A.2.1).
const fn safest(least: u32, packets: u32) -> u32 {
    if packets < least { least } else { packets - (packets - least) % CYCLE }
}

impl FeedbackDecoder for AccEcn {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        let (least, packets) = (u32::from(ack.ace_delta), ack.delivered_segments);
        let assume = match self.wrap {
            WrapAssumption::Safest => true,
            WrapAssumption::Likely => self.stretch_is_rare(),
            WrapAssumption::Least => false,
        };
        if packets > 0 {
            self.update_mean(packets);
        }
        let ce_segments = if assume { safest(least, packets) } else { least };
        let counted = u64::from(ce_segments.min(packets));
        let bytes = (ack.delivered_bytes * counted).checked_div(u64::from(packets)).unwrap_or(0);
        CeFeedback { ce_bytes: bytes, ce_segments, congested: ce_segments > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(wrap: &'static str) -> Box<dyn FeedbackDecoder> {
        let values = Values::parse(ENTRY.params, &[("wrap", wrap)]).unwrap();
        build(&values)
    }

    fn view(ce_ahead: u8, packets: u32) -> AckView {
        AckView {
            ace_delta: ce_ahead,
            delivered_segments: packets,
            delivered_bytes: u64::from(packets) * 1000,
            acked_bytes: u64::from(packets) * 1000,
            mss: 1000,
            ..AckView::default()
        }
    }

    #[test]
    fn the_examples_of_appendix_a_2_1() {
        let mut d = decoder("safest");
        for (ahead, packets, marked) in [(2, 9, 2), (2, 10, 10), (0, 7, 0), (0, 8, 8), (7, 14, 7)] {
            assert_eq!(d.on_ack(&view(ahead, packets)).ce_segments, marked, "{ahead} of {packets}");
        }
        // More marks than packets: the count is right, but not all marked packets are delivered
        // data.
        assert_eq!(d.on_ack(&view(3, 1)).ce_segments, 3);
    }

    /// Every count of marks up to the delivered packets, and every wrapped count.
    #[test]
    fn the_safest_count_is_between_the_truth_and_the_delivered_packets() {
        for packets in 0..40_u32 {
            for truth in 0..=packets {
                let seen = decoder("safest").on_ack(&view((truth % 8) as u8, packets)).ce_segments;
                assert!(truth <= seen && seen <= packets, "{truth} of {packets}: {seen}");
                assert_eq!(seen % 8, truth % 8);
                if packets < truth % 8 + 8 {
                    assert_eq!(seen, truth);
                }
            }
        }
    }

    #[test]
    fn a_long_ack_means_lost_ones_only_where_acks_are_short() {
        let mut d = decoder("likely");
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 1, "nothing is usual yet");
        let mut d = decoder("likely");
        for _ in 0..200 {
            let _ = d.on_ack(&view(0, 2));
        }
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 17);
        for _ in 0..200 {
            let _ = d.on_ack(&view(0, 20));
        }
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 1);
        assert_eq!(decoder("least").on_ack(&view(1, 20)).ce_segments, 1);
    }

    #[test]
    fn the_mean_settles_and_stays() {
        let mut d = AccEcn { wrap: WrapAssumption::Likely, mean: 0 };
        for (packets, settled) in [(2, 2), (44, 16), (1, 1)] {
            for _ in 0..300 {
                d.update_mean(packets);
            }
            let mean = (d.mean + (1 << MEAN_BITS >> 1)) >> MEAN_BITS;
            assert!(mean.abs_diff(settled) <= 1, "{packets}: {}", d.mean);
        }
    }

    #[test]
    fn bytes_are_a_share_of_the_delivered_bytes() {
        let mut d = decoder("safest");
        let of = |d: &mut Box<dyn FeedbackDecoder>, ahead, packets, bytes| {
            let ack = AckView { delivered_bytes: bytes, ..view(ahead, packets) };
            let f = d.on_ack(&ack);
            (f.ce_segments, f.ce_bytes, f.congested)
        };
        assert_eq!(of(&mut d, 0, 2, 2000), (0, 0, false));
        assert_eq!(of(&mut d, 1, 2, 2000), (1, 1000, true));
        assert_eq!(of(&mut d, 1, 3, 2500), (1, 833, true));
        assert_eq!(of(&mut d, 2, 2, 1500), (2, 1500, true));
        // Marks on packets other than this data.
        assert_eq!(of(&mut d, 3, 2, 1500), (3, 1500, true));
        assert_eq!(of(&mut d, 1, 0, 0), (1, 0, true));
    }

    #[test]
    fn without_marks_nothing_is_reported() {
        let mut d = build(&Values::parse(ENTRY.params, &[]).unwrap());
        for packets in [0, 1, 2, 3, 7] {
            assert_eq!(d.on_ack(&view(0, packets)), CeFeedback::default());
        }
        // ECE alone means nothing here.
        assert!(!d.on_ack(&AckView { ece: true, ..view(0, 2) }).congested);
    }
}
