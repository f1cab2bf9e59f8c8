//! The standard ECN receiver: echo CE until the sender says CWR.
//!
//! ## What it does
//! Sets ECE on every ACK from the first CE until a segment with CWR arrives; delays ACKs as usual.
//!
//! ## Spec
//! RFC 3168 §6.1.3; RFC 5681 §4.2 for the delay.
//!
//! ## Deviations
//! A segment with both CWR and CE clears the latch and sets it again (erratum 3639). CE on a duplicate
//! is ignored: §6.1.5 asks for that on packets outside the window, to which old data belongs.
//!
//! ## Kernel twin
//! `tcp_ecn_check_ce` in Linux, which besides acknowledges the next two segments at once.

use alloc::boxed::Box;

use lowtide_units::Instant;

use super::{AckAction, AckPolicy, DelayedAck, Entry, RxSample, Setup};
use crate::params::Params;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "rfc3168",
    summary: "standard ECN receiver: ECE from CE until CWR, delayed ACKs",
    spec: "RFC 3168 §6.1.3",
    params: &[],
    build,
};

fn build(_: &Params, setup: &Setup) -> Box<dyn AckPolicy> {
    Box::new(Rfc3168 { delayed: DelayedAck::new(setup), ecn: setup.ecn, ece: false })
}

/// The latch.
#[derive(Debug)]
struct Rfc3168 {
    delayed: DelayedAck,
    ecn: bool,
    ece: bool,
}

impl AckPolicy for Rfc3168 {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        // CWR before CE: a segment may carry both (RFC 3168 erratum 3639).
        if rx.cwr {
            self.ece = false;
        }
        if rx.ce && !rx.duplicate && self.ecn {
            self.ece = true;
        }
        self.delayed.on_data(rx)
    }
    fn on_ack_sent(&mut self, _now: Instant) {
        self.delayed.on_ack_sent();
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
        build(&Params::new(), &Setup { segments: 2, timer: TIMER, mss: 1000, ecn })
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
            rcv_nxt_before: 0,
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
    fn marks_do_not_hasten_acknowledgements() {
        let mut p = policy(true);
        assert_eq!(p.on_data(&data(true, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(false, false)), AckAction::Now);
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(true, true)), AckAction::Delay(TIMER));
        // Receive aggregation: one call stands for several segments.
        let merged = RxSample { segments: 3, ..data(false, false) };
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&merged), AckAction::Now);
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
