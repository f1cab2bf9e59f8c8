//! Rules of stacks that differ from the RFCs (docs/evidence/tools): growth, loss, timers and ACKs
//! at the start.

use lowtide_tcp::{
    Config, CutFrom, EcnNegotiation, FreezeGrowth, GrowthCounts, GrowthWhen, InitialWindow,
    LossFrom, RttTicks, profile,
};
use lowtide_units::Bytes;

use crate::common::{Origin, Script, at_every_origin, ms, plain};

const RULES: [GrowthWhen; 3] = [GrowthWhen::CwndLimited, GrowthWhen::BelowRwnd, GrowthWhen::Always];

/// A peer whose window is `window` bytes.
fn with_peer_window(o: Origin, config: &Config, window: u16) -> Script {
    let ecn = if config.ecn == EcnNegotiation::Off { "" } else { "E" };
    let syn_ack = format!("S.{ecn} 0:0(0) ack 1 win {window} <mss 1460>");
    let mut t = Script::opened(o, config, &syn_ack);
    t.window = window;
    t
}

/// The application writes `n` bytes; what is sent is not checked.
fn send(t: &mut Script, n: u64) {
    t.app(|conn| conn.send(n));
    while t.drop_sent() {}
}

/// A segment of the peer arrives; what is sent is not checked.
fn arrive(t: &mut Script, text: &str) {
    t.inject(text).expect("an acceptable segment");
    while t.drop_sent() {}
}

#[test]
fn a_flow_that_the_application_limits_grows_by_the_rule_of_the_stack() {
    at_every_origin(|o| {
        for (growth_when, cwnd) in RULES.into_iter().zip([10_000, 12_000, 12_000]) {
            Script::established(o, &Config { growth_when, ..plain() }).run(&format!(
                "send 5000
                 > . 1:1001(1000) ack 1 * 5
                 < . 1:1(0) ack 5001
                 is cwnd {cwnd}"
            ));
        }
    });
}

#[test]
fn a_flow_that_the_peers_window_limits_grows_up_to_it_or_without_end() {
    at_every_origin(|o| {
        for (growth_when, cwnd) in RULES.into_iter().zip([12_000, 12_000, 20_000]) {
            let mut t = with_peer_window(o, &Config { growth_when, ..plain() }, 11_000);
            send(&mut t, 60_000);
            for una in (2001..=10_001).step_by(2000) {
                arrive(&mut t, &format!(". 1:1(0) ack {una}"));
            }
            // The first ACK finds cwnd as the limit.
            t.run(&format!("is cwnd {cwnd}"));
        }
    });
}

#[test]
fn growth_counts_bytes_or_acks() {
    at_every_origin(|o| {
        for (growth_counts, slow_start, avoidance) in
            [(GrowthCounts::Bytes, 12_000, 6_000), (GrowthCounts::Acks, 11_000, 5_000)]
        {
            let config = Config {
                growth_counts,
                growth_when: GrowthWhen::Always,
                ecn: EcnNegotiation::Rfc3168,
                ..plain()
            };
            let mut t = Script::established(o, &config);
            send(&mut t, 10_000);
            t.run(&format!("< . 1:1(0) ack 2001\nis cwnd {slow_start}"));
            // A mark ends slow start, then a window is acknowledged by ACKs of two segments.
            let mut t = Script::established(o, &config);
            send(&mut t, 10_000);
            t.run("< E. 1:1(0) ack 1001\nis cwnd 5000");
            for una in [3001, 5001, 7001] {
                t.inject(&format!(". 1:1(0) ack {una}")).expect("an ACK");
            }
            t.run(&format!("is cwnd {avoidance}"));
        }
    });
}

#[test]
fn ns2_does_not_grow_on_the_first_ece_of_a_run() {
    at_every_origin(|o| {
        for (freeze_growth, cwnd) in [
            (FreezeGrowth::Off, [6_000, 6_000]),
            (FreezeGrowth::FirstEce, [5_000, 6_000]),
            (FreezeGrowth::EceAcks, [5_000, 5_000]),
        ] {
            let growth_when = GrowthWhen::Always;
            let ecn = EcnNegotiation::Rfc3168;
            let config = Config { freeze_growth, growth_when, ecn, ..plain() };
            let mut t = Script::established(o, &config);
            send(&mut t, 20_000);
            // After the cut 5000 B of growing ACKs add a segment; the next ACK has 1000 B.
            arrive(&mut t, "E. 1:1(0) ack 1001");
            arrive(&mut t, ". 1:1(0) ack 2001");
            // The first of the run has 2000 B, the second 3000 B, the third 1000 B.
            arrive(&mut t, "E. 1:1(0) ack 4001");
            assert_eq!(t.fact("cwnd"), "5000", "{freeze_growth:?}");
            for (una, cwnd) in [7001, 8001].into_iter().zip(cwnd) {
                arrive(&mut t, &format!("E. 1:1(0) ack {una}"));
                assert_eq!(t.fact("cwnd"), cwnd.to_string(), "{freeze_growth:?} {una}");
            }
            assert_eq!(t.fact("cuts"), "1");
        }
    });
}

#[test]
fn slow_start_ends_at_the_initial_ssthresh() {
    at_every_origin(|o| {
        Script::established(o, &Config { initial_ssthresh: 11_000, ..plain() }).run(
            "is ssthresh 11000
             send 100000
             > . 1:1001(1000) ack 1 * 10
             < . 1:1(0) ack 2001
             is cwnd 11000
             > . 10001:11001(1000) ack 1 * 3
             < . 1:1(0) ack 4001
             is cwnd 11000
             > . 13001:14001(1000) ack 1 * 2",
        );
    });
}

#[test]
fn the_restart_window_may_be_smaller_than_the_initial_one() {
    at_every_origin(|o| {
        for (restart_window, segments) in
            [(None, 10), (Some(InitialWindow::Rfc3390), 4), (Some(InitialWindow::Segments(1)), 1)]
        {
            let mut t = Script::established(o, &Config { restart_window, ..plain() });
            t.run(&format!(
                "send 1000
                 > P. 1:1001(1000) ack 1
                 < . 1:1(0) ack 1001
                 +1001ms send 100000
                 > . 1001:2001(1000) ack 1 * {segments}
                 is cwnd {segments}000"
            ));
        }
    });
}

#[test]
fn a_cut_and_a_loss_may_start_from_the_peers_window() {
    at_every_origin(|o| {
        let config = |cut_from, loss_from| Config {
            cut_from,
            loss_from,
            growth_when: GrowthWhen::Always,
            ecn: EcnNegotiation::Rfc3168,
            ..plain()
        };
        // cwnd is 20,000 B, the peer's window 8000 B.
        let grown = |config: &Config| {
            let mut t = with_peer_window(o, config, 8_000);
            send(&mut t, 60_000);
            for una in (2001..=10_001).step_by(2000) {
                arrive(&mut t, &format!(". 1:1(0) ack {una}"));
            }
            t.run("is cwnd 20000");
            t
        };
        for (cut_from, cwnd) in [(CutFrom::Cwnd, 10_000), (CutFrom::Window, 4_000)] {
            let mut t = grown(&config(cut_from, LossFrom::Flight));
            arrive(&mut t, "E. 1:1(0) ack 11001");
            t.run(&format!("is cwnd {cwnd}\nis ssthresh {cwnd}"));
        }
        // One segment of 5000 B is in flight at the timeout.
        for (loss_from, ssthresh) in [(LossFrom::Flight, 2_500), (LossFrom::Window, 4_000)] {
            let mut t = with_peer_window(o, &config(CutFrom::Cwnd, loss_from), 8_000);
            t.run(&format!(
                "send 5000
                 > [ect0] . 1:1001(1000) ack 1 * 4
                 > [ect0] P. 4001:5001(1000) ack 1
                 +1s > [noecn] . 1:1001(1000) ack 1
                 is ssthresh {ssthresh}"
            ));
        }
    });
}

#[test]
fn dup_thresh_starts_fast_retransmit() {
    at_every_origin(|o| {
        for dup_thresh in [1, 2, 3, 5] {
            let config = Config { dup_thresh, limited_transmit: false, ..plain() };
            let mut t = Script::established(o, &config);
            t.run("send 10000\n> . 1:1001(1000) ack 1 * 9\n> P. 9001:10001(1000) ack 1");
            for _ in 1..dup_thresh {
                t.inject(". 1:1(0) ack 1").expect("a duplicate");
                t.expect_nothing();
            }
            t.run("< . 1:1(0) ack 1\n> . 1:1001(1000) ack 1\nis ssthresh 5000");
            // With SACK as many segments above the hole.
            let mut t = Script::established(o, &Config { sack: true, ..config });
            t.run("send 10000\n> . 1:1001(1000) ack 1 * 9\n> P. 9001:10001(1000) ack 1");
            let edge = 1001 + 1000 * dup_thresh;
            if dup_thresh > 1 {
                t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", edge - 1000)).expect("an ACK");
                t.expect_nothing();
            }
            t.run(&format!("< . 1:1(0) ack 1 <sack 1001:{edge}>\n> . 1:1001(1000) ack 1"));
        }
    });
}

#[test]
fn a_sample_may_have_no_tick_or_one_more_at_the_start() {
    at_every_origin(|o| {
        // The handshake takes 10 ms of a clock with ticks of 100 ms.
        for (rtt_ticks, first, next) in [
            (RttTicks::AtLeastOne, "100ms", "100ms"),
            (RttTicks::FromZero, "0s", "0s"),
            (RttTicks::FirstPlusOne, "100ms", "87500us"),
        ] {
            let config = Config { rtt_ticks, rtt_granularity: ms(100), ..plain() };
            Script::established(o, &config).run(&format!(
                "is srtt {first}
                 send 1000
                 > P. 1:1001(1000) ack 1
                 +1ms < . 1:1(0) ack 1001
                 is srtt {next}"
            ));
        }
    });
}

#[test]
fn the_slop_is_added_to_every_timeout_and_not_doubled() {
    at_every_origin(|o| {
        let config = Config { rto_min: ms(30), rto_slop: ms(200), ..plain() };
        Script::established(o, &config).run(
            "is rto 230ms
             send 1000
             > P. 1:1001(1000) ack 1
             +230ms > P. 1:1001(1000) ack 1
             +260ms > P. 1:1001(1000) ack 1
             +320ms > P. 1:1001(1000) ack 1",
        );
    });
}

#[test]
fn the_first_bytes_are_acknowledged_at_once() {
    at_every_origin(|o| {
        let config =
            Config { delack_segments: 2, initial_quick_acks: Bytes::new(2_500), ..plain() };
        Script::established(o, &config).run(
            "< . 1:1001(1000) ack 1
             > . 1:1(0) ack 1001
             < . 1001:2001(1000) ack 1
             > . 1:1(0) ack 2001
             // It starts below the limit.
             < . 2001:3001(1000) ack 1
             > . 1:1(0) ack 3001
             // The count of delayed ACKs starts here.
             < . 3001:4001(1000) ack 1
             is timer 200ms
             < . 4001:5001(1000) ack 1
             > . 1:1(0) ack 5001",
        );
    });
}

#[test]
fn the_first_syns_have_equal_timeouts() {
    at_every_origin(|o| {
        let config = Config { syn_linear_timeouts: 4, syn_retries: 6, ..plain() };
        Script::active(o, &config).run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2s > S 0:0(0) <mss 1000>
             +4s is state Closed
             event timed-out",
        );
        // A SYN-ACK backs off from the start.
        let config = Config { syn_ack_retries: 1, ..config };
        Script::passive(o, &config, "S 0:0(0) <mss 1460>").run(
            "> S. 0:0(0) ack 1 <mss 1000>
             +1s > S. 0:0(0) ack 1 <mss 1000>
             +2s is state Closed
             event timed-out",
        );
    });
}

/// FreeBSD 15 counts ticks of 1 ms. A handshake of 10 ms enters as 11: `t_srtt` = 11 * 32,
/// `t_rttvar` = 11 * 8, `TCP_REXMTVAL` = max(30, (352 / 8 + 88) / 4) = 33. `tcp_backoff` and then
/// 200 ms (`TCPT_RANGESET`); a SYN begins with 1000 ms and ends at 64 s.
#[test]
fn freebsd_adds_its_slop_after_the_backoff() {
    let freebsd = profile::REGISTRY.find("freebsd").unwrap().config().unwrap();
    let keep = plain();
    let config = Config {
        mtu: keep.mtu,
        window_scaling: false,
        sack: false,
        timestamps: false,
        ecn: EcnNegotiation::Off,
        cc: keep.cc,
        feedback: keep.feedback,
        ack: keep.ack,
        ..freebsd
    };
    at_every_origin(|o| {
        Script::established(o, &config).run(
            "is rto 233ms
             send 1000
             > P. 1:1001(1000) ack 1
             +233ms > P. 1:1001(1000) ack 1
             +266ms > P. 1:1001(1000) ack 1
             +332ms > P. 1:1001(1000) ack 1",
        );
        Script::active(o, &config).run(
            "> S 0:0(0) <mss 1000>
             +1s > S 0:0(0) <mss 1000>
             +2200ms > S 0:0(0) <mss 1000>
             +4200ms > S 0:0(0) <mss 1000>
             +8200ms > S 0:0(0) <mss 1000>
             +16200ms > S 0:0(0) <mss 1000>
             +32200ms > S 0:0(0) <mss 1000>
             +64s is state Closed",
        );
    });
}
