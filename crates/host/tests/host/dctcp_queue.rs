//! DCTCP's queue compared with the analysis of DCTCP §3.3, at 10 Gbit/s and 100 us.

use crate::common::{self, config};
use lowtide_host::Outcome;
use lowtide_tcp::switches;
use lowtide_units::{Bytes, Duration};

const K: u64 = 40;
const RTT_US: f64 = 100.0;

fn long_flows(n: u32, m: u32, arithmetic: &str) -> Outcome {
    let mut config = config("dctcp");
    switches::set_text(&mut config, "dctcp.arithmetic", arithmetic)
        .expect("it is one of the names");
    config.delack_segments = m;
    config.delack_timer = Duration::from_ms(1);
    config.receive_buffer = Bytes::new(8_000_000);
    config.send_buffer = Bytes::new(8_000_000);
    let (delay, jitter) = (Duration::from_us(30), Duration::from_us(100));
    common::outcome(&common::long_flows(n, &config, delay, K, jitter))
}

/// Returns the queue length at quantile `p` of the arrivals, in packets.
fn found(outcome: &Outcome, p: f64) -> f64 {
    let queue = outcome.queues.iter().max_by_key(|q| q.served.marks).expect("a queue");
    let all: u64 = queue.levels.iter().map(|l| l.arrivals).sum();
    let mut below = 0;
    for level in &queue.levels {
        below += level.arrivals;
        if below as f64 >= p * all as f64 {
            return f64::from(level.packets);
        }
    }
    f64::NAN
}

/// DCTCP eq. 5 to 7: window at the mark, alpha, and the queue amplitude in packets.
fn predicted_amplitude(n: f64) -> f64 {
    // Packets on the line: 1538 B each with Ethernet framing.
    let bdp = 10e9 * RTT_US * 1e-6 / (1538.0 * 8.0);
    let w = (bdp + K as f64) / n;
    // Eq. 6: alpha^2 (1 - alpha/4) = (2 W + 1) / (W + 1)^2, solved by bisection.
    let target = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..60 {
        let alpha = f64::midpoint(low, high);
        if alpha * alpha * (1.0 - alpha / 4.0) < target { low = alpha } else { high = alpha }
    }
    n * (w + 1.0) * low / 2.0
}

#[test]
fn the_prediction_is_the_papers() {
    assert!((predicted_amplitude(2.0) - 11.4).abs() < 0.3, "{}", predicted_amplitude(2.0));
    assert!((predicted_amplitude(10.0) - 26.7).abs() < 0.7, "{}", predicted_amplitude(10.0));
}

/// Checks goodput, maximum and amplitude; the amplitude only if `judge`.
fn check(n: u32, m: u32, arithmetic: &str, judge: bool) {
    let outcome = long_flows(n, m, arithmetic);
    let name = format!("N = {n}, m = {m}, {arithmetic}");
    let top = found(&outcome, 0.999);
    let ceiling = K as f64 + f64::from(n);
    let room = 0.1 * ceiling + 2.0 * f64::from(n);
    assert!((top - ceiling).abs() <= room, "{name}: p99.9 {top}, K + N = {ceiling}");
    let amplitude = found(&outcome, 0.99) - found(&outcome, 0.01);
    let predicted = predicted_amplitude(f64::from(n));
    let off = (amplitude / predicted - 1.0).abs();
    assert!(!judge || off <= 0.25, "{name}: swing {amplitude}, eq. 7 {predicted:.1}");
    let delivered: u64 = outcome.flows.iter().map(|f| f.delivered_after_warmup_bytes).sum();
    let goodput = delivered as f64 * 8.0 / 0.1;
    assert!((goodput / (10e9 * 1448.0 / 1538.0) - 1.0).abs() < 0.01, "{name}: {goodput}");
}

#[test]
fn with_segment_arithmetic_the_queue_amplitude_is_as_predicted() {
    for (n, m) in [(2, 1), (2, 2), (10, 1), (10, 2)] {
        check(n, m, "linux", true);
    }
}

/// With byte arithmetic the part of the last segment left by a reduction is not sent. So each flow
/// yields up to one segment more than in eq. 7: at N = 10 and m = 2 the amplitude is 34, 27 % above
/// 26.5. A finding (`docs/evidence/findings.md`), so this amplitude is not checked.
#[test]
fn with_byte_arithmetic_it_is_as_predicted_except_for_one_case() {
    for (n, m, judge) in [(2, 1, true), (2, 2, true), (10, 1, true), (10, 2, false)] {
        check(n, m, "q20", judge);
    }
}
