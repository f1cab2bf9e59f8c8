//! Tail loss probes (RFC 8985 §7).

use lowtide_tcp::{Config, InitialWindow};

use crate::common::{Origin, Script, at_every_origin, ms, plain};

fn probing() -> Config {
    Config { sack: true, tail_loss_probe: true, ..plain() }
}

/// Five segments were sent, four are acknowledged. The round trip is 10 ms.
fn tail_lost(o: Origin) -> Script {
    let mut t = Script::established(o, &probing());
    t.run(
        "send 5000
         > . 1:1001(1000) ack 1 * 4
         > P. 4001:5001(1000) ack 1
         is timer 20ms
         +10ms < . 1:1(0) ack 4001
         // A single segment: its ACK may be delayed.
         is timer 220ms
         +220ms > P. 4001:5001(1000) ack 1
         is probes 1
         // Only the retransmission timer remains, restarted now.
         is timer 1s",
    );
    t
}

/// Linux tcp_schedule_loss_probe: slack only with several segments, and whole jiffies.
#[test]
fn rfc8985_7_2_a_coarse_clock_rounds_the_probe_timer_up() {
    at_every_origin(|o| {
        let linux = Config { loss_timer_slack: ms(2), loss_timer_granularity: ms(8), ..probing() };
        Script::established(o, &linux).run(
            "send 2000
             > . 1:1001(1000) ack 1
             > P. 1001:2001(1000) ack 1
             is timer 24ms
             +10ms < . 1:1(0) ack 1001
             is timer 224ms",
        );
    });
}

#[test]
fn rfc8985_7_4_a_loss_that_the_probe_repaired_is_answered_like_any_other() {
    at_every_origin(|o| {
        tail_lost(o).run(
            "+10ms < . 1:1(0) ack 5001
             // Either one arrived, or both; this is not known yet.
             is cwnd 10000
             send 2000
             > . 5001:6001(1000) ack 1
             > P. 6001:7001(1000) ack 1
             +10ms < . 1:1(0) ack 6001
             is probe-repairs 1
             is ssthresh 2000
             is cwnd 2000
             is recovery false
             is rtos 0
             +10ms < . 1:1(0) ack 7001
             is probe-repairs 1",
        );
    });
}

#[test]
fn rfc8985_7_4_a_dsack_or_a_plain_duplicate_means_no_loss() {
    at_every_origin(|o| {
        for second in ["< . 1:1(0) ack 5001 <sack 4001:5001>", "< . 1:1(0) ack 5001"] {
            let mut t = tail_lost(o);
            t.run("+10ms < . 1:1(0) ack 5001");
            t.run(second);
            t.run(
                "send 2000
                 > . 5001:6001(1000) ack 1
                 > P. 6001:7001(1000) ack 1
                 +10ms < . 1:1(0) ack 7001
                 is probe-repairs 0
                 is ssthresh none",
            );
        }
    });
}

#[test]
fn rfc8985_7_3_a_probe_is_new_data_where_there_is_some() {
    at_every_origin(|o| {
        let initial_window = InitialWindow::Segments(2);
        let mut t = Script::established(o, &Config { initial_window, ..probing() });
        t.run(
            "send 5000
             > . 1:1001(1000) ack 1 * 2
             is timer 20ms
             // Beyond cwnd.
             +20ms > . 2001:3001(1000) ack 1
             is flight 3000
             is timer 1s
             // One probe; then the retransmission timer.
             +1s > . 1:1001(1000) ack 1
             is rtos 1
             is probes 1
             is timer 2s
             +10ms < . 1:1(0) ack 3001
             > . 3001:4001(1000) ack 1
             > P. 4001:5001(1000) ack 1
             // The acknowledged data may have waited for the hole and gave no round trip: the probe
             // timer only starts the retransmission timer.
             is timer 20ms
             +20ms is probes 1
             is timer 1s
             +10ms < . 1:1(0) ack 4001
             is recovery false",
        );
    });
}

#[test]
fn rfc8985_7_3_not_beyond_the_peers_window_and_regardless_of_nagle() {
    at_every_origin(|o| {
        let config = Config { nagle: true, ..probing() };
        let mut t = Script::opened(o, &config, "S. 0:0(0) ack 1 win 2500 <mss 1460,sackOK>");
        t.window = 2500;
        t.run(
            "send 4000
             > . 1:1001(1000) ack 1 * 2
             +20ms > . 1001:2001(1000) ack 1
             is probes 1",
        );
        let mut t = Script::established(o, &config);
        t.run(
            "send 2100
             > . 1:1001(1000) ack 1 * 2
             +20ms > P. 2001:2101(100) ack 1
             is probes 1
             +10ms < . 1:1(0) ack 2101",
        );
    });
}

#[test]
fn rfc8985_7_3_a_second_probe_needs_a_round_trip_measured_since_the_first() {
    at_every_origin(|o| {
        tail_lost(o).run(
            "+10ms < . 1:1(0) ack 5001
             < . 1:1(0) ack 5001
             // The ACK of the probe gave no sample (Karn), so this timer only starts the other.
             send 2000
             > . 5001:6001(1000) ack 1
             > P. 6001:7001(1000) ack 1
             is timer 20ms
             +20ms is probes 1
             is timer 1s
             +10ms < . 1:1(0) ack 7001
             // This gave a sample: 30 ms.
             send 2000
             > . 7001:8001(1000) ack 1
             > P. 8001:9001(1000) ack 1
             +25ms > P. 8001:9001(1000) ack 1
             is probes 2",
        );
    });
}

#[test]
fn rfc8985_7_2_not_while_a_hole_is_known_and_not_without_sack() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &probing());
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 2
             > P. 2001:3001(1000) ack 1
             +10ms < . 1:1(0) ack 1 <sack 1001:2001>
             is timer 990ms
             +90ms < . 1:1(0) ack 2001
             // No SACKed segment is left.
             is probes 0
             < . 1:1(0) ack 3001
             is timer none",
        );
        let mut t = Script::established(o, &Config { sack: false, ..probing() });
        t.run(
            "send 1000
             > P. 1:1001(1000) ack 1
             is timer 1s",
        );
    });
}

#[test]
fn rfc8985_7_2_the_probe_comes_before_the_retransmission_timer_and_starts_it_again() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { rto_min: ms(1), ..probing() });
        t.run(
            "is rto 30ms
             send 1000
             > P. 1:1001(1000) ack 1
             is timer 30ms
             +30ms > P. 1:1001(1000) ack 1
             is probes 1
             is rtos 0
             is timer 30ms
             +30ms > P. 1:1001(1000) ack 1
             is rtos 1
             is cwnd 1000
             // The timeout has reacted to the loss.
             +10ms < . 1:1(0) ack 1001
             send 1000
             > P. 1001:2001(1000) ack 1
             +10ms < . 1:1(0) ack 2001
             is probe-repairs 0",
        );
    });
}

#[test]
fn rfc8985_7_3_a_fin_is_a_tail_too() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &probing());
        t.run(
            "send 2000
             > . 1:1001(1000) ack 1
             > P. 1001:2001(1000) ack 1
             close
             > F. 2001:2001(0) ack 1
             +10ms < . 1:1(0) ack 2001
             is timer 220ms
             +220ms > F. 2001:2001(0) ack 1
             is probes 1
             +10ms < . 1:1(0) ack 2002
             is state FinWait2
             is timer none",
        );
    });
}

#[test]
fn rfc8985_7_3_a_probe_with_the_last_data_closes_as_well() {
    at_every_origin(|o| {
        let initial_window = InitialWindow::Segments(2);
        let mut t = Script::established(o, &Config { initial_window, ..probing() });
        t.run(
            "send 3000
             > . 1:1001(1000) ack 1 * 2
             close
             +20ms > FP. 2001:3001(1000) ack 1
             is probes 1
             +10ms < . 1:1(0) ack 3002
             is state FinWait2",
        );
    });
}

#[test]
fn rfc2883_4_a_block_without_a_byte_is_no_dsack() {
    at_every_origin(|o| {
        tail_lost(o).run(
            "+10ms < . 1:1(0) ack 5001
             send 2000
             > . 5001:6001(1000) ack 1
             > P. 6001:7001(1000) ack 1
             // It ends where the probe did, and reports nothing.
             +10ms < . 1:1(0) ack 6001 <sack 5001:5001>
             is probe-repairs 1",
        );
    });
}
