//! Segments of a blind attacker (RFC 5961), and the switches that decide their effect. The tests
//! with a switch off show the attacker's gain.

use lowtide_tcp::{AckAccept, AckThrottle, Config, RstAccept, SynAnswer, TimeWaitReset};
use lowtide_units::Duration;

use crate::common::{Script, at_every_origin, ms, plain};

/// Our advertised window is 65535 B from 1 on.
#[test]
fn rfc5961_3_2_a_reset_in_the_window_but_not_at_rcv_nxt_is_challenged() {
    at_every_origin(|o| {
        for at in [2, 1000, 32_768, 65_535] {
            Script::established(o, &plain()).run(&format!(
                "event established
                 < R {at}:{at}(0) -> BadReset
                 > . 1:1(0) ack 1
                 is state Established
                 is challenges 1
                 event none
                 // A peer that saw the challenge knows the number.
                 < R 1:1(0)
                 is state Closed
                 event reset"
            ));
        }
    });
}

#[test]
fn rfc5961_3_2_a_reset_outside_the_window_is_dropped_in_silence() {
    at_every_origin(|o| {
        for at in [0, -1, 65_537, 2_000_000_000, -2_000_000_000] {
            Script::established(o, &plain()).run(&format!(
                "< R {at}:{at}(0) -> OutOfWindow
                 < R. {at}:{at}(0) ack 1 -> OutOfWindow
                 is state Established
                 is challenges 0"
            ));
        }
    });
}

/// The peer aborts, and its last data was lost: its RST is beyond the hole. The challenge elicits
/// the exact one.
#[test]
fn rfc5961_3_2_an_honest_reset_behind_a_hole_needs_a_second_one() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "event established
             < R 1001:1001(0) -> BadReset
             > . 1:1(0) ack 1
             < R 1:1(0)
             event reset",
        );
    });
}

#[test]
fn rfc5961_3_2_resets_in_every_state_after_the_syn() {
    at_every_origin(|o| {
        for (steps, una, rcv) in [
            ("close\n> F. 1:1(0) ack 1", 2, 1),
            ("close\n> F. 1:1(0) ack 1\n< . 1:1(0) ack 2", 2, 1),
            ("< F. 1:1(0) ack 1\n> . 1:1(0) ack 2", 1, 2),
            ("< F. 1:1(0) ack 1\n> . 1:1(0) ack 2\nclose\n> F. 1:1(0) ack 2", 2, 2),
        ] {
            let mut t = Script::established(o, &plain());
            t.run(steps);
            t.run(&format!(
                "< R {}:{}(0) -> BadReset
                 > . {una}:{una}(0) ack {rcv}",
                rcv + 1,
                rcv + 1
            ));
            t.run(&format!("< R {rcv}:{rcv}(0)\nis state Closed"));
        }
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             < R 2:2(0) -> BadReset
             > . 1:1(0) ack 1
             is state SynReceived
             < R 1:1(0)
             is state Closed
             event refused",
        );
    });
}

#[test]
fn rfc793_by_choice_any_reset_in_the_window_ends_the_connection() {
    at_every_origin(|o| {
        let config = Config { rst_accept: RstAccept::InWindow, ..plain() };
        Script::established(o, &config).run(
            "event established
             < R 65535:65535(0)
             is state Closed
             event reset",
        );
    });
}

#[test]
fn rfc5961_4_2_a_syn_is_challenged_at_any_sequence_number() {
    at_every_origin(|o| {
        for at in [1, 2, 60_000, 0, -1, 70_000, 2_000_000_000, -2_000_000_000] {
            for flags in ["S", "S.", "SEW"] {
                let ack = if flags == "S." { " ack 1" } else { "" };
                Script::established(o, &plain()).run(&format!(
                    "event established
                     < {flags} {at}:{at}(0){ack} <mss 1460> -> UnexpectedSyn
                     > . 1:1(0) ack 1
                     is state Established
                     is challenges 1
                     event none"
                ));
            }
        }
    });
}

/// PAWS is checked later: a host that restarted has other timestamps, or none.
#[test]
fn rfc5961_4_2_a_syn_is_challenged_with_any_timestamp() {
    at_every_origin(|o| {
        let config = Config { timestamps: true, ..plain() };
        Script::established(o, &config).run(
            "+1s < S 5000:5000(0) <mss 1460,nots> -> UnexpectedSyn
             > . 1:1(0) ack 1
             < S 5000:5000(0) <mss 1460,TS val -99999 ecr 0> -> UnexpectedSyn
             > . 1:1(0) ack 1",
        );
    });
}

/// A peer that restarted: its SYN elicits the challenge, which elicits a RST, which ends this end.
#[test]
fn rfc5961_4_2_a_half_open_connection_ends_by_the_answer_to_the_challenge() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.run("event established\nsend 100\n> P. 1:101(100) ack 1");
        t.run("< S -500000:-500000(0) <mss 1460> -> UnexpectedSyn\n> . 101:101(0) ack 1");
        t.run("< R 1:1(0)\nis state Closed\nevent reset\nis timer none");
    });
}

#[test]
fn rfc5961_4_2_a_syn_in_each_closing_state() {
    at_every_origin(|o| {
        for (steps, state, seq, ack) in [
            ("close\n> F. 1:1(0) ack 1", "FinWait1", 2, 1),
            ("close\n> F. 1:1(0) ack 1\n< . 1:1(0) ack 2", "FinWait2", 2, 1),
            ("< F. 1:1(0) ack 1\n> . 1:1(0) ack 2", "CloseWait", 1, 2),
            ("close\n> F. 1:1(0) ack 1\n< F. 1:1(0) ack 1\n> . 2:2(0) ack 2", "Closing", 2, 2),
            ("close\n> F. 1:1(0) ack 1\n< F. 1:1(0) ack 2\n> . 2:2(0) ack 2", "TimeWait", 2, 2),
        ] {
            let mut t = Script::established(o, &plain());
            t.run(steps);
            t.run(&format!(
                "is state {state}
                 < S 10:10(0) <mss 1460> -> UnexpectedSyn
                 > . {seq}:{seq}(0) ack {ack}
                 is state {state}"
            ));
        }
    });
}

#[test]
fn rfc793_by_choice_a_syn_in_the_window_resets() {
    at_every_origin(|o| {
        let config = Config { syn_answer: SynAnswer::Reset, ..plain() };
        Script::established(o, &config).run(
            "event established
             // Outside the window it is only answered.
             < S -5:-5(0) <mss 1460> -> OutOfWindow
             > . 1:1(0) ack 1
             < S 60000:60000(0) <mss 1460> -> UnexpectedSyn
             > R. 1:1(0) ack 1
             is state Closed
             event reset",
        );
    });
}

/// Blind data: a sequence number in the window is easy to guess, an acknowledgement number is not.
#[test]
fn rfc5961_5_2_data_with_an_old_acknowledgement_is_refused() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        t.window = 3000;
        t.run(
            "< . 1:1(0) ack 1
             send 3000
             > . 1:1001(1000) ack 1 * 3
             < . 1:1(0) ack 3001",
        );
        // The largest window was that of the SYN-ACK, 65535: an ACK this old may be in flight.
        t.run(
            "< P. 1:11(10) ack -62534
             > . 3001:3001(0) ack 11
             is received 10
             < P. 11:21(10) ack -62535 -> OldAck
             > . 3001:3001(0) ack 11
             < P. 11:21(10) ack -2000000000 -> OldAck
             > . 3001:3001(0) ack 11
             < P. 11:21(10) ack 3002 -> AckOfUnsent
             > . 3001:3001(0) ack 11
             is received 10
             is challenges 3
             < P. 11:21(10) ack 3001
             > . 3001:3001(0) ack 21",
        );
    });
}

/// A timestamp from the future would make PAWS reject the peer's own segments for 24 days.
#[test]
fn rfc5961_5_2_a_refused_segment_leaves_no_timestamp() {
    at_every_origin(|o| {
        let config = Config { timestamps: true, ..plain() };
        Script::established(o, &config).run(
            "+1s < P. 1:11(10) ack 2000000 <TS val 900000 ecr 0> -> AckOfUnsent
             > . 1:1(0) ack 1 <TS val 1010 ecr 10>
             < P. 1:11(10) ack -2000000 <TS val 900000 ecr 0> -> OldAck
             > . 1:1(0) ack 1 <TS val 1010 ecr 10>
             < R 5:5(0) <TS val 900000 ecr 0> -> BadReset
             > . 1:1(0) ack 1 <TS val 1010 ecr 10>
             < P. 1:11(10) ack 1
             > . 1:1(0) ack 11 <TS val 1010 ecr 1010>",
        );
    });
}

#[test]
fn linux_rejects_acknowledgements_of_unsent_data() {
    at_every_origin(|o| {
        let config = Config { ack_accept: AckAccept::SentWindow, ..plain() };
        Script::established(o, &config).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             < P. 1:11(10) ack 0 -> OldAck
             > . 1001:1001(0) ack 1
             // The oldest number that was ever valid: that of the SYN.
             < P. 1:11(10) ack 1
             > . 1001:1001(0) ack 11",
        );
    });
}

#[test]
fn rfc793_by_choice_data_needs_no_fresh_acknowledgement() {
    at_every_origin(|o| {
        let config = Config { ack_accept: AckAccept::Any, ..plain() };
        Script::established(o, &config).run(
            "< P. 1:11(10) ack -2000000000
             > . 1:1(0) ack 11
             is received 10
             < P. 11:21(10) ack 2 -> AckOfUnsent
             > . 1:1(0) ack 11",
        );
    });
}

/// SYN and RST together count as a RST, in the order of RFC 9293 §3.10.7.4; in TIME-WAIT a SYN
/// causes no reset.
#[test]
fn a_syn_with_a_reset_and_a_syn_in_time_wait() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "< SR 5:5(0) -> BadReset
             > . 1:1(0) ack 1
             < SR 1:1(0)
             is state Closed",
        );
        let config = Config { syn_answer: SynAnswer::Reset, ..plain() };
        Script::established(o, &config).run(
            "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             < S 60000:60000(0) <mss 1460> -> UnexpectedSyn
             > . 2:2(0) ack 2
             is state TimeWait",
        );
    });
}

#[test]
fn rfc5961_7_challenges_per_interval_are_limited() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &plain());
        for n in 0..10 {
            t.run(match n % 3 {
                0 => "+100ms < S 5:5(0) -> UnexpectedSyn\n> . 1:1(0) ack 1",
                1 => "+100ms < R 5:5(0) -> BadReset\n> . 1:1(0) ack 1",
                _ => "+100ms < . 1:1(0) ack 5 -> AckOfUnsent\n> . 1:1(0) ack 1",
            });
        }
        t.run(
            "+10ms < S 5:5(0) -> UnexpectedSyn
             < R 5:5(0) -> BadReset
             is challenges 10
             is throttled 2
             // Data, new and old, is still acknowledged.
             < P. 1:11(10) ack 1
             > . 1:1(0) ack 11
             < P. 1:11(10) ack 1 -> OutOfWindow
             > . 1:1(0) ack 11
             // The interval began at the first challenge.
             +4089ms < S 5:5(0) -> UnexpectedSyn
             +1ms < S 5:5(0) -> UnexpectedSyn
             > . 1:1(0) ack 11
             is challenges 11
             is throttled 3",
        );
    });
}

/// tcp_invalid_ratelimit: answers to empty segments outside the window count too, so that two hosts
/// cannot answer each other without end.
#[test]
fn linux_answers_one_stray_ack_in_500_ms_and_all_data() {
    at_every_origin(|o| {
        let config = Config {
            challenge_ack_limit: 1,
            challenge_ack_interval: ms(500),
            ack_throttle: AckThrottle::Empty,
            ..plain()
        };
        Script::established(o, &config).run(
            "< . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             +400ms < . 0:0(0) ack 1 -> OutOfWindow
             < S 5:5(0) -> UnexpectedSyn
             is throttled 2
             < . 80000:80010(10) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             +100ms < . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1",
        );
        // By RFC 5961 §7 alone they do not count.
        Script::established(o, &Config { ack_throttle: AckThrottle::Challenges, ..config }).run(
            "< . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             < . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             is challenges 0",
        );
    });
}

#[test]
fn no_limit_and_a_limit_of_zero() {
    at_every_origin(|o| {
        let config = Config { challenge_ack_limit: u32::MAX, ..plain() };
        let mut t = Script::established(o, &config);
        for _ in 0..100 {
            t.run("< R 5:5(0) -> BadReset\n> . 1:1(0) ack 1");
        }
        let config = Config { challenge_ack_limit: 0, ..plain() };
        Script::established(o, &config).run(
            "< R 5:5(0) -> BadReset
             +60min < R 5:5(0) -> BadReset
             is throttled 2",
        );
    });
}

#[test]
fn rfc1337_3_a_reset_in_time_wait() {
    at_every_origin(|o| {
        let steps = "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             is state TimeWait";
        for at in [2, 3, 60_000] {
            let mut t = Script::established(o, &plain());
            t.run(steps);
            t.run(&format!("< R {at}:{at}(0) -> BadReset\nis state TimeWait"));
        }
        let config = Config { time_wait_reset: TimeWaitReset::End, ..plain() };
        let mut t = Script::established(o, &config);
        t.run(steps);
        t.run("< R 3:3(0) -> BadReset\nis state TimeWait\n< R 2:2(0)\nis state Closed");
    });
}

/// Only the accepted FIN extends TIME-WAIT.
#[test]
fn rfc9293_3_10_7_4_a_made_up_fin_does_not_lengthen_time_wait() {
    at_every_origin(|o| {
        let config = Config { time_wait: Duration::from_secs(10), ..plain() };
        Script::established(o, &config).run(
            "close
             > F. 1:1(0) ack 1
             < F. 1:1(0) ack 2
             > . 2:2(0) ack 2
             +4s < F. 1:1(0) ack 2 -> OutOfWindow
             > . 2:2(0) ack 2
             is timer 10s
             +4s < F. -500:-500(0) ack 2 -> OutOfWindow
             > . 2:2(0) ack 2
             is timer 6s",
        );
    });
}
