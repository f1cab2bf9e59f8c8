//! The echo of CE: the latch of RFC 3168 §6.1.3, and the two states of RFC 8257 §3.2.

use lowtide_tcp::{Config, EcnNegotiation, switches};

use crate::common::{Origin, Script, at_every_origin, ms, plain};

fn latch() -> Config {
    Config { ecn: EcnNegotiation::Passive, ..plain() }
}

/// A DCTCP receiver that acknowledges every m-th segment.
fn dctcp(o: Origin, m: u32) -> Script {
    let config = Config {
        ecn: EcnNegotiation::Passive,
        ack: "dctcp",
        delack_segments: m,
        delack_timer: ms(40),
        ..plain()
    };
    Script::accepted(o, &config)
}

#[test]
fn rfc3168_6_1_3_ece_on_every_ack_until_cwr() {
    at_every_origin(|o| {
        Script::accepted(o, &latch()).run(
            "< [ect0] . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < [ce] . 1001:2001(1000) ack 1
             > E. 1:1(0) ack 2001
             < [ect0] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             // Also on data.
             send 100
             > EP. 1:101(100) ack 3001
             < [ect0] W. 3001:4001(1000) ack 101
             > . 101:101(0) ack 4001",
        );
    });
}

#[test]
fn rfc3168_erratum_3639_cwr_is_looked_at_before_ce() {
    at_every_origin(|o| {
        Script::accepted(o, &latch()).run(
            "< [ce] . 1:1001(1000) ack 1
             > E. 1:1(0) ack 1001
             < [ce] W. 1001:2001(1000) ack 1
             > E. 1:1(0) ack 2001
             < [ect0] W. 2001:3001(1000) ack 1
             > . 1:1(0) ack 3001",
        );
    });
}

#[test]
fn rfc3168_6_1_3_marks_do_not_release_delayed_acks() {
    at_every_origin(|o| {
        Script::accepted(o, &Config { delack_segments: 2, ..latch() }).run(
            "< [ce] . 1:1001(1000) ack 1
             < [ect0] . 1001:2001(1000) ack 1
             > E. 1:1(0) ack 2001",
        );
    });
}

#[test]
fn rfc3168_6_1_5_ce_on_control_packets_and_old_data_is_ignored() {
    at_every_origin(|o| {
        let lines = "< [ce] . 1:1(0) ack 1
             < [ect0] . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < [ce] . 1:1001(1000) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001
             < [ce] . 900001:901001(1000) ack 1 -> OutOfWindow
             > . 1:1(0) ack 1001
             < [ce] . 1001:1001(0) ack 1
             < [ect0] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001
             // Already held, beyond a hole.
             < [ect0] . 3001:4001(1000) ack 1
             > . 1:1(0) ack 2001
             < [ce] . 3001:4001(1000) ack 1
             > . 1:1(0) ack 2001
             < [ect0] . 2001:3001(1000) ack 1
             > . 1:1(0) ack 4001
             < [ce] F. 4001:4001(0) ack 1
             > . 1:1(0) ack 4002";
        Script::accepted(o, &latch()).run(lines);
        dctcp(o, 1).run(lines);
    });
}

#[test]
fn rfc8257_3_6_ce_on_a_syn_is_ignored() {
    at_every_origin(|o| {
        Script::passive(o, &latch(), "[ce] SEW 0:0(0) <mss 1460>").run(
            "> SE. 0:0(0) ack 1 <mss 1000>
             +1ms < . 1:1(0) ack 1
             < [ect0] . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001",
        );
    });
}

#[test]
fn rfc8257_3_2_a_flip_acknowledges_waiting_data_with_the_old_echo_first() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ect0] . 1:1001(1000) ack 1
             is timer 40ms
             // Clean to CE: nothing is lost, both ACKs are sent, the old echo first.
             < [ce] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1001
             > E. 1:1(0) ack 2001
             is timer none
             // The reverse change.
             < [ce] . 2001:3001(1000) ack 1
             < [ect0] . 3001:4001(1000) ack 1
             > E. 1:1(0) ack 3001
             > . 1:1(0) ack 4001
             is timer none",
        );
    });
}

#[test]
fn dctcp_figure_10_an_old_echo_leaves_the_segment_of_the_flip_waiting() {
    at_every_origin(|o| {
        let mut config = Config {
            ecn: EcnNegotiation::Passive,
            ack: "dctcp",
            delack_segments: 2,
            delack_timer: ms(40),
            ..plain()
        };
        switches::set_text(&mut config, "dctcp.flip", "old-echo").expect("a rule of it");
        Script::accepted(o, &config).run(
            "< [ect0] . 1:1001(1000) ack 1
             is timer 40ms
             +10ms < [ce] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1001
             is timer 40ms
             < [ce] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             is timer none
             // With nothing waiting, the flip itself waits for the timer.
             < [ect0] . 3001:4001(1000) ack 1
             is timer 40ms
             +40ms > . 1:1(0) ack 4001
             // A gap is acknowledged at once.
             < [ect0] . 4001:5001(1000) ack 1
             < [ce] . 6001:7001(1000) ack 1
             > . 1:1(0) ack 5001
             > E. 1:1(0) ack 5001",
        );
    });
}

#[test]
fn rfc8257_3_2_a_flip_with_nothing_waiting_is_acknowledged_at_once() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ect0] . 1:1001(1000) ack 1
             < [ect0] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001
             < [ce] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             < [ect0] . 3001:4001(1000) ack 1
             > . 1:1(0) ack 4001",
        );
    });
}

#[test]
fn rfc8257_3_2_a_run_of_marks_is_acknowledged_every_m_segments() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ce] . 1:1001(1000) ack 1
             > E. 1:1(0) ack 1001
             < [ce] . 1001:2001(1000) ack 1
             < [ce] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             // Or by the timer, with the echo of the run.
             < [ce] . 3001:4001(1000) ack 1
             +40ms > E. 1:1(0) ack 4001
             // CWR has no meaning here.
             < [ce] W. 4001:5001(1000) ack 1
             < [ce] W. 5001:6001(1000) ack 1
             > E. 1:1(0) ack 6001",
        );
        dctcp(o, 1).run(
            "< [ce] . 1:1001(1000) ack 1
             > E. 1:1(0) ack 1001
             < [ect0] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001
             < [ce] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001",
        );
    });
}

#[test]
fn conformance_10_4_no_older_ack_after_data_that_carried_it() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ect0] . 1:1001(1000) ack 1
             send 100
             > P. 1:101(100) ack 1001
             < [ce] . 1001:2001(1000) ack 101
             > E. 101:101(0) ack 2001
             // The timer released that ACK.
             < [ce] . 2001:3001(1000) ack 101
             +40ms > E. 101:101(0) ack 3001
             < [ect0] . 3001:4001(1000) ack 101
             > . 101:101(0) ack 4001",
        );
    });
}

#[test]
fn rfc8257_3_2_flips_beyond_a_gap() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "// Out of order and CE: at once, with the new echo.
             < [ce] . 1001:2001(1000) ack 1
             > E. 1:1(0) ack 1
             // A clean one fills the hole: the marked one is reported clean, as by every receiver
             // with one bit; the mark was reported above.
             < [ect0] . 1:1001(1000) ack 1
             > . 1:1(0) ack 2001
             // One waits; the next is out of order and changes the echo.
             < [ect0] . 2001:3001(1000) ack 1
             < [ce] . 4001:5001(1000) ack 1
             > . 1:1(0) ack 3001
             > E. 1:1(0) ack 3001
             < [ce] . 3001:4001(1000) ack 1
             > E. 1:1(0) ack 5001",
        );
    });
}

#[test]
fn conformance_10_10_duplicates_and_segments_without_ect_leave_the_state_alone() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ce] . 1:1001(1000) ack 1
             > E. 1:1(0) ack 1001
             // A retransmission carries no ECT: no change.
             < . 1001:2001(1000) ack 1
             < [ce] . 2001:3001(1000) ack 1
             > E. 1:1(0) ack 3001
             < [ect0] . 1:1001(1000) ack 1 -> OutOfWindow
             > E. 1:1(0) ack 3001
             < [ect0] . 3001:4001(1000) ack 1
             > . 1:1(0) ack 4001",
        );
    });
}

#[test]
fn rfc8257_3_2_the_last_segment_flips_and_closes() {
    at_every_origin(|o| {
        dctcp(o, 2).run(
            "< [ect0] . 1:1001(1000) ack 1
             < [ce] FP. 1001:2001(1000) ack 1
             > . 1:1(0) ack 1001
             > E. 1:1(0) ack 2002
             is state CloseWait",
        );
    });
}

#[test]
fn rfc8257_3_2_the_split_ack_offers_the_window_as_the_new_one_does() {
    at_every_origin(|o| {
        let config = Config {
            ecn: EcnNegotiation::Passive,
            ack: "dctcp",
            delack_segments: 2,
            receive_buffer: lowtide_units::Bytes::new(10_000),
            ..plain()
        };
        // The right edge never moves back: 10001 in both.
        Script::accepted(o, &config).run(
            "< [ect0] . 1:1001(1000) ack 1
             < [ce] . 1001:2001(1000) ack 1
             > . 1:1(0) ack 1001 win 9000
             > E. 1:1(0) ack 2001 win 8000",
        );
    });
}

#[test]
fn rfc8257_3_2_a_fin_without_data_leaves_the_state_alone() {
    for mark in ["ce", "ect0"] {
        at_every_origin(|o| {
            let mut t = dctcp(o, 2);
            t.run(
                "< [ce] . 1:1001(1000) ack 1
                 > E. 1:1(0) ack 1001",
            );
            t.run(&format!("< [{mark}] F. 1001:1001(0) ack 1\n> E. 1:1(0) ack 1002"));
        });
    }
}
