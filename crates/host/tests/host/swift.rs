//! Swift's two windows, and its target, in whole runs.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{ClockSpec, Outcome, ProbePlan, Setup, StackDelay, StackJitter};
use lowtide_tcp::switches;
use lowtide_units::{Duration, Instant};

/// `n` flows of 2 MB to the last host of a star at 1 Gbit/s with a base round trip of 106 us, with
/// a fabric target of 151 us and one of 100 us for the hosts. The receiver's stack takes `receive`,
/// and the hosts' clocks differ.
fn run(n: u32, receive: u64, sets: &[(&str, &str)]) -> Outcome {
    let mut config = config("swift");
    let own = [("swift.base-target", "150 us"), ("swift.fs-range", "0 s")];
    for (name, value) in own.iter().chain(sets) {
        switches::set_text(&mut config, name, value).expect("a switch and its value");
    }
    let mut setup: Setup = star_setup(n, &config, port(1_000, 1_000));
    let stack = &mut setup.hosts[n as usize].nic.stack;
    stack.receive = StackDelay { constant: Duration::from_us(receive), jitter: StackJitter::None };
    for host in &mut setup.hosts {
        let spread = Duration::from_secs(10);
        host.clock = ClockSpec { offset_spread: spread, ..ClockSpec::IDEAL };
    }
    setup.flows = (0..n).map(|i| flow(&setup, i, 2_000_000, Duration::ZERO)).collect();
    setup.probes = ProbePlan {
        interval: Some(Duration::from_us(100)),
        groups: vec![0],
        flows_per_group: n,
        ..ProbePlan::default()
    };
    outcome(&setup)
}

/// Mean window of all flows after the first 5 ms, segments.
fn mean_window(outcome: &Outcome) -> f64 {
    let from = (Instant::ZERO + Duration::from_ms(5)).as_ps();
    let rows = outcome.probes.iter().filter(|p| p.time_ps > from);
    let windows: Vec<f64> = rows.map(|p| p.cwnd_bytes as f64 / 1432.0).collect();
    windows.iter().sum::<f64>() / windows.len() as f64
}

/// The receiver's stack delays data by 0 us to 300 us. Above its target of 100 us the endpoint
/// window falls to its minimum, as this delay does not depend on the load. With a target of 1 s for
/// the hosts only the fabric's window is left. It holds the fabric at its target, so that it is
/// larger by what the hosts hold: half of 1 Gbit/s for the delay, in packets of 1538 B.
#[test]
fn a_slow_receiver_reduces_the_endpoint_window_and_not_that_of_the_fabric() {
    let far = [("swift.endpoint-target", "1 s")];
    let [fast, below, slow, ignored] =
        [(0, &[][..]), (60, &[]), (300, &[]), (300, &far)].map(|(us, sets)| run(2, us, sets));
    let windows = [&fast, &below, &slow, &ignored].map(mean_window);
    let held = |us: f64| us / (2.0 * 1538.0 * 8.0 / 1000.0);
    println!("{windows:?}");
    assert!((windows[1] - windows[0] - held(60.0)).abs() < 1.0, "{windows:?}");
    assert!((windows[3] - windows[0] - held(300.0)).abs() < 1.5, "{windows:?}");
    assert!(windows[2] < 0.01, "{windows:?}");
    assert!(fast.flows.iter().all(|f| &*f.cc_used == "swift" && f.delay_option));
}

/// Thirty flows with less than a segment each share the line without a loss. Without a queue the
/// fabric takes 93 us of the 151 us: lines of 4 x 20 us, 12.3 us for the packet, 0.8 us for its
/// ACK. The other 58 us are 4.7 packets, and each ACK below the target adds a segment.
#[test]
fn more_flows_than_segments_share_a_queue_near_the_target() {
    let outcome = run(30, 0, &[]);
    let queue = outcome.queues.iter().find(|q| q.name == "switch0->h30").expect("the last port");
    let area: u64 = queue.levels.iter().map(|l| l.time_ps * u64::from(l.packets)).sum();
    let time: u64 = queue.levels.iter().map(|l| l.time_ps).sum();
    let (queue, window) = (area as f64 / time as f64, mean_window(&outcome));
    assert!((3.0..9.0).contains(&queue) && window < 1.0, "{queue} packets, {window} segments");
    assert!(outcome.flows.iter().all(|f| f.tcp.rto_count == Some(0) && f.delivered_ps.is_some()));
}
