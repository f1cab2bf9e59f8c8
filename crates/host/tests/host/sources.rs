//! Applications that write over time.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{Outcome, ProbePlan, Setup};
use lowtide_traffic::WritePattern;
use lowtide_units::{Bytes, Duration, Instant, Rate};

fn setup(size: u64, source: WritePattern) -> Setup {
    let mut setup = star_setup(1, &config("dctcp"), port(1000, 500));
    setup.flows = vec![flow(&setup, 0, size, Duration::ZERO)];
    setup.flows[0].write_pattern = source;
    setup
}

fn finished(outcome: &Outcome) -> Duration {
    Duration::from_ps(outcome.flows[0].delivered_ps.expect("delivered"))
}

#[test]
fn a_pause_follows_each_burst_that_was_acknowledged() {
    let pause = Duration::from_ms(10);
    let mut setup = setup(300_000, WritePattern::OnOff { burst: Bytes::new(100_000), pause });
    // An odd segment at the end of a burst would wait for the delayed ACK.
    setup.hosts.iter_mut().for_each(|h| h.config.delack_segments = 1);
    setup.probes = ProbePlan {
        interval: Some(Duration::from_us(100)),
        groups: vec![0],
        flows_per_group: 1,
        ..ProbePlan::default()
    };
    let outcome = outcome(&setup);
    // A burst takes 0.85 ms on the line, and several RTTs of 0.11 ms in slow start.
    let (least, most) = (Duration::from_us(22_500), Duration::from_us(25_500));
    let took = finished(&outcome);
    assert!((least..most).contains(&took), "{took}");
    let idle_at = |acked: u64| {
        let rows =
            outcome.probes.iter().filter(|p| p.bytes_acked == acked && p.in_flight_bytes == 0);
        let times: Vec<Instant> = rows.map(|p| Instant::from_ps(p.time_ps)).collect();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return 0 };
        last.saturating_since(*first).as_us()
    };
    for acked in [100_000, 200_000] {
        assert!((9_700..=10_000).contains(&idle_at(acked)), "{} us", idle_at(acked));
    }
}

#[test]
fn a_constant_rate_keeps_its_rate_to_the_last_write() {
    let source = WritePattern::Rate {
        rate: Rate::from_bps(300_000_000).unwrap(),
        write: Bytes::new(1_000),
        poisson: false,
    };
    let took = finished(&outcome(&setup(3_000_000, source)));
    let last_write = source.write_duration(Bytes::new(3_000_000));
    assert_eq!(last_write, Duration::from_ps(79_973_333_334));
    // After the last write its packet crosses two links of 20 us and 8.7 us each.
    let rest = took.saturating_sub(last_write);
    assert!((Duration::from_us(57)..Duration::from_us(75)).contains(&rest), "{rest}");
}

#[test]
fn writes_beyond_the_line_rate_wait_for_tcp() {
    let source =
        WritePattern::Rate { rate: Rate::from_gbps(4), write: Bytes::new(1_448), poisson: false };
    let took = finished(&outcome(&setup(10_000_000, source)));
    // Four times the line rate: the line is the limit, 1448 B of payload in 1538 B.
    let line = 10_000_000.0 * 8.0 * 1538.0 / 1448.0 / 1e9;
    assert!((took.as_secs_f64() / line - 1.0).abs() < 0.02, "{took} and {line}");
}

#[test]
fn poisson_writes_have_their_mean_and_depend_on_the_seed() {
    let rate = Rate::from_bps(100_000_000).unwrap();
    let source = WritePattern::Rate { rate, write: Bytes::new(500), poisson: true };
    let mut setup = setup(5_000_000, source);
    let took = |setup: &Setup| finished(&outcome(setup));
    let first = took(&setup);
    // 9999 gaps of 40 us: five standard deviations are 5 %.
    let mean = source.write_duration(Bytes::new(5_000_000)).as_secs_f64();
    assert!((first.as_secs_f64() / mean - 1.0).abs() < 0.05, "{first} for {mean}");
    assert_eq!(first, took(&setup));
    setup.seed = 2;
    assert_ne!(first, took(&setup));
}

#[test]
fn a_stopped_flow_sends_its_buffered_data_and_closes() {
    let lasts = Duration::from_ms(20);
    let mut setup = setup(1, WritePattern::BulkFor { duration: lasts });
    setup.flows[0].size = None;
    setup.end = lowtide_host::EndCondition { at: Duration::from_ms(100), when_done: false };
    let buffer = setup.hosts[0].config.send_buffer.as_u64();
    let outcome = outcome(&setup);
    let flow = &outcome.flows[0];
    // 20 ms at 1 Gbit/s are 2.36 MB of payload.
    let until_then = 2_360_000;
    let (least, most) = (until_then, until_then + buffer);
    assert!((least..=most).contains(&flow.delivered_bytes), "{} of {most} B", flow.delivered_bytes);
    // In the 80 ms after it only TIME-WAIT remains.
    assert!(outcome.counts.segments < 2 * most / 1_448, "{}", outcome.counts.segments);
}

/// The judge is a formula: 1000 B of payload with timestamps are 1090 B on each of two lines of
/// 1 Gbit/s and 20 us, 8.72 us each.
#[test]
fn a_connection_that_opens_early_is_timed_from_its_first_write() {
    let mut setup = setup(1_000, WritePattern::Bulk);
    setup.flows = (0..3).map(|_| flow(&setup, 0, 1_000, Duration::from_ms(500))).collect();
    setup.flows[1].start += Duration::from_ms(100);
    setup.flows[2].start += Duration::from_ms(200);
    let fct = |setup: &Setup| outcome(setup).flows.iter().map(|f| f.fct_ps).collect::<Vec<_>>();
    let at_start = fct(&setup);
    setup.early_groups = vec![true];
    let early = outcome(&setup);
    for (flow, n) in early.flows.iter().zip(0..) {
        // Opened 1 ms after another; the handshake takes two packets of 40 us and more.
        let opened = Duration::from_ps(flow.established_ps.expect("open"));
        let after = opened.saturating_sub(Duration::from_ms(n));
        assert!((80..90).contains(&after.as_us()), "flow {n} is open at {opened}");
        assert_eq!(flow.start_ps, Duration::from_ms(500 + 100 * n).as_ps());
        assert_eq!(flow.fct_ps, Some(57_440_000), "flow {n}");
        assert_eq!(flow.transfer_ps, flow.fct_ps);
    }
    assert!(at_start.iter().all(|fct| *fct > Some(57_440_000 + 80_000_000)), "{at_start:?}");
}
