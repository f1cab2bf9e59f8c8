//! The Accurate ECN receiver: no latched echo, only ACKs often enough for the counter.
//!
//! ## Algorithm
//! Every segment carries the count of CE packets (`ecn`); this policy decides when one must be
//! sent. A data packet with CE after a packet without is acknowledged at once, and so is each
//! `marks-per-ack`-th CE packet. Every third pure ACK with CE is also answered: the peer may have
//! to slow down.
//!
//! ## Spec
//! RFC 9768 §3.2.2.5.1.
//!
//! ## Deviations
//! An aggregated run of segments gets one ACK at its end, as the RFC allows, for any number of
//! marks. Without SACK pure ACKs are not answered, because the peer would take the answers for
//! duplicate ACKs (same section, last paragraph).
//!
//! ## Kernel twin
//! `tcp_ecn_received_counters` in Linux, `tcp_ecn_input_segment` in FreeBSD count.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::Instant;

use super::{AckAction, AckPolicy, AckPolicyEntry, AckSetup, CeSample, DelayedAck, RxSample};

/// Minimum number of marks that is answered with no ACK pending for data. With fewer, two ends
/// whose ACKs are all marked would answer each other without end.
const MIN_MARKS_WITHOUT_DATA: u32 = 3;

/// Registration.
pub static ENTRY: AckPolicyEntry = AckPolicyEntry {
    name: "accecn",
    summary: "Accurate ECN receiver: a count of CE packets, acknowledged before it can wrap",
    spec: "RFC 9768 §3.2.2.5.1",
    params: &[Param {
        name: "marks-per-ack",
        kind: ValueKind::Count { min: 1, max: 7 },
        default: DefaultValue::Is("2"),
        doc: "Acknowledge at least every n-th packet with CE; of pure ACKs at most every third.",
        source: "RFC 9768 §3.2.2.5.1: 2 while data waits, 3 without, never more than 7",
    }],
    build,
};

fn build(values: &Values, setup: &AckSetup) -> Box<dyn AckPolicy> {
    let ce_per_ack = values.count("marks-per-ack") as u32;
    Box::new(AccEcn { delayed: DelayedAck::new(setup), ce_per_ack, marks: 0, ce: false })
}

#[derive(Debug)]
struct AccEcn {
    delayed: DelayedAck,
    ce_per_ack: u32,
    /// CE packets since the last ACK.
    marks: u32,
    /// The last packet, with or without payload, carried CE.
    ce: bool,
}

impl AckPolicy for AccEcn {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        self.delayed.on_data(rx)
    }

    fn on_ce_sample(&mut self, rx: &CeSample) -> bool {
        let changed = rx.ce > 0 && !self.ce && rx.data;
        self.ce = rx.ce > 0;
        self.marks = self.marks.saturating_add(rx.ce);
        let most = if rx.ack_pending {
            self.ce_per_ack
        } else {
            self.ce_per_ack.max(MIN_MARKS_WITHOUT_DATA)
        };
        changed || (rx.ce > 0 && self.marks >= most)
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.delayed.on_ack_sent();
        self.marks = 0;
    }

    fn echo(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use lowtide_units::Duration;

    use super::*;

    fn policy(values: &Values) -> Box<dyn AckPolicy> {
        build(values, &AckSetup { segments: 2, timer: Duration::from_ms(40), mss: 1000, ecn: true })
    }

    const DATA: CeSample = CeSample { ce: 1, data: true, ack_pending: true };
    const CLEAN: CeSample = CeSample { ce: 0, data: true, ack_pending: true };
    const PURE: CeSample = CeSample { ce: 1, data: false, ack_pending: false };

    #[test]
    fn the_first_mark_of_a_run_and_every_second_one_after_it() {
        let mut p = policy(&Values::parse(ENTRY.params, &[]).unwrap());
        assert!(!p.on_ce_sample(&CLEAN));
        assert!(p.on_ce_sample(&DATA), "changed");
        p.on_ack_sent(Instant::ZERO);
        let run: [bool; 6] = core::array::from_fn(|_| {
            let now = p.on_ce_sample(&DATA);
            if now {
                p.on_ack_sent(Instant::ZERO);
            }
            now
        });
        assert_eq!(run, [false, true, false, true, false, true]);
        assert!(!p.on_ce_sample(&CLEAN), "back to no CE is no reason");
        assert!(p.on_ce_sample(&DATA), "changed again");
    }

    #[test]
    fn a_marked_ack_before_makes_marked_data_no_change() {
        let mut p = policy(&Values::parse(ENTRY.params, &[]).unwrap());
        assert!(!p.on_ce_sample(&PURE), "only data can trigger by its change");
        p.on_ack_sent(Instant::ZERO);
        assert!(!p.on_ce_sample(&DATA));
        let mut p = policy(&Values::parse(ENTRY.params, &[]).unwrap());
        assert!(!p.on_ce_sample(&PURE));
        assert!(p.on_ce_sample(&DATA), "the second mark since the last ACK");
    }

    #[test]
    fn every_third_marked_ack_is_answered_for_any_parameter() {
        for most in 1..=7_u32 {
            let values =
                Values::parse(ENTRY.params, &[("marks-per-ack", &most.to_string())]).unwrap();
            let mut p = policy(&values);
            let first = (1..20).find(|_| p.on_ce_sample(&PURE));
            assert_eq!(first, Some(most.max(3)));
            p.on_ack_sent(Instant::ZERO);
            // With data pending, the parameter itself counts.
            let owed = CeSample { ack_pending: true, ..PURE };
            assert_eq!((1..20).find(|_| p.on_ce_sample(&owed)), Some(most));
        }
    }

    #[test]
    fn an_aggregated_run_counts_all_its_marks() {
        let mut p = policy(&Values::parse(ENTRY.params, &[]).unwrap());
        assert!(p.on_ce_sample(&CeSample { ce: 20, ..DATA }));
        p.on_ack_sent(Instant::ZERO);
        assert!(p.on_ce_sample(&CeSample { ce: 2, ..DATA }));
    }

    #[test]
    fn there_is_no_latch() {
        let mut p = policy(&Values::parse(ENTRY.params, &[]).unwrap());
        let _ = p.on_ce_sample(&DATA);
        assert!(!p.echo());
    }
}
