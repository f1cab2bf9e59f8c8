//! Segments that do not fit the handshake: RFC 9293 §3.10.7.3 and §3.10.7.4.

use lowtide_tcp::Config;

use crate::common::{Script, at_every_origin, plain};

#[test]
fn rfc9293_3_10_7_3_refused() {
    at_every_origin(|o| {
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
    at_every_origin(|o| {
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
    at_every_origin(|o| {
        Script::active(o, &plain()).run(
            "> S 0:0(0) <mss 1000>
             < . 1:1(0) ack 100 -> AckOfUnsent
             > R 100:100(0)
             < S. 0:0(0) ack 0 -> AckOfUnsent
             > R 0:0(0)
             // A pure ACK that fits does not open the connection.
             < . 1:1(0) ack 1 -> BadHandshake
             is state SynSent
             +1s > S 0:0(0) <mss 1000>",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_bad_ack_in_syn_received_is_reset() {
    at_every_origin(|o| {
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
fn rfc9293_3_10_7_4_segments_outside_the_window_are_answered_in_syn_received() {
    at_every_origin(|o| {
        let config = Config { window_scaling: true, ..plain() };
        Script::passive(o, &config, "S 0:0(0) <mss 1460,wscale 0>").run(
            "> S. 0:0(0) ack 1 <mss 1000,wscale 6>
             < . 100000:100001(1) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1 win 62500 // scaled, since the SYN-ACK agreed on that
             // Empty segments that do not acknowledge our SYN are not answered: an end with another
             // connection would answer in turn, without limit.
             < . 5000000:5000000(0) ack 7 -> OutOfWindow
             < R 5000000:5000000(0) -> OutOfWindow
             < SR 0:0(0) -> OutOfWindow
             is state SynReceived
             < R 1:1(0)
             is state Closed
             event refused",
        );
    });
}

#[test]
fn rfc9293_3_10_7_4_a_new_syn_in_the_window_is_challenged() {
    at_every_origin(|o| {
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
fn rfc9293_3_10_7_4_a_keep_alive_is_answered_before_the_handshake_is_over() {
    at_every_origin(|o| {
        let mut t = Script::passive(o, &plain(), "S 0:0(0) win 65535 <mss 1460>");
        t.run(
            "> S. 0:0(0) ack 1 <mss 1000>
             // The last ACK of the handshake was lost, and the peer sends a keep-alive.
             +100ms < . 0:0(0) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1
             is state SynReceived
             +900ms > S. 0:0(0) ack 1 <mss 1000>
             < . 1:1(0) ack 1
             is state Established",
        );
    });
}
