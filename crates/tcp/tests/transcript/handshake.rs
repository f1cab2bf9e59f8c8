//! Opening: RFC 9293 §3.5 and §3.10.7, RFC 6298 §5, RFC 7323 §2, and what a hostile SYN can do.

use lowtide_tcp::{Config, Event, State};
use lowtide_units::Bytes;

use crate::common::{Fate, Origin, Pair, Script, Side, everywhere, ms, plain};

/// What everybody offers today.
fn modern() -> Config {
    Config { timestamps: true, window_scaling: true, sack: true, ..plain() }
}

#[test]
fn rfc9293_3_5_active_open() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) win 65535 <mss 1000>
             is state SynSent
             +10ms < S. 0:0(0) ack 1 win 5000 <mss 1460>
             > . 1:1(0) ack 1
             is state Established
             is wnd 5000
             is srtt 10ms
             event established
             event none
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_5_passive_open() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:0(0) win 7000 <mss 1460>").run(
            "> S. 0:0(0) ack 1 win 65535 <mss 1000>
             is state SynReceived
             event none
             +20ms < . 1:1(0) ack 1 win 6000
             is state Established
             is wnd 6000
             is srtt 20ms
             event established
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_5_data_and_fin_on_the_last_ack_of_the_handshake() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +5ms < FP. 1:301(300) ack 1
             > . 1:1(0) ack 302
             is state CloseWait
             event established
             event readable 300
             event peer-closed",
        );
    });
}

#[test]
fn rfc9293_3_5_data_given_before_the_handshake_leaves_with_its_ack() {
    everywhere(|o| {
        let mut t = Script::active(o, &plain());
        t.run(
            "> S 0:0(0) <mss 1000>
             send 400
             +5ms < S. 0:0(0) ack 1 <mss 1460>
             > P. 1:401(400) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_10_7_2_payload_on_a_syn_is_not_taken() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:100(100) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +5ms < P. 1:101(100) ack 1
             > . 1:1(0) ack 101",
        );
    });
}

#[test]
fn rfc9293_3_5_figure_7_simultaneous_open() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             +20ms < S 0:0(0) win 3000 <mss 700>
             > S. 0:0(0) ack 1 win 65535 <mss 1000>
             is state SynReceived
             event none
             // Not acceptable by its sequence number, so it is answered (§3.10.7.4, first check);
             // its ACK counts all the same.
             +20ms < S. 0:0(0) ack 1 win 4000 <mss 700>
             > . 1:1(0) ack 1
             is state Established
             is wnd 4000
             is mss 700
             // It may acknowledge the SYN or the SYN-ACK: no sample (RFC 6298 §3).
             is srtt none
             event established
             is timer none",
        );
    });
}

#[test]
fn rfc7323_2_2_the_window_of_the_syn_ack_of_a_simultaneous_open_is_not_scaled() {
    everywhere(|o| {
        let config = Config { window_scaling: true, ..plain() };
        Script::active(o, &config).run(
            "> S 0:0(0) <mss 1000,wscale 6>
             +20ms < S 0:0(0) win 3000 <mss 700,wscale 3>
             > S. 0:0(0) ack 1 <mss 1000,wscale 6>
             +20ms < S. 0:0(0) ack 1 win 4000 <mss 700,wscale 3>
             > . 1:1(0) ack 1
             is wnd 4000
             < . 1:1(0) ack 1 win 4000
             is wnd 32000",
        );
    });
}

#[test]
fn rfc9293_3_5_simultaneous_open_ends_with_any_ack() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             +20ms < S 0:0(0) <mss 700>
             > S. 0:0(0) ack 1 <mss 1000>
             +20ms < . 1:1(0) ack 1
             is state Established",
        );
    });
}

#[test]
fn rfc9293_3_5_simultaneous_open_of_two_with_losses() {
    // Nothing lost; A's SYN-ACK lost; both lost; A's SYN lost, so that B never opens simultaneously.
    let cases: [fn(Side, usize) -> bool; 4] = [
        |_, _| false,
        |from, index| from == Side::A && index == 1,
        |_, index| index == 1,
        |from, index| from == Side::A && index == 0,
    ];
    everywhere(|o| {
        for (case, lost) in cases.iter().enumerate() {
            let mut pair = Pair::simultaneous(o, &modern(), &modern(), ms(10));
            let lost = *lost;
            pair.link(move |t| if lost(t.from, t.index) { Fate::Drop } else { Fate::Pass });
            pair.a.send(5_000);
            pair.conn(Side::B).send(3_000);
            pair.run_until(ms(5_000), |p| {
                p.a.acked_upto() == 5_000 && p.b.as_ref().is_some_and(|b| b.acked_upto() == 3_000)
            });
            for side in [Side::A, Side::B] {
                let info = pair.conn(side).info();
                assert_eq!(info.state, State::Established, "case {case}");
                assert_eq!(info.mss, 988, "timestamps agreed");
                let established =
                    pair.events.iter().filter(|e| **e == (side, Event::Established)).count();
                assert_eq!(established, 1, "case {case}");
            }
        }
    });
}

#[test]
fn rfc6298_5_syn_backs_off_and_gives_up() {
    everywhere(|o| {
        let config = Config { syn_retries: 3, ..plain() };
        Script::active(o, &config).run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +4s > S 0:0(0) <mss 1000>
             +8s is state Closed
             event timed-out
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_syn_ack_backs_off_and_gives_up() {
    everywhere(|o| {
        let config = Config { syn_retries: 2, ..plain() };
        Script::passive(o, &config, "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +1s > S. 0:0(0) ack 1 <mss 1000>
             +2s > S. 0:0(0) ack 1 <mss 1000>
             +4s is state Closed
             event timed-out
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_7_a_lost_syn_means_three_seconds_and_one_segment() {
    everywhere(|o| {
        let mut t = Script::active(o, &plain());
        t.run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +10ms < S. 0:0(0) ack 1 <mss 1460>
             > . 1:1(0) ack 1
             is srtt none
             is rto 3s
             is cwnd 1000
             send 5000
             > . 1:1001(1000) ack 1
             is timer 3s",
        );
    });
}

#[test]
fn rfc5681_3_1_a_repeated_syn_means_a_lost_syn_ack() {
    everywhere(|o| {
        let mut t = Script::passive(o, &plain(), "S 0:0(0) <mss 1460>");
        t.run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +600ms < S 0:0(0) <mss 1460> -> BadHandshake
             > S. 0:0(0) ack 1 <mss 1000>
             // Which SYN-ACK it answers nobody knows (Karn): no sample.
             +100ms < . 1:1(0) ack 1
             is srtt none
             is cwnd 1000
             is rto 3s",
        );
    });
}

#[test]
fn rfc9293_3_10_7_3_refused() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             +10ms < R. 0:0(0) ack 1
             is state Closed
             event refused
             is timer none",
        );
    });
}

#[test]
fn rfc9293_3_10_7_3_a_reset_without_the_right_ack_is_ignored_in_syn_sent() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             < R 0:0(0) -> BadReset
             < R. 0:0(0) ack 0 -> AckOfUnsent
             < R. 0:0(0) ack 2 -> AckOfUnsent
             is state SynSent
             < S. 0:0(0) ack 1
             > . 1:1(0) ack 1",
        );
    });
}

#[test]
fn rfc9293_3_10_7_3_a_bad_ack_in_syn_sent_is_reset() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             < . 1:1(0) ack 100 -> AckOfUnsent
             > R 100:100(0)
             < S. 0:0(0) ack 0 -> AckOfUnsent
             > R 0:0(0)
             // A bare ACK that fits does not open anything.
             < . 1:1(0) ack 1 -> BadHandshake
             is state SynSent
             +1s > S 0:0(0) <mss 1000>",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_bad_ack_in_syn_received_is_reset() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             < . 1:1(0) ack 0 -> AckOfUnsent
             > R 0:0(0)
             < . 1:1(0) ack 2 -> AckOfUnsent
             > R 2:2(0)
             < P. 1:11(10) ack 77 -> AckOfUnsent
             > R 77:77(0)
             is state SynReceived
             < - 1:1(0) -> NoAck
             < . 1:1(0) ack 1
             is state Established
             is received 0",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_what_lies_outside_the_window_is_answered_in_syn_received() {
    everywhere(|o| {
        let config = Config { window_scaling: true, ..plain() };
        Script::passive(o, &config, "S 0:0(0) <mss 1460,wscale 0>").run(
            "> S. 0:0(0) ack 1 <mss 1000,wscale 6>
             < . 100000:100001(1) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1 win 62500 // scaled, since the SYN-ACK agreed on that
             < R 5000000:5000000(0) -> OutOfWindow
             is state SynReceived
             < R 1:1(0)
             is state Closed
             event refused",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_new_syn_in_the_window_is_challenged() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             < S 50:50(0) <mss 1460> -> UnexpectedSyn
             > . 1:1(0) ack 1
             < . 1:1(0) ack 1
             is state Established
             < S 50:50(0) <mss 1460> -> UnexpectedSyn
             > . 1:1(0) ack 1
             is state Established",
        );
    });
}

#[test]
fn rfc9293_3_5_1_a_lost_last_ack_is_repeated_for_a_repeated_syn_ack() {
    everywhere(|o| {
        Script::established(o, &plain()).run(
            "+1s < S. 0:0(0) ack 1 <mss 1460> -> UnexpectedSyn
             > . 1:1(0) ack 1
             is state Established",
        );
    });
}

#[test]
fn rfc9293_3_10_4_close_in_syn_sent() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             close
             is state Closed
             event closed
             is timer none
             < S. 0:0(0) ack 1 -> Closed",
        );
    });
}

#[test]
fn rfc9293_3_10_4_close_in_syn_received_waits_for_established() {
    everywhere(|o| {
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             send 100
             close
             is state SynReceived
             +10ms < . 1:1(0) ack 1
             > FP. 1:101(100) ack 1
             is state FinWait1
             < . 1:1(0) ack 102
             is state FinWait2",
        );
    });
}

#[test]
fn rfc9293_3_10_5_abort_before_established() {
    everywhere(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             abort
             is state Closed
             event aborted",
        );
        Script::passive(o, &plain(), "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             abort
             > R 1:1(0)
             is state Closed
             event aborted
             is timer none",
        );
    });
}

#[test]
fn rfc7323_options_are_answered_only_when_offered_and_wanted() {
    everywhere(|o| {
        // Offered, and the passive side takes up each subset that the peer offers.
        for (offer, answer, mss) in [
            ("", "mss 1000", 536),
            ("mss 1460", "mss 1000", 1000),
            ("mss 1460,sackOK", "mss 1000,sackOK", 1000),
            ("mss 1460,wscale 5", "mss 1000,wscale 6", 1000),
            ("mss 1460,TS val 0 ecr 0", "mss 1000,TS val 0 ecr 0", 988),
            (
                "mss 1460,sackOK,wscale 5,TS val 0 ecr 0",
                "mss 1000,sackOK,wscale 6,TS val 0 ecr 0",
                988,
            ),
        ] {
            let mut t = Script::passive(o, &modern(), &format!("S 0:0(0) win 100 <{offer}>"));
            t.timestamps = offer.contains("TS");
            t.run(&format!(
                "> S. 0:0(0) ack 1 <{answer}>
                 +1ms < . 1:1(0) ack 1 win 100
                 is mss {mss}"
            ));
            let wnd = if offer.contains("wscale") { 3200 } else { 100 };
            t.run(&format!("is wnd {wnd}"));
            // Not wanted: nothing is answered whatever was offered.
            let mut t = Script::passive(o, &plain(), &format!("S 0:0(0) win 100 <{offer}>"));
            t.run("> S. 0:0(0) ack 1 <mss 1000,nots>");
        }
    });
}

#[test]
fn rfc7323_2_2_an_active_open_offers_what_it_wishes_and_uses_what_is_agreed() {
    everywhere(|o| {
        for (answer, mss, wnd) in [
            ("mss 1460", 1000, 100),
            ("mss 1460,wscale 5", 1000, 3200),
            ("mss 1460,TS val 9 ecr 0", 988, 100),
            ("mss 600", 600, 100),
        ] {
            let mut t = Script::active(o, &modern());
            t.timestamps = answer.contains("TS");
            t.run(&format!(
                "> S 0:0(0) win 65535 <mss 1000,sackOK,wscale 6,TS val 0 ecr 0>
                 +10ms < S. 0:0(0) ack 1 win 100 <{answer}>
                 > . 1:1(0) ack 1
                 is mss {mss}
                 is wnd 100
                 < . 1:1(0) ack 1 win 100
                 is wnd {wnd}"
            ));
        }
    });
}

#[test]
fn rfc7323_2_3_a_shift_above_14_counts_as_14() {
    everywhere(|o| {
        let config = Config { window_scaling: true, ..plain() };
        Script::opened(o, &config, "S. 0:0(0) ack 1 win 1 <mss 1460,wscale 200>").run(
            "< . 1:1(0) ack 1 win 3
             is wnd 49152",
        );
    });
}

#[test]
fn rfc7323_2_3_the_shift_fits_the_buffer_and_ends_at_14() {
    everywhere(|o| {
        for (buffer, shift, field) in [
            (65_535, 0, 65_535),
            (65_536, 1, 32_767),
            (4_000_000, 6, 62_500),
            (4_000_000_000, 14, 65_535),
        ] {
            let config =
                Config { window_scaling: true, receive_buffer: Bytes::new(buffer), ..plain() };
            let mut t = Script::active(o, &config);
            t.run(&format!(
                "> S 0:0(0) <mss 1000,wscale {shift}>
                 +1ms < S. 0:0(0) ack 1 <mss 1460,wscale 0>
                 > . 1:1(0) ack 1 win {field}"
            ));
        }
    });
}

#[test]
fn rfc9293_3_7_1_mss_default_and_hostile_values() {
    everywhere(|o| {
        for (option, mss) in [
            ("<nots>", 536),
            ("<mss 65535>", 1000),
            ("<mss 100>", 100),
            // Segments must keep some payload whatever the peer says.
            ("<mss 1>", 28),
            ("<mss 0>", 28),
        ] {
            let mut t = Script::passive(o, &plain(), &format!("S 0:0(0) {option}"));
            t.run(&format!(
                "> S. 0:0(0) ack 1 <mss 1000>
                 +1ms < . 1:1(0) ack 1
                 is mss {mss}
                 send {mss}
                 > P. 1:{}({mss}) ack 1",
                mss + 1
            ));
        }
        let config = Config { timestamps: true, ..plain() };
        let mut t = Script::opened(o, &config, "S. 0:0(0) ack 1 <mss 20,TS val 0 ecr 0>");
        t.run("is mss 16");
    });
}

#[test]
fn rfc5681_3_1_both_ends_of_a_lossy_handshake_agree() {
    // Each of the three packets of the handshake is lost once.
    for lost in 0..3 {
        everywhere(|o: Origin| {
            let mut pair = Pair::new(o, &modern(), &modern(), ms(10));
            let mut seen = 0;
            pair.link(move |_| {
                seen += 1;
                if seen == lost + 1 { Fate::Drop } else { Fate::Pass }
            });
            pair.run_until(ms(10_000), |p| p.b.is_some());
            pair.conn(Side::B).send(20_000);
            pair.run_until(ms(10_000), |p| p.b.as_ref().is_some_and(|b| b.acked_upto() == 20_000));
            assert_eq!(pair.a.info().state, State::Established);
        });
    }
}
