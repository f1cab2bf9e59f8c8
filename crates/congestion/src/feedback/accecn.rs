//! Accurate ECN decoder: counts CE packets from a three-bit field, and CE bytes from the option.
//!
//! ## Algorithm
//! Each ACK reports by how much the peer's count of CE packets has increased since its last report,
//! modulo 8. If an ACK delivers more than 7 packets, the counter may have wrapped while ACKs were
//! lost. `wrap = "likely"` decides as Linux does: by the increase of the counter of CE bytes, if
//! options show it unambiguously; else the counter has wrapped, unless ACKs usually deliver more
//! than 4 packets. `safest` and `least` assume it always, or never, without an unambiguous option.
//!
//! CE bytes are those of the option. On an ACK without one they are estimated, by the mean size of
//! the delivered packets, and the next option corrects the sum upwards.
//!
//! ## Spec
//! RFC 9768 §3.2.2.5.2, appendix A.2.1 (wraps without the option), A.2.2 (with it) and A.3 (bytes).
//!
//! Bounds with `wrap = "safest"` and no option, if no more CE packets arrived than the ACK newly
//! delivers. The count is never below the true count and never above the delivered packets. It
//! equals the true count modulo 8, and exactly while an ACK delivers less than 8 packets more than
//! it reports.
//!
//! ## Deviations
//! Packets are counted on the scoreboard, not estimated from bytes. An ACK that reports more marks
//! than it delivers segments (marks on pure ACKs, or beyond a hole without SACK) counts no
//! estimated bytes for the excess. A wrong assumption is not corrected later (a MAY). Continuous CE
//! is not detected (§3.2.2.3 leaves it open).
//!
//! ## Kernel twin
//! `__tcp_accecn_process` in Linux 7.2. `tcp_ecn_input_segment` in FreeBSD assumes the safest case.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

/// Largest increase that the ACE field can show.
const ACE_MAX: u32 = 7;
/// Fraction bits of the moving mean of packets per ACK (Linux `PKTS_ACKED_PREC`).
const MEAN_BITS: u32 = 6;
/// Gain of the mean: 1/64 (Linux `PKTS_ACKED_WEIGHT`).
const GAIN_SHIFT: u32 = 6;
/// Mean packets per ACK above which long ACKs are usual (Linux `ACK_COMP_THRESH`).
const USUAL_PACKETS: u32 = 4;

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "accecn",
    summary: "Accurate ECN: a count of CE packets modulo 8 on each ACK",
    spec: "RFC 9768 §3.2.2",
    params: &[Param {
        name: "wrap",
        kind: ValueKind::Choice(&["safest", "likely", "least"]),
        default: DefaultValue::Is("likely"),
        doc: "If the count may have wrapped and no option decides: assume that it did (`safest`), \
              only if ACKs usually deliver at most 4 packets (`likely`), or never (`least`).",
        source: "RFC 9768 §3.2.2.5.2; appendix A.2.1 has both `safest` and `likely`; Linux `likely`",
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
    Box::new(AccEcn { wrap, mean: 0 })
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
    /// Moving mean of packets delivered per ACK, in 1/64; zero before the first ACK, which sets it.
    mean: u32,
}

impl AccEcn {
    fn update_mean(&mut self, packets: u32) {
        let sample = packets.saturating_mul(1 << MEAN_BITS);
        let mean = if self.mean == 0 {
            sample
        } else {
            (self.mean * ((1 << GAIN_SHIFT) - 1)).saturating_add(sample) >> GAIN_SHIFT
        };
        self.mean = mean.min(u32::from(u16::MAX));
    }

    /// CE packets of an ACK that reports at least `least`.
    fn packets(&self, least: u32, ack: &AckView) -> u32 {
        let packets = ack.delivered_segments;
        if packets <= ACE_MAX {
            return least;
        }
        // RFC 9768 A.2.1.
        let safest = packets - ((packets - least) & ACE_MAX);
        let Some(bytes) = ack.option_delta else {
            let wrapped = match self.wrap {
                WrapAssumption::Safest => true,
                WrapAssumption::Likely => self.mean <= USUAL_PACKETS << MEAN_BITS,
                WrapAssumption::Least => false,
            };
            return if wrapped { safest } else { least };
        };
        // RFC 9768 A.2.2, as Linux does it.
        let (bytes, mss) = (u64::from(bytes), u64::from(ack.mss));
        if bytes == 0 {
            return least;
        }
        if packets >= 2 * (ACE_MAX + 1) && ack.delivery_exact {
            if ack.delivered_bytes <= bytes {
                return safest;
            }
            let share = (bytes * u64::from(packets)).div_ceil(ack.delivered_bytes) as u32;
            return safest.min(least + (share & !ACE_MAX));
        }
        let wrapped = bytes > u64::from(least) * mss || bytes >= (u64::from(safest) * mss) >> 1;
        if wrapped { safest } else { least }
    }
}

impl FeedbackDecoder for AccEcn {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        let packets = ack.delivered_segments;
        if packets > 0 {
            self.update_mean(packets);
        }
        let ce_segments = self.packets(u32::from(ack.ace_delta), ack);
        let estimated = || {
            let counted = u64::from(ce_segments.min(packets));
            (ack.delivered_bytes * counted).checked_div(u64::from(packets)).unwrap_or(0)
        };
        let ce_bytes = ack.option_ce_bytes.unwrap_or_else(estimated);
        CeFeedback { ce_bytes, ce_segments, congested: ce_segments > 0 }
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

    /// The mean starts with the first ACK, as in Linux: 13 short ACKs need not precede.
    #[test]
    fn a_long_ack_means_lost_ones_only_where_acks_are_short() {
        let mut d = decoder("likely");
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 1, "20 packets per ACK are usual");
        let mut d = decoder("likely");
        let _ = d.on_ack(&view(0, 2));
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 17);
        for _ in 0..20 {
            let _ = d.on_ack(&view(0, 20));
        }
        assert_eq!(d.on_ack(&view(1, 20)).ce_segments, 1);
        assert_eq!(decoder("least").on_ack(&view(1, 20)).ce_segments, 1);
    }

    /// A short independent model: the mean in floating point, and the bytes of a peer that marks
    /// known packets of equal size.
    #[test]
    fn an_independent_model_agrees() {
        let (mut d, mut mean) = (decoder("likely"), 0.0_f64);
        let mut random = 12_345_u32;
        for step in 0..20_000_u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let most = if step / 1_000 % 2 == 0 { 3 } else { 30 };
            let packets = 1 + (random >> 8) % most;
            let truth = (random >> 20) % (packets + 1);
            let exact = step % 3 == 0;
            let delta = exact.then_some(truth * 1000);
            let ack = AckView { option_delta: delta, ..view((truth % 8) as u8, packets) };
            let ack = AckView { delivery_exact: true, ..ack };
            let before = mean;
            mean = if before == 0.0 {
                f64::from(packets)
            } else {
                before + (f64::from(packets) - before) / 64.0
            };
            let got = d.on_ack(&ack).ce_segments;
            let least = truth % 8;
            let safest = (least..=packets).step_by(8).last().unwrap();
            if exact {
                // 8 to 15 packets: the true count or one cycle off; from 16 on exactly.
                assert!(got.abs_diff(truth) <= if packets < 16 { 8 } else { 0 }, "{ack:?} {got}");
            } else if packets < 8 {
                assert_eq!(got, truth);
            } else if (mean - 4.0).abs() > 0.8 {
                // Integers round the mean down, by up to 63/64 of a packet in the limit.
                assert_eq!(got, if mean < 4.0 { safest } else { least }, "{ack:?} {mean}");
            }
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
