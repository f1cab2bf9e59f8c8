//! The one-sided DCTCP sender: an estimate from the latched echo of a standard receiver.
//!
//! ## Algorithm
//! An RFC 3168 receiver sets ECE from the first mark until CWR reaches it, about a round trip for
//! any number of marks. `count` selects which data counts as marked:
//! - `latched`: all data delivered by ACKs with ECE. Alpha approaches the share of rounds with a
//!   mark.
//! - `first`: data delivered by the first ACK with ECE, then nothing until an ACK covers the
//!   segment that carried CWR; after that, ECE is new. Alpha is too small instead, because the
//!   other marks of the round are never seen.
//!
//! ## Spec
//! ODCTCP thesis §5.1.2 for `latched`, which states the over-estimate as the cost. `first` is ours.
//!
//! ## Deviations
//! None from the thesis with `latched`. Against a DCTCP receiver `latched` counts exactly.
//!
//! ## Kernel twin
//! `dctcp_ack_received` in FreeBSD 11, which counts every ACK with ECE; its correction of changes
//! by one MSS is the decoder `freebsd`.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckView, CeFeedback, FeedbackDecoder, FeedbackEntry};

const COUNTS: &[&str] = &["latched", "first"];

/// Registration.
pub static ENTRY: FeedbackEntry = FeedbackEntry {
    name: "one-sided",
    summary: "one-sided DCTCP sender: the share of a standard receiver's latched echo",
    spec: "ODCTCP thesis §5.1",
    params: &[Param {
        name: "count",
        kind: ValueKind::Choice(COUNTS),
        default: DefaultValue::Is("latched"),
        doc: "Data that counts as marked: all under a latched ECE, or that of its first ACK only.",
        source: "ODCTCP thesis §5.1.2 (latched); first is lowtide's",
    }],
    ack_policies: &[],
    build,
};

fn build(values: &Values) -> Box<dyn FeedbackDecoder> {
    let first_only = values.name("count") == "first";
    Box::new(OneSided { first_only, counted_until: None, acked: 0 })
}

#[derive(Debug)]
struct OneSided {
    first_only: bool,
    /// Set when ECE was counted: the offset from which ECE is new again. `u64::MAX` until CWR is
    /// sent.
    counted_until: Option<u64>,
    /// Bytes acknowledged cumulatively so far.
    acked: u64,
}

impl FeedbackDecoder for OneSided {
    fn on_ack(&mut self, ack: &AckView) -> CeFeedback {
        let seen = CeFeedback::from_whole_ack(ack);
        if !self.first_only {
            return seen;
        }
        self.acked += ack.acked_bytes;
        if self.counted_until.is_some_and(|until| self.acked >= until) || !ack.ece {
            self.counted_until = None;
        }
        if self.counted_until.is_some() {
            // Congestion, but already counted.
            return CeFeedback { ce_bytes: 0, ce_segments: 0, ..seen };
        }
        if ack.ece && ack.delivered_bytes > 0 {
            self.counted_until = Some(u64::MAX);
        }
        seen
    }

    fn on_cwr_sent(&mut self, snd_nxt: u64) {
        if let Some(until) = &mut self.counted_until {
            *until = snd_nxt;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(count: &'static str) -> Box<dyn FeedbackDecoder> {
        let values = Values::parse(ENTRY.params, &[("count", count)]).unwrap();
        build(&values)
    }

    /// Bytes counted for an ACK of one segment.
    fn ack(decoder: &mut dyn FeedbackDecoder, ece: bool) -> u64 {
        let feedback = decoder.on_ack(&AckView {
            ece,
            delivered_bytes: 1000,
            delivered_segments: 1,
            acked_bytes: 1000,
            ..AckView::default()
        });
        assert_eq!(feedback.congested, ece);
        feedback.ce_bytes
    }

    #[test]
    fn latched_counts_all_and_first_only_new_ece() {
        // A mark, CWR on the sixth segment, another mark on the seventh.
        for (count, expected) in [
            ("latched", [0, 1000, 1000, 1000, 1000, 0, 1000, 1000]),
            ("first", [0, 1000, 0, 0, 0, 0, 1000, 0]),
        ] {
            let mut d = decoder(count);
            let mut seen = [0; 8];
            for (i, ece) in [false, true, true, true, true, false, true, true].iter().enumerate() {
                seen[i] = ack(&mut *d, *ece);
                if i == 1 {
                    d.on_cwr_sent(6000);
                }
            }
            assert_eq!(seen, expected, "{count}");
        }
    }

    #[test]
    fn a_mark_on_the_cwr_segment_is_new_without_a_clean_ack_between() {
        let mut d = decoder("first");
        assert_eq!(ack(&mut *d, true), 1000);
        d.on_cwr_sent(3000);
        assert_eq!([ack(&mut *d, true), ack(&mut *d, true), ack(&mut *d, true)], [0, 1000, 0]);
    }
}
