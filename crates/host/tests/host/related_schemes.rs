//! TDCTCP, Vegas and HULL's host on one bottleneck: the mechanisms that their papers rely on. The
//! experiments check the papers' figures.

use crate::common::{config, outcome, port, star_setup};
use lowtide_host::{Disturbance, EndCondition, Outcome, Setup};
use lowtide_rows::TcpCounters;
use lowtide_tcp::{Config, switches};
use lowtide_traffic::{Flow, WritePattern};
use lowtide_units::{Duration, Instant};

fn set(config: &mut Config, name: &str, value: &str) {
    switches::set_text(config, name, value).unwrap_or_else(|e| panic!("{e}"));
}

/// Runs `n` unlimited flows to one port of 1 Gbit/s that marks above `k`; each starts `spacing`
/// after the previous one.
fn long_flows(n: u32, config: &Config, k: u64, spacing: Duration, ms: u64) -> Outcome {
    let setup = star_setup(n, config, port(1000, k));
    let flow = |i: u32| Flow {
        group: 0,
        src: i,
        dst: n,
        size: None,
        start: Instant::ZERO + spacing * u64::from(i),
        write_pattern: WritePattern::Bulk,
    };
    outcome(&Setup {
        flows: (0..n).map(flow).collect(),
        end: EndCondition { at: Duration::from_ms(ms), when_done: false },
        warmup: Duration::from_ms(ms / 4),
        disturbance: Disturbance {
            start_jitter: Duration::from_us(200),
            host_jitter: Duration::from_us(1),
            ports: true,
            ties: true,
            salts: true,
        },
        ..setup
    })
}

/// Returns the mean queue length of the port to the receiver, in 1/1000 packets.
fn mean_queue(o: &Outcome) -> u64 {
    let queue =
        o.queues.iter().filter(|q| q.at_switch).max_by_key(|q| q.served.bytes).expect("a queue");
    let (sum, time) = queue.levels.iter().fold((0, 0), |(sum, time), l| {
        let ps = u128::from(l.time_ps);
        (sum + ps * u128::from(l.packets), time + ps)
    });
    (sum * 1000 / time.max(1)) as u64
}

/// Returns Jain's fairness index of the delivered bytes, in 1/1000 (TDCTCP §V).
fn fairness(o: &Outcome) -> u64 {
    let shares = || o.flows.iter().map(|f| u128::from(f.delivered_after_warmup_bytes));
    let (sum, squares): (u128, u128) = (shares().sum(), shares().map(|x| x * x).sum());
    (1000 * sum * sum / (squares * o.flows.len() as u128)) as u64
}

/// Returns the goodput after the warm-up, in 1/1000 of the maximum.
fn goodput(o: &Outcome, ms: u64) -> u64 {
    let delivered: u64 = o.flows.iter().map(|f| f.delivered_after_warmup_bytes).sum();
    // 1448 of 1538 B at 1 Gbit/s for three quarters of the time.
    delivered * 1538 * 1000 / (1448 * (125_000 * ms * 3 / 4))
}

/// Runs ten flows with windows of one or two segments: each window of one waits for the delayed-ACK
/// timer.
fn narrow(scheme: &str) -> Outcome {
    outcome_of(&narrow_config(scheme))
}

fn outcome_of(c: &Config) -> Outcome {
    long_flows(10, c, 16, Duration::ZERO, 1000)
}

fn narrow_config(scheme: &str) -> Config {
    let mut c = config(scheme);
    set(&mut c, "window-floor", "1");
    set(&mut c, "delack-timer", "40 ms");
    set(&mut c, "rto-min", "200 ms");
    if scheme == "tdctcp" {
        set(&mut c, "tdctcp.clock-granularity", "1 ms");
    }
    c
}

/// TDCTCP fig. 4, fig. 9, fig. 13: with the adaptive timer and the reset of alpha no flow starves,
/// at the cost of a slightly longer queue.
#[test]
fn tdctcp_waits_less_for_timers_and_is_fairer_than_dctcp() {
    let (d, t) = (narrow("dctcp"), narrow("tdctcp"));
    assert!(fairness(&t) > 980, "{}", fairness(&t));
    assert!(fairness(&d) < 900, "{}", fairness(&d));
    let spread = |o: &Outcome| {
        let waits = || o.flows.iter().filter_map(|f| f.tcp.delack_time_ps);
        waits().max().expect("flows") - waits().min().expect("flows")
    };
    assert!(spread(&t) * 2 < spread(&d), "{} and {} ps", spread(&t), spread(&d));
    let longer = mean_queue(&t).saturating_sub(mean_queue(&d));
    assert!((1..4000).contains(&longer), "{longer}/1000 packets longer");
    assert!(goodput(&t, 1000) > 990 && goodput(&d, 1000) > 990);
}

/// Compares the rule that detects ACKs of the delayed-ACK timer with the truth.
#[test]
fn the_rule_finds_delayed_ack_timeouts_of_long_flows() {
    let o = narrow("tdctcp");
    let sum = |of: fn(&TcpCounters) -> Option<u64>| {
        o.flows.iter().filter_map(|f| of(&f.tcp)).sum::<u64>()
    };
    let (found, missed) = (sum(|c| c.delack_detected), sum(|c| c.delack_missed));
    assert!(found > 500, "{found} found");
    assert_eq!((missed, sum(|c| c.delack_false_positives)), (0, 0), "{found} found");
    // An ACK may be in flight when the run ends.
    assert!(sum(|c| c.delack_timeouts).abs_diff(found + missed) <= 10);
    // A rule that is always right behaves like the oracle.
    let mut oracle = narrow_config("tdctcp");
    set(&mut oracle, "tdctcp.delack-timeout", "oracle");
    assert_eq!(outcome_of(&oracle).digest, o.digest);
    let dctcp = narrow("dctcp");
    assert!(dctcp.flows.iter().any(|f| f.tcp.delack_timeouts > Some(0)));
    assert!(
        dctcp
            .flows
            .iter()
            .all(|f| (f.tcp.delack_detected, f.tcp.delack_missed) == (Some(0), Some(0))),
        "it does not use the rule"
    );
}

/// DX fig. 7: each Vegas flow keeps one to three packets queued. Flows that start behind a queue
/// take it for part of the path and add more.
#[test]
fn vegas_queues_grow_with_each_flow_and_beyond_beta_when_the_base_rtt_is_wrong() {
    let queue = |n: u32| {
        let o = long_flows(n, &config("vegas"), 1000, Duration::from_ms(20), 1000);
        assert!(goodput(&o, 1000) > 990, "{n} flows: {}", goodput(&o, 1000));
        mean_queue(&o) / u64::from(n)
    };
    let (two, five, ten) = (queue(2), queue(5), queue(10));
    assert!((1000..=3000).contains(&two), "{two}/1000 packets per flow of two");
    assert!(two < five && five < ten, "{two} {five} {ten}");
    assert!(ten > 3000, "{ten}/1000 packets per flow of ten");
}

#[test]
fn hulls_pacer_costs_nothing_and_shortens_the_queue() {
    let run = |scheme| long_flows(10, &config(scheme), 20, Duration::from_ms(20), 500);
    let (hull, dctcp) = (run("hull"), run("dctcp"));
    assert!(mean_queue(&hull) < mean_queue(&dctcp), "{} {}", mean_queue(&hull), mean_queue(&dctcp));
    assert!(goodput(&hull, 500) > 990, "{}", goodput(&hull, 500));
}
