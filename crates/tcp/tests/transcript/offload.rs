//! Segmentation offload: several segments in one transmission look on the wire as if sent singly.

use lowtide_tcp::{Config, EcnNegotiation};

use crate::common::{Script, at_every_origin, plain};

/// Runs `script` with different maximum segments per transmission; the packets must be equal.
fn both(config: &Config, script: &str) {
    at_every_origin(|o| {
        for tso_segments in [1, 2, 3, 8] {
            Script::established(o, &Config { tso_segments, ..config.clone() }).run(script);
        }
    });
}

#[test]
fn psh_and_fin_are_on_the_last_segment_cwr_on_the_first() {
    both(
        &Config { ecn: EcnNegotiation::Rfc3168, ..plain() },
        "send 12500
         > [ect0] . 1:1001(1000) ack 1 * 10
         < E. 1:1(0) ack 1001
         close
         < . 1:1(0) ack 10001
         > [ect0] W. 10001:11001(1000) ack 1
         > [ect0] . 11001:12001(1000) ack 1
         > [ect0] FP. 12001:12501(500) ack 1",
    );
}

#[test]
fn the_windows_and_the_buffer_bound_them() {
    // Ten by the congestion window; then limited by the peer's window, which ends within a segment.
    both(
        &plain(),
        "send 30000
         > . 1:1001(1000) ack 1 * 10
         < . 1:1(0) ack 10001 win 3700
         > . 10001:11001(1000) ack 1 * 3
         is limited ReceiveWindow
         < . 1:1(0) ack 13001 win 65535
         > . 13001:14001(1000) ack 1 * 12
         is limited Cwnd",
    );
}

#[test]
fn losses_inside_a_transmission_are_single_segments() {
    both(
        &Config { sack: true, ..plain() },
        "send 10000
         > . 1:1001(1000) ack 1 * 10
         < . 1:1(0) ack 2001 <sack 3001:6001>
         > . 2001:3001(1000) ack 1
         < . 1:1(0) ack 10001",
    );
}

/// Bursts of up to eight segments; less than a third of the window is deferred.
fn deferring() -> Config {
    Config { tso_segments: 8, tso_defer: 3, ..plain() }
}

#[test]
fn less_than_a_share_of_the_window_waits_for_the_next_ack() {
    at_every_origin(|o| {
        Script::established(o, &deferring()).run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             // Room for two of eleven, then for four of twelve.
             +10ms < . 1:1(0) ack 1001
             is limited Cwnd
             is flight 9000
             < . 1:1(0) ack 2001
             > . 10001:11001(1000) ack 1 * 4",
        );
        // Without it each ACK releases two.
        Script::established(o, &Config { tso_defer: 0, ..deferring() }).run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             +10ms < . 1:1(0) ack 1001
             > . 10001:11001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn the_last_data_an_early_ack_and_a_nic_without_offload_do_not_wait() {
    at_every_origin(|o| {
        // All remaining data is sent.
        Script::established(o, &deferring()).run(
            "send 11500
             > . 1:1001(1000) ack 1 * 10
             +10ms < . 1:1(0) ack 1001
             > . 10001:11001(1000) ack 1
             > P. 11001:11501(500) ack 1",
        );
        // The oldest in flight is younger than half of 10 ms: the next ACK may take long.
        Script::established(o, &deferring()).run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             +4ms < . 1:1(0) ack 1001
             > . 10001:11001(1000) ack 1 * 2",
        );
        Script::established(o, &Config { tso_segments: 1, ..deferring() }).run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             +10ms < . 1:1(0) ack 1001
             > . 10001:11001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn duplicates_and_losses_do_not_wait() {
    at_every_origin(|o| {
        Script::established(o, &deferring()).run(
            "send 30000
             > . 1:1001(1000) ack 1 * 10
             +10ms < . 1:1(0) ack 1
             > . 10001:11001(1000) ack 1
             < . 1:1(0) ack 1
             > . 11001:12001(1000) ack 1
             < . 1:1(0) ack 1
             > . 1:1001(1000) ack 1",
        );
    });
}
