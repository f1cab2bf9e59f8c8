//! The retransmission timer: value, start and stop, backoff and Karn's rule (RFC 6298), and the
//! effect of a timeout on the window (RFC 5681 §3.1).

use lowtide_tcp::{Config, RtoMinApplies};

use crate::common::{LinkAction, Pair, Script, Side, at_every_origin, ms, plain};

/// No minimum that would hide the estimate.
fn bare() -> Config {
    Config { rto_min: ms(1), ..plain() }
}

#[test]
fn rfc6298_2_srtt_rttvar_and_timeout() {
    at_every_origin(|o| {
        // R = 10 ms: SRTT 10, RTTVAR 5, RTO 10 + 4 * 5.
        Script::established(o, &bare()).run(
            "is srtt 10ms
             is rto 30ms
             send 1000
             > P. 1:1001(1000) ack 1
             // R = 18 ms: RTTVAR 3/4 * 5 + 1/4 * 8 = 5.75, SRTT 7/8 * 10 + 1/8 * 18 = 11.
             +18ms < . 1:1(0) ack 1001
             is srtt 11ms
             is rto 34ms
             send 1000
             > P. 1001:2001(1000) ack 1
             is timer 34ms
             // R = 3 ms: RTTVAR 4.3125 + 2 = 6.3125, SRTT 9.625 + 0.375 = 10; 35.25 in whole ms.
             +3ms < . 1:1(0) ack 2001
             is srtt 10ms
             is rto 36ms",
        );
    });
}

#[test]
fn rfc6298_2_4_the_minimum_bounds_the_timeout_or_the_variance() {
    at_every_origin(|o| {
        for (min, applies, rto) in [
            (ms(1000), RtoMinApplies::Timeout, "1s"),
            (ms(200), RtoMinApplies::Timeout, "200ms"),
            (ms(200), RtoMinApplies::Variance, "210ms"),
            (ms(15), RtoMinApplies::Timeout, "30ms"),
            (ms(15), RtoMinApplies::Variance, "30ms"),
        ] {
            let config = Config { rto_min: min, rto_min_applies: applies, ..plain() };
            Script::established(o, &config).run(&format!("is rto {rto}"));
        }
    });
}

#[test]
fn rfc6298_2_the_granularity_bounds_the_variance_and_rounds_up() {
    at_every_origin(|o| {
        for (granularity, rto) in [(1, "30ms"), (4, "32ms"), (100, "200ms")] {
            let config = Config { rto_granularity: ms(granularity), ..bare() };
            Script::established(o, &config).run(&format!("is rto {rto}"));
        }
    });
}

#[test]
fn rfc6298_5_when_the_timer_runs() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "is timer none
             send 1000
             > P. 1:1001(1000) ack 1
             is timer 1s
             // (5.1) More data does not restart it.
             +400ms send 1000
             > P. 1001:2001(1000) ack 1
             is timer 600ms
             // A duplicate ACK does not either.
             +100ms < . 1:1(0) ack 1
             is timer 500ms
             // (5.3) An ACK of new data does.
             < . 1:1(0) ack 1001
             is timer 1s
             // (5.2) All acknowledged: off.
             +100ms < . 1:1(0) ack 2001
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_5_backoff_doubles_to_the_maximum_and_ends_with_an_ack() {
    at_every_origin(|o| {
        let mut t = Script::established(o, &Config { rto_max: ms(5000), ..plain() });
        t.run("send 2000\n> . 1:1001(1000) ack 1\n> P. 1001:2001(1000) ack 1");
        for wait in [1, 2, 4, 5, 5] {
            t.run(&format!("is timer {wait}s\n+{wait}s > . 1:1001(1000) ack 1"));
        }
        t.run(
            "is rtos 5
             // It gives no sample (Karn), but the backoff ends: a deviation, as in Linux.
             +10ms < . 1:1(0) ack 1001
             > P. 1001:2001(1000) ack 1
             is srtt 10ms
             is timer 1s
             +10ms < . 1:1(0) ack 2001
             is srtt 10ms",
        );
    });
}

#[test]
fn rfc6298_3_karn_and_the_segment_behind_the_hole() {
    at_every_origin(|o| {
        Script::established(o, &bare()).run(
            "send 2000
             > . 1:1001(1000) ack 1
             > P. 1001:2001(1000) ack 1
             +30ms > . 1:1001(1000) ack 1
             // The second segment was sent once, 40 ms ago, but waited for the first.
             +10ms < . 1:1(0) ack 2001
             is srtt 10ms
             is rto 30ms
             send 1000
             > P. 2001:3001(1000) ack 1
             +18ms < . 1:1(0) ack 3001
             is srtt 11ms",
        );
    });
}

#[test]
fn rfc5681_3_1_a_timeout_leaves_one_segment_and_half_the_flight() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 20000
             > . 1:1001(1000) ack 1 * 10
             is cwnd 10000
             is ssthresh none
             +1s > . 1:1001(1000) ack 1
             is cwnd 1000
             is ssthresh 5000
             is flight 1000
             // Again: ssthresh is unchanged (erratum, §3.1).
             +2s > . 1:1001(1000) ack 1
             is ssthresh 5000
             // Slow start from one segment, through the lost ones; one segment per ACK (RFC 3465
             // §2.3).
             < . 1:1(0) ack 1001
             is cwnd 2000
             > . 1001:2001(1000) ack 1 * 2
             < . 1:1(0) ack 3001
             is cwnd 3000
             > . 3001:4001(1000) ack 1 * 3
             // Everything had arrived: new data.
             < . 1:1(0) ack 10001
             is cwnd 4000
             > . 10001:11001(1000) ack 1 * 4
             is recovery false
             // Again L = 2; ssthresh is reached, and the second half counts in congestion
             // avoidance.
             < . 1:1(0) ack 12001
             is cwnd 5000
             > . 14001:15001(1000) ack 1 * 3",
        );
    });
}

#[test]
fn rfc5681_3_1_the_floor_of_ssthresh_is_two_segments() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 1000
             > P. 1:1001(1000) ack 1
             +1s > P. 1:1001(1000) ack 1
             is cwnd 1000
             is ssthresh 2000",
        );
    });
}

#[test]
fn rfc6298_5_4_the_earliest_segment_is_sent_again_whole() {
    at_every_origin(|o| {
        Script::established(o, &plain()).run(
            "send 2000
             > . 1:1001(1000) ack 1
             > P. 1001:2001(1000) ack 1
             // A part of it was acknowledged: the rest of that segment.
             < . 1:1(0) ack 301
             +1s > . 301:1001(700) ack 1
             < . 1:1(0) ack 2001
             is timer none",
        );
    });
}

#[test]
fn rfc6298_5_a_tail_loss_is_repaired_by_the_timer() {
    at_every_origin(|o| {
        for (segments, lost) in [(1, 0), (3, 2), (4, 2)] {
            let mut pair = Pair::new(o, &plain(), &plain(), ms(10));
            let mut data = 0;
            pair.link(move |t| {
                let hit = t.has_data() && data == lost;
                data += u32::from(t.has_data());
                if hit { LinkAction::Drop } else { LinkAction::Pass }
            });
            pair.a.send(segments * 1000);
            pair.run_until(ms(5000), |p| p.a.acked_upto() == segments * 1000);
            assert_eq!(pair.a.info().counters.rto_count, 1, "{}", pair.tail());
            assert_eq!(pair.conn(Side::B).info().bytes_received, segments * 1000);
        }
    });
}
