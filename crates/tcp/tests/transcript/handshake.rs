//! Opening, and closing during the handshake: RFC 9293 §3.5, §3.10.

use lowtide_tcp::{Config, Event, State};

use crate::common::{LinkAction, Pair, Script, Side, at_every_origin, modern, ms, plain};

#[test]
fn rfc9293_3_5_active_open() {
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
        Script::passive(o, &plain(), "S 0:100(100) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +5ms < P. 1:101(100) ack 1
             > . 1:1(0) ack 101",
        );
    });
}

#[test]
fn rfc9293_3_5_figure_7_simultaneous_open() {
    at_every_origin(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             +20ms < S 0:0(0) win 3000 <mss 700>
             > S. 0:0(0) ack 1 win 65535 <mss 1000>
             is state SynReceived
             event none
             // Its sequence number is not acceptable, so it is answered (§3.10.7.4, first check);
             // its ACK still counts.
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    // No loss; A's SYN-ACK lost; both lost; A's SYN lost, so that B never opens simultaneously.
    let cases: [fn(Side, usize) -> bool; 4] = [
        |_, _| false,
        |from, index| from == Side::A && index == 1,
        |_, index| index == 1,
        |from, index| from == Side::A && index == 0,
    ];
    at_every_origin(|o| {
        for (case, lost) in cases.iter().enumerate() {
            let mut pair = Pair::simultaneous(o, &modern(), &modern(), ms(10));
            let lost = *lost;
            pair.link(
                move |t| if lost(t.from, t.index) { LinkAction::Drop } else { LinkAction::Pass },
            );
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
fn rfc9293_3_5_1_a_lost_last_ack_is_repeated_for_a_repeated_syn_ack() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "+1s < S. 0:0(0) ack 1 <mss 1460> -> UnexpectedSyn
             > . 1:1(0) ack 1
             is state Established",
        );
    });
}

#[test]
fn rfc9293_3_10_4_close_in_syn_sent() {
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
