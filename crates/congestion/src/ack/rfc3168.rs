//! The standard ECN receiver: echoes CE until the sender sets CWR.
//!
//! ## Algorithm
//! Sets ECE on every ACK from the first CE until a segment with CWR arrives; delays ACKs as usual.
//!
//! ## Spec
//! RFC 3168 §6.1.3; RFC 5681 §4.2 for the delay.
//!
//! ## Deviations
//! A segment with both CWR and CE clears the latch and sets it again (erratum 3639). CE on a
//! duplicate is ignored: §6.1.5 requires that for packets outside the window, which includes old
//! data. The RFC does not mention immediate ACKs; stacks use `quick-acks` and `cwr-ack` for senders
//! with a window as small as one segment.
//!
//! ## Kernel twin
//! `tcp_ecn_check_ce` and `tcp_ecn_accept_cwr` in Linux with `quick-acks = 2` and
//! `cwr-ack = "at-once"`.

use alloc::boxed::Box;

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};
use lowtide_units::Instant;

use super::{
    AckAction, AckPolicy, AckPolicyEntry, AckSetup, CWR_ACK, DelayedAck, RxSample,
    acks_cwr_at_once, expedite,
};

/// Registration.
pub static ENTRY: AckPolicyEntry = AckPolicyEntry {
    name: "rfc3168",
    summary: "standard ECN receiver: ECE from CE until CWR, delayed ACKs",
    spec: "RFC 3168 §6.1.3",
    params: &[
        CWR_ACK,
        Param {
            name: "quick-acks",
            kind: ValueKind::Count { min: 0, max: 16 },
            default: DefaultValue::Is("0"),
            doc: "Number of ACKs not delayed after the mark that sets the latch.",
            source: "RFC 3168 §6.1.3 is silent; Linux tcp_ecn_check_ce (2)",
        },
    ],
    build,
};

fn build(values: &Values, setup: &AckSetup) -> Box<dyn AckPolicy> {
    Box::new(Rfc3168 {
        delayed: DelayedAck::new(setup),
        ecn: setup.ecn,
        ece: false,
        acks_cwr_at_once: acks_cwr_at_once(values),
        quick_acks: values.count("quick-acks") as u32,
        quick: 0,
    })
}

/// The latched echo.
#[derive(Debug)]
struct Rfc3168 {
    delayed: DelayedAck,
    ecn: bool,
    ece: bool,
    acks_cwr_at_once: bool,
    quick_acks: u32,
    /// Remaining ACKs that are not delayed.
    quick: u32,
}

impl AckPolicy for Rfc3168 {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        // CWR before CE: a segment may carry both (RFC 3168 erratum 3639).
        if rx.cwr {
            self.ece = false;
        }
        if rx.ce && !rx.duplicate && self.ecn && !self.ece {
            self.ece = true;
            self.quick = self.quick_acks;
        }
        let action = self.delayed.on_data(rx);
        if self.quick > 0 { AckAction::Now } else { expedite(action, rx, self.acks_cwr_at_once) }
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.delayed.on_ack_sent();
        self.quick = self.quick.saturating_sub(1);
    }

    fn echo(&self) -> bool {
        self.ece
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;

    const TIMER: Duration = Duration::from_ms(40);

    fn policy(ecn: bool) -> Box<dyn AckPolicy> {
        build(
            &Values::parse(ENTRY.params, &[]).unwrap(),
            &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn },
        )
    }

    fn data(ce: bool, cwr: bool) -> RxSample {
        RxSample {
            now: Instant::ZERO,
            in_order: true,
            duplicate: false,
            segments: 1,
            payload: 1000,
            ect: true,
            ce,
            cwr,
            ack_pending: false,
            prior_rcv_nxt: 0,
        }
    }

    #[test]
    fn the_echo_stays_from_ce_until_cwr() {
        let mut p = policy(true);
        let echoes = [(false, false), (true, false), (false, false), (false, true), (false, false)]
            .map(|(ce, cwr)| {
                let _ = p.on_data(&data(ce, cwr));
                p.echo()
            });
        assert_eq!(echoes, [false, true, true, false, false]);
    }

    #[test]
    fn a_segment_with_cwr_and_ce_sets_the_latch_again() {
        let mut p = policy(true);
        let _ = p.on_data(&data(true, false));
        let _ = p.on_data(&data(true, true));
        assert!(p.echo());
    }

    #[test]
    fn marks_do_not_cause_immediate_acks() {
        let mut p = policy(true);
        assert_eq!(p.on_data(&data(true, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(false, false)), AckAction::Now);
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(true, true)), AckAction::Delay(TIMER));
        // Receive aggregation: one call represents several segments.
        let merged = RxSample { segments: 3, ..data(false, false) };
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&merged), AckAction::Now);
    }

    #[test]
    fn quick_acks_follow_the_mark_that_sets_the_latch_and_no_other() {
        let values = Values::parse(ENTRY.params, &[("quick-acks", "2")]).unwrap();
        let mut p = build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
        for (ce, action) in [
            (false, AckAction::Delay(TIMER)),
            (true, AckAction::Now),
            (true, AckAction::Now),
            (true, AckAction::Delay(TIMER)),
        ] {
            assert_eq!(p.on_data(&data(ce, false)), action);
            p.on_ack_sent(Instant::ZERO);
        }
    }

    #[test]
    fn cwr_causes_an_immediate_ack_if_configured() {
        for (set, action) in [("as-usual", AckAction::Delay(TIMER)), ("at-once", AckAction::Now)] {
            let values = Values::parse(ENTRY.params, &[("cwr-ack", set)]).unwrap();
            let mut p =
                build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
            assert_eq!(p.on_data(&data(false, true)), action, "{set}");
        }
    }

    #[test]
    fn pitfall_10_ce_on_a_duplicate_is_ignored_and_its_cwr_is_not() {
        let mut p = policy(true);
        let duplicate = RxSample { duplicate: true, in_order: false, ..data(true, false) };
        let _ = p.on_data(&duplicate);
        assert!(!p.echo());
        let _ = p.on_data(&data(true, false));
        let _ = p.on_data(&RxSample { cwr: true, ..duplicate });
        assert!(!p.echo());
    }

    #[test]
    fn without_ecn_agreed_there_is_no_echo() {
        let mut p = policy(false);
        let _ = p.on_data(&data(true, false));
        assert!(!p.echo());
    }
}
