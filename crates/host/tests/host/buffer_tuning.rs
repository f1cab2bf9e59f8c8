//! Growth of a tuned receive buffer, against its closed form.
//!
//! N flows over a line of rate C whose queue holds all windows: the round trip is N W / C, and a
//! window grows by a step `s` per round trip, so W^2 = W0^2 + 2 s C t / N. An interval of FreeBSD
//! 10 also has the wait for the next ACK (two segments of each flow), for the next tick of 1 ms,
//! and the propagation delay. Growth starts after slow start, which sends one initial window in
//! all its rounds but the last, and one round trip: 2 N W0 / C. Growth with all of these bounds W
//! from below. A sample of W is off by one step at most.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::ProbePlan;
use lowtide_tcp::switches;
use lowtide_units::{Bytes, Duration, Instant};

const STEP: f64 = 16_384.0;
const START: f64 = 46.0 * 1448.0;
/// 1 Gbit/s of payload, bytes per second.
const RATE: f64 = 125e6 * 1448.0 / 1538.0;

/// Window after `t` seconds if a round trip of a flow of `n` takes `extra` seconds more than its
/// queue.
fn window(n: f64, t: f64, extra: f64) -> f64 {
    let (mut w, dt) = (START, 1e-5);
    for _ in 0..(t / dt) as u64 {
        w += STEP * dt / (n * w / RATE + extra);
    }
    w
}

/// The windows that `n` senders were offered at each time, bytes.
fn offered(n: u32, settings: &[(&str, &str)], times_ms: &[u64]) -> Vec<Vec<f64>> {
    let mut config = config("sack");
    config.receive_buffer = Bytes::new(2 << 20);
    config.send_buffer = Bytes::new(4 << 20);
    for (name, value) in settings {
        switches::set_text(&mut config, name, value).expect("a switch");
    }
    let mut setup = star_setup(n, &config, port(100_000, 100_000));
    setup.end.when_done = false;
    setup.end.at = Duration::from_ms(*times_ms.last().expect("a time") + 10);
    setup.flows = (0..n).map(|i| flow(&setup, i, 1 << 30, Duration::ZERO)).collect();
    setup.probes = ProbePlan { trace: (0..n).collect(), ..ProbePlan::default() };
    let trace = outcome(&setup).trace.expect("a trace");
    let at = |ms: u64, id: u32| {
        let until = Instant::ZERO + Duration::from_ms(ms);
        let mut rows = trace.senders.iter().filter(|row| row.flow == id && row.at <= until);
        rows.next_back().map_or(0.0, |row| row.snd_wnd as f64)
    };
    times_ms.iter().map(|ms| (0..n).map(|id| at(*ms, id)).collect()).collect()
}

const FREEBSD: [(&str, &str); 2] =
    [("buffer-tuning", "auto"), ("buffer-tuning-rule", "freebsd-10")];

#[test]
fn the_closed_form_gives_the_known_windows() {
    assert!((window(2.0, 0.5, 0.0) - 1.01e6).abs() < 0.04e6, "{}", window(2.0, 0.5, 0.0));
    assert!((window(8.0, 0.5, 0.0) - 0.51e6).abs() < 0.02e6, "{}", window(8.0, 0.5, 0.0));
}

#[test]
fn freebsds_buffer_grows_by_a_step_per_round_trip_with_its_queue() {
    for n in [2, 8] {
        let times = [100, 250, 500];
        for (ms, windows) in times.iter().zip(offered(n, &FREEBSD, &times)) {
            let (n, t) = (f64::from(n), *ms as f64 / 1e3);
            let extra = 0.001 + 2.0 * n * 1538.0 * 8.0 / 1e9 + 4.0 * 20e-6;
            let slow_start = 2.0 * n * START / RATE;
            let (low, high) = (window(n, t - slow_start, extra), window(n, t, 0.0));
            // The sum of all windows makes the round trip, so the form holds for their mean.
            let mean = windows.iter().sum::<f64>() / n;
            let range = low - STEP..=high + STEP;
            assert!(range.contains(&mean), "{n} flows, {ms} ms: {windows:?}, {range:?}");
        }
    }
}

#[test]
fn a_fixed_buffer_offers_all_of_it_from_the_start() {
    let windows = offered(2, &[("buffer-tuning-rule", "freebsd-10")], &[10, 100]);
    assert!(windows.iter().flatten().all(|w| *w > 2_090_000.0), "{windows:?}");
}

#[test]
fn linuxs_buffer_reaches_its_maximum() {
    let windows = offered(2, &[FREEBSD[0], ("buffer-tuning-rule", "linux")], &[500]);
    assert!(windows[0].iter().all(|w| *w > 1.9e6), "{windows:?}");
}

#[test]
fn freebsd_14s_buffer_ends_at_what_arrives_within_a_tick() {
    // A handshake of 0.1 ms has an SRTT of no whole tick, so an interval ends at the next tick of
    // 1 ms. The buffer grows by half while 3/8 of it arrive in one.
    for n in [2, 8] {
        let per_tick = RATE * 1e-3 / f64::from(n);
        let mut expected = START;
        while expected * 3.0 / 8.0 < per_tick {
            expected *= 1.5;
        }
        for w in &offered(n, &[FREEBSD[0], ("buffer-tuning-rule", "freebsd-14")], &[300])[0] {
            assert!((w - expected).abs() < 1448.0, "{n}: {w}, {expected}");
        }
    }
}
