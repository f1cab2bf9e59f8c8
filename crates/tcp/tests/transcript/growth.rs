//! The window at the start, in growth and after idle (RFC 5681 §3.1, §4.1, RFC 3465, RFC 6928).

use lowtide_tcp::{Config, EcnNegotiation, InitialWindow};

use crate::common::{Script, at_every_origin, plain};

#[test]
fn rfc6928_and_rfc3390_the_initial_window() {
    use InitialWindow::{Rfc3390, Rfc6928, Segments};
    at_every_origin(|o| {
        for (rule, mss, bytes) in [
            (Rfc6928, 1460, 14_600),
            (Rfc6928, 100, 1000),
            (Rfc6928, 2000, 14_600),
            (Rfc6928, 8960, 17_920),
            (Rfc3390, 1460, 4380),
            (Rfc3390, 536, 2144),
            (Rfc3390, 8960, 17_920),
            (Segments(3), 1460, 4380),
        ] {
            let config = Config { initial_window: rule, mtu: 9000, ..plain() };
            let syn_ack = format!("S. 0:0(0) ack 1 <mss {mss}>");
            Script::opened(o, &config, &syn_ack).run(&format!("is cwnd {bytes}"));
        }
    });
}

#[test]
fn rfc3465_2_slow_start_counts_bytes_up_to_l() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 100000
             > . 1:1001(1000) ack 1 * 10
             < . 1:1(0) ack 1001
             is cwnd 11000
             > . 10001:11001(1000) ack 1 * 2
             < . 1:1(0) ack 3001
             is cwnd 13000
             > . 12001:13001(1000) ack 1 * 4
             // L = 2: an ACK of four segments counts as two.
             < . 1:1(0) ack 7001
             is cwnd 15000
             > . 16001:17001(1000) ack 1 * 6
             // Bytes, not ACKs: ACK division gains nothing.
             < . 1:1(0) ack 7101
             is cwnd 15100
             < . 1:1(0) ack 7201
             is cwnd 15200",
        );
        for (limit, cwnd) in [(1, 11_000), (3, 13_000), (u32::MAX, 14_000)] {
            Script::established(o, &Config { abc_limit: limit, ..plain() }).run(&format!(
                "send 10001
                 > . 1:1001(1000) ack 1 * 10
                 < . 1:1(0) ack 4001
                 is cwnd {cwnd}
                 > P. 10001:10002(1) ack 1"
            ));
        }
    });
}

#[test]
fn rfc3465_2_1_congestion_avoidance_adds_a_segment_per_window_of_bytes() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { ecn: EcnNegotiation::Rfc3168, ..plain() });
        t.run(
            "send 100000
             > . 1:1001(1000) ack 1 * 10
             // A mark reduces the window to ssthresh.
             < E. 1:1(0) ack 1001
             is cwnd 5000
             is ssthresh 5000
             // 5000 B are one window.
             < . 1:1(0) ack 6001
             is cwnd 6000
             > W. 10001:11001(1000) ack 1
             > . 11001:12001(1000) ack 1
             // 6000 B are the next one, for any number of ACKs.
             < . 1:1(0) ack 7001
             > . 12001:13001(1000) ack 1
             < . 1:1(0) ack 11001
             is cwnd 6000
             > . 13001:14001(1000) ack 1 * 4
             < . 1:1(0) ack 12000
             is cwnd 6000
             < . 1:1(0) ack 12001
             is cwnd 7000
             > . 17001:18001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn rfc7661_a_window_that_is_not_used_does_not_grow() {
    at_every_origin(|o| {
        // The application has no more data.
        Script::established(o, &plain()).run(
            "send 5000
             > . 1:1001(1000) ack 1 * 5
             < . 1:1(0) ack 5001
             is cwnd 10000",
        );
        // The peer's window is smaller.
        let mut t = Script::opened(o, &plain(), "S. 0:0(0) ack 1 win 4000 <mss 1460>");
        t.window = 4000;
        t.run(
            "send 20000
             > . 1:1001(1000) ack 1 * 4
             < . 1:1(0) ack 4001
             is cwnd 10000
             > . 4001:5001(1000) ack 1 * 4",
        );
    });
}

#[test]
fn rfc5681_4_1_after_an_idle_timeout_the_window_starts_again() {
    at_every_origin(|o| {
        for (idle, restart, cwnd) in
            [("+1001ms", true, 10_000), ("+999ms", true, 11_000), ("+1001ms", false, 11_000)]
        {
            let mut t = Script::established(o, &Config { idle_restart: restart, ..plain() });
            t.run(
                "send 12000
                 > . 1:1001(1000) ack 1 * 10
                 < . 1:1(0) ack 1001
                 is cwnd 11000
                 > . 10001:11001(1000) ack 1 * 2
                 < . 1:1(0) ack 12001",
            );
            t.run(&format!(
                "{idle} send 100000
                 > . 12001:13001(1000) ack 1 * {}
                 is cwnd {cwnd}",
                cwnd / 1000
            ));
        }
    });
}

/// FreeBSD (`cc_after_idle`, `newreno_after_idle`): 4380 bytes, even with `initcwnd10`, if nothing
/// arrived for a timeout. The window is that of a connection that has never sent.
#[test]
fn freebsd_restarts_a_connection_that_was_idle_since_its_handshake() {
    let restart = Some(InitialWindow::Rfc3390);
    for (idle, restart_window, segments) in
        [("+1001ms", restart, 4), ("+999ms", restart, 10), ("+1001ms", None, 10)]
    {
        at_every_origin(|o| {
            let mut t = Script::established(o, &Config { restart_window, ..plain() });
            t.run(&format!("{idle} send 100000\n> . 1:1001(1000) ack 1 * {segments}"));
        });
    }
}

#[test]
fn rfc5681_4_1_the_restart_never_raises_the_window() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             +1s > P. 1:1001(1000) ack 1
             < . 1:1(0) ack 1001
             is cwnd 1000
             +2s send 100000
             > . 1001:2001(1000) ack 1
             is cwnd 1000",
        );
    });
}
