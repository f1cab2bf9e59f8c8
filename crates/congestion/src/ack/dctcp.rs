//! The DCTCP receiver: an echo that changes with the marks, exact to the segment.
//!
//! ## Algorithm
//! Keeps one bit, the CE state of the last ECN-capable data segment, and echoes it. If the bit
//! changes while an ACK is delayed, the delayed segments are acknowledged first, with the old echo,
//! then all with the new one. With no ACK pending the change is acknowledged at once. Otherwise
//! ACKs are delayed as usual, so a run of marks costs no additional ACKs.
//!
//! ## Spec
//! RFC 8257 §3.2; the DCTCP paper (SIGCOMM 2010) §3.1 and figure 10 for the ACK with the old echo.
//!
//! ## Deviations
//! RFC 8257 §3.2 requires one immediate ACK at a change and leaves the split open: with the split
//! no segment is reported under the wrong bit. Figure 10 has one ACK with the old echo, after which
//! the segment that changed the bit waits for its m-th: `flip = "old-echo"`. It is as exact, and a
//! window of one segment waits for the timer at a change, too. `flip = "new-echo"` sends one ACK,
//! which covers a waiting segment under the wrong bit; the sender's decoder `freebsd` corrects for
//! it. `flip = "when-waiting"` acknowledges at once only if a segment waits. Otherwise the ACK of
//! the next change may cover this one, and a single mark is not reported. A segment that is not
//! ECN-capable says nothing about the queue and leaves the bit unchanged. So does a duplicate (RFC
//! 3168 §6.1.5 ignores CE on packets outside the window). CWR does not affect the echo; `cwr-ack`
//! decides whether it causes an immediate ACK.
//!
//! ## Kernel twin
//! `tcp_dctcp.c` with the code of `tcp_dctcp.h` for changes in Linux 6.18: same states, same split.
//! `cc_dctcp.c` in FreeBSD 15 with `flip = "new-echo"`, in FreeBSD 11 with `"when-waiting"`.

use alloc::boxed::Box;

use lowtide_schema::Values;
use lowtide_units::Instant;

use super::{
    AckAction, AckPolicy, AckPolicyEntry, AckSetup, CWR_ACK, CeState, FLIP, RxSample,
    acks_cwr_at_once, expedite,
};

/// Registration.
pub static ENTRY: AckPolicyEntry = AckPolicyEntry {
    name: "dctcp",
    summary: "DCTCP receiver: ECE is the CE of the last segment, a flip is acknowledged at once",
    spec: "RFC 8257 §3.2",
    params: &[FLIP, CWR_ACK],
    build,
};

fn build(values: &Values, setup: &AckSetup) -> Box<dyn AckPolicy> {
    let flips = CeState::new(values, setup);
    Box::new(Dctcp { ce_state: flips, acks_cwr_at_once: acks_cwr_at_once(values) })
}

#[derive(Debug)]
struct Dctcp {
    ce_state: CeState,
    acks_cwr_at_once: bool,
}

impl AckPolicy for Dctcp {
    fn on_data(&mut self, rx: &RxSample) -> AckAction {
        let action = if self.ce_state.update(rx) {
            self.ce_state.action(rx)
        } else {
            self.ce_state.delayed.on_data(rx)
        };
        expedite(action, rx, self.acks_cwr_at_once)
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

    fn policy(segments: u32) -> Box<dyn AckPolicy> {
        build(
            &Values::parse(ENTRY.params, &[]).unwrap(),
            &AckSetup { segments, timer: TIMER, mss: 1000, ecn: true },
        )
    }

    fn data(ce: bool, ack_pending: bool) -> RxSample {
        RxSample {
            now: Instant::ZERO,
            in_order: true,
            duplicate: false,
            segments: 1,
            payload: 1000,
            ect: true,
            ce,
            cwr: false,
            ack_pending,
            prior_rcv_nxt: 7000,
        }
    }

    #[test]
    fn a_flip_with_an_ack_pending_splits_and_without_one_acknowledges_at_once() {
        let mut p = policy(2);
        assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(true, true)), AckAction::SplitAt { prior_rcv_nxt: 7000 });
        assert!(p.echo());
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(false, false)), AckAction::Now);
        assert!(!p.echo());
    }

    #[test]
    fn with_one_ack_at_a_flip_waiting_data_gets_the_new_echo() {
        let values = Values::parse(ENTRY.params, &[("flip", "new-echo")]).unwrap();
        let mut p = build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
        assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(true, true)), AckAction::Now);
        assert!(p.echo());
    }

    fn with_flip(flip: &str, segments: u32) -> Box<dyn AckPolicy> {
        let values = Values::parse(ENTRY.params, &[("flip", flip)]).unwrap();
        build(&values, &AckSetup { segments, timer: TIMER, mss: 1000, ecn: true })
    }

    #[test]
    fn old_echo_acknowledges_waiting_data_only_and_the_change_waits_for_its_m() {
        let mut p = with_flip("old-echo", 2);
        assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER));
        let old = AckAction::OldEcho { prior_rcv_nxt: 7000, wait: TIMER };
        assert_eq!(p.on_data(&data(true, true)), old);
        assert!(p.echo(), "the next ACK has the new echo");
        assert_eq!(p.on_data(&data(true, true)), AckAction::Now, "the second of its state");
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER), "nothing waits");
        assert_eq!(with_flip("old-echo", 1).on_data(&data(true, false)), AckAction::Now, "m = 1");
        // A segment that is due at once, by receive aggregation or by CWR, takes its own ACK.
        let mut p = with_flip("old-echo", 2);
        let _ = p.on_data(&data(false, false));
        let two = RxSample { segments: 2, ..data(true, true) };
        assert_eq!(p.on_data(&two), AckAction::SplitAt { prior_rcv_nxt: 7000 });
        let given = [("flip", "old-echo"), ("cwr-ack", "at-once")];
        let values = Values::parse(ENTRY.params, &given).unwrap();
        let mut p = build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
        let _ = p.on_data(&data(false, false));
        let cwr = RxSample { cwr: true, ..data(true, true) };
        assert_eq!(p.on_data(&cwr), AckAction::SplitAt { prior_rcv_nxt: 7000 });
    }

    #[test]
    fn an_unknown_rule_for_a_flip_is_rejected() {
        let error = Values::parse(ENTRY.params, &[("flip", "new")]).unwrap_err();
        let text = std::format!("{error:?} {error}");
        assert!(text.contains("old-echo"), "{text}");
    }

    #[test]
    fn when_waiting_delays_the_ack_of_a_flip_with_none_pending() {
        let values = Values::parse(ENTRY.params, &[("flip", "when-waiting")]).unwrap();
        let mut p = build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
        assert_eq!(p.on_data(&data(true, false)), AckAction::Delay(TIMER));
        assert!(p.echo());
        assert_eq!(p.on_data(&data(false, true)), AckAction::Now);
        assert!(!p.echo(), "one ACK without ECE covers the mark");
    }

    #[test]
    fn cwr_causes_an_immediate_ack_if_configured() {
        for (set, action) in [("as-usual", AckAction::Delay(TIMER)), ("at-once", AckAction::Now)] {
            let values = Values::parse(ENTRY.params, &[("cwr-ack", set)]).unwrap();
            let mut p =
                build(&values, &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: true });
            assert_eq!(p.on_data(&RxSample { cwr: true, ..data(false, false) }), action, "{set}");
            p.on_ack_sent(Instant::ZERO);
            assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER), "no CWR");
            p.on_ack_sent(Instant::ZERO);
            // A FIN alone has no data for whose ACK the sender waits.
            let fin = RxSample { cwr: true, payload: 0, ..data(false, false) };
            assert_eq!(p.on_data(&fin), AckAction::Delay(TIMER));
        }
    }

    #[test]
    fn a_run_of_marks_is_acknowledged_every_m_segments() {
        for m in [1, 2, 4] {
            let mut p = policy(m);
            assert_eq!(p.on_data(&data(true, false)), AckAction::Now);
            p.on_ack_sent(Instant::ZERO);
            for i in 1..=12 {
                let action = p.on_data(&data(true, true));
                assert!(p.echo());
                if i % m == 0 {
                    assert_eq!(action, AckAction::Now, "segment {i}, m {m}");
                    p.on_ack_sent(Instant::ZERO);
                } else {
                    assert_eq!(action, AckAction::Delay(TIMER), "segment {i}, m {m}");
                }
            }
        }
    }

    #[test]
    fn pitfall_3_with_a_window_of_one_no_flip_waits_for_the_timer() {
        // The sender waits for each ACK: alternating segments are never delayed.
        let mut p = policy(2);
        for i in 0..20 {
            assert_eq!(p.on_data(&data(i % 2 == 0, false)), AckAction::Now);
            p.on_ack_sent(Instant::ZERO);
        }
        // The segment after a split starts a new count: the split has acknowledged all before it.
        assert_eq!(p.on_data(&data(false, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(true, true)), AckAction::SplitAt { prior_rcv_nxt: 7000 });
        p.on_ack_sent(Instant::ZERO);
        p.on_ack_sent(Instant::ZERO);
        assert_eq!(p.on_data(&data(true, false)), AckAction::Delay(TIMER));
        assert_eq!(p.on_data(&data(true, true)), AckAction::Now);
    }

    #[test]
    fn segments_that_are_not_ecn_capable_leave_the_state_alone() {
        let mut p = policy(2);
        let _ = p.on_data(&data(true, false));
        p.on_ack_sent(Instant::ZERO);
        let plain = RxSample { ect: false, ..data(false, false) };
        assert_eq!(p.on_data(&plain), AckAction::Delay(TIMER));
        assert!(p.echo());
    }

    #[test]
    fn cwr_does_not_change_the_echo() {
        let mut p = policy(2);
        let _ = p.on_data(&data(true, false));
        p.on_ack_sent(Instant::ZERO);
        let _ = p.on_data(&RxSample { cwr: true, ..data(true, false) });
        assert!(p.echo());
    }

    #[test]
    fn pitfall_10_ce_on_a_duplicate_changes_nothing() {
        let mut p = policy(2);
        let duplicate = RxSample { duplicate: true, in_order: false, ..data(true, false) };
        assert_eq!(p.on_data(&duplicate), AckAction::Delay(TIMER));
        assert!(!p.echo());
    }

    #[test]
    fn without_ecn_agreed_there_is_no_echo() {
        let mut p = build(
            &Values::parse(ENTRY.params, &[]).unwrap(),
            &AckSetup { segments: 2, timer: TIMER, mss: 1000, ecn: false },
        );
        assert_eq!(p.on_data(&data(true, false)), AckAction::Delay(TIMER));
        assert!(!p.echo());
    }
}
