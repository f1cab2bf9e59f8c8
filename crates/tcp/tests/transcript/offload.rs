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
