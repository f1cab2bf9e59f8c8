//! The one-sided DCTCP receiver: a DCTCP receiver that delays ACKs as usual for CWR segments.
//!
//! ## Algorithm
//! Echoes the mark of the last segment as a DCTCP receiver does and acknowledges a change at once.
//! The exception is a segment with CWR: its ACK is delayed as usual and carries the state at that
//! time.
//!
//! A standard sender sends CWR after a cut. Its queue has drained, so the segment is clean and the
//! echo changes. A DCTCP receiver would acknowledge it alone. If the sender counts acknowledged
//! bytes, the first ACK that may grow its window again then counts one segment instead of two.
//!
//! ## Spec
//! ODCTCP thesis §5.2.2; RFC 8257 §3.2 for the rest.
//!
//! ## Deviations
//! The segment waiting when a CWR segment changes the echo is reported under the wrong bit. For a
//! DCTCP sender, which needs no exception, that is an error of one segment per cut (thesis §5.2.2
//! accepts it). A mark on the CWR segment is also delayed, as in the thesis.
//!
//! ## Kernel twin
//! `dctcp_ecnpkt_handler` in FreeBSD 11 with `flip = "when-waiting"`; later versions do the
//! opposite and acknowledge CWR at once (`dctcp.cwr-ack`).

use alloc::boxed::Box;

use lowtide_schema::Values;
use lowtide_units::Instant;

use super::{AckAction, AckPolicy, AckPolicyEntry, AckSetup, CeState, FLIP, RxSample};

/// Registration.
pub static ENTRY: AckPolicyEntry = AckPolicyEntry {
    name: "odctcp",
    summary: "one-sided DCTCP receiver: DCTCP's echo, but a segment with CWR is delayed as usual",
    spec: "ODCTCP thesis §5.2",
    params: &[FLIP],
    build,
};

fn build(values: &Values, setup: &AckSetup) -> Box<dyn AckPolicy> {
    Box::new(Odctcp { ce_state: CeState::new(values, setup) })
}

#[derive(Debug)]
struct Odctcp {
    ce_state: CeState,
}

impl AckPolicy for Odctcp {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        if self.ce_state.update(rx) && !rx.cwr {
            return self.ce_state.action(rx);
        }
        self.ce_state.delayed.on_data(rx)
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.ce_state.delayed.on_ack_sent();
    }

    fn echo(&self) -> bool {
        self.ce_state.echo()
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;

    const TIMER: Duration = Duration::from_ms(40);

    fn policy(flip: &'static str) -> Box<dyn AckPolicy> {
        let values = Values::parse(ENTRY.params, &[("flip", flip)]).unwrap();
        build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true })
    }

    fn data(ce: bool, cwr: bool, ack_pending: bool) -> RxSample {
        RxSample {
            now: Instant::ZERO,
            in_order: true,
            duplicate: false,
            segments: 1,
            payload: 1000,
            ect: true,
            ce,
            cwr,
            ack_pending,
            prior_rcv_nxt: 7000,
        }
    }

    #[test]
    fn a_flip_is_answered_by_its_rule_and_not_on_a_segment_with_cwr() {
        for (flip, pending) in
            [("split", AckAction::SplitAt { prior_rcv_nxt: 7000 }), ("new-echo", AckAction::Now)]
        {
            let mut p = policy(flip);
            assert_eq!(p.on_data(&data(false, false, false)), AckAction::Delay(TIMER));
            assert_eq!(p.on_data(&data(true, false, true)), pending, "{flip}");
            p.on_ack_sent(Instant::ZERO);
            assert_eq!(p.on_data(&data(false, true, false)), AckAction::Delay(TIMER), "{flip}");
            assert!(!p.echo(), "{flip}: the state follows all the same");
            // The next segment completes the pair.
            assert_eq!(p.on_data(&data(false, false, true)), AckAction::Now, "{flip}");
            p.on_ack_sent(Instant::ZERO);
            assert_eq!(p.on_data(&data(true, false, false)), AckAction::Now, "{flip}");
        }
    }

    #[test]
    fn cwr_as_the_second_segment_is_acknowledged_as_usual_too() {
        let mut p = policy("split");
        let _ = p.on_data(&data(true, false, false));
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(true, false, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(false, true, true)), AckAction::Now);
        assert!(!p.echo(), "one ACK for both, with the echo of the later one");
    }

    #[test]
    fn a_mark_on_the_segment_with_cwr_waits_too() {
        let mut p = policy("split");
        assert_eq!(p.on_data(&data(true, true, false)), AckAction::Delay(TIMER));
        assert!(p.echo());
    }
}
