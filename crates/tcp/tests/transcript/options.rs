//! Negotiation by SYN and SYN-ACK: MSS, window scale, timestamps, SACK (RFC 9293 §3.7.1, RFC 7323
//! §2, RFC 2018 §2), and the effects of a hostile SYN.

use lowtide_tcp::Config;
use lowtide_units::Bytes;

use crate::common::{Script, at_every_origin, modern, plain};

#[test]
fn rfc7323_options_are_answered_only_when_offered_and_wanted() {
    at_every_origin(|o| {
        // Offered, and the passive end accepts each subset that the peer offers.
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
            // Not configured: nothing is accepted, for any offer.
            let mut t = Script::passive(o, &plain(), &format!("S 0:0(0) win 100 <{offer}>"));
            t.run("> S. 0:0(0) ack 1 <mss 1000,nots>");
        }
    });
}

#[test]
fn rfc7323_2_2_an_active_open_uses_the_negotiated_options() {
    at_every_origin(|o| {
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
    at_every_origin(|o| {
        let config = Config { window_scaling: true, ..plain() };
        Script::opened(o, &config, "S. 0:0(0) ack 1 win 1 <mss 1460,wscale 200>").run(
            "< . 1:1(0) ack 1 win 3
             is wnd 49152",
        );
    });
}

#[test]
fn rfc7323_2_3_the_shift_fits_the_buffer_and_ends_at_14() {
    at_every_origin(|o| {
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
    at_every_origin(|o| {
        for (option, mss) in [
            ("<nots>", 536),
            ("<mss 65535>", 1000),
            ("<mss 100>", 100),
            // The peer must not choose the number of segments in a window (`min-mss`).
            ("<mss 1>", 48),
            ("<mss 0>", 48),
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
        t.run("is mss 36");
    });
}
