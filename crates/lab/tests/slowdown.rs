//! Slowdown and size classes of real runs.

use lowtide_lab::{GroupFacts, simulate};
use lowtide_scenario::Scenario;

/// The short flows of one run of `queue-buildup` with DCTCP, without the long ones.
fn short(changes: &[(&str, &str)]) -> GroupFacts {
    let alone =
        Scenario::load("queue-buildup").expect("an embedded scenario").without("traffic.long");
    let fixed = [
        ("run.seeds", "1"),
        ("disturbance.start-jitter", "0 s"),
        ("disturbance.host-jitter", "0 s"),
        ("compare.schemes", "dctcp"),
        ("traffic.short.start", "1 ms"),
    ];
    let scenario = fixed
        .iter()
        .chain(changes)
        .fold(alone, |s, (key, value)| s.with_override(key, value).expect("a key"));
    let results = simulate(&scenario.expand().expect("a right scenario"), 1).expect("it runs");
    results.runs[0].group("short").expect("the group").clone()
}

#[test]
fn a_flow_alone_within_its_first_window_takes_its_ideal_time() {
    for size in ["1 B", "1448 B", "10 kB"] {
        let facts = short(&[("traffic.short.count", "1"), ("traffic.short.size", size)]);
        let slow = facts.slowdown.max.expect("it completed");
        assert!((1.0..1.02).contains(&slow), "{size}: {slow}");
    }
}

#[test]
fn windows_and_queues_slow_flows_down() {
    let alone = short(&[("traffic.short.count", "1"), ("traffic.short.size", "200 kB")]);
    let slow = alone.slowdown.max.expect("it completed");
    assert!(slow > 1.02 && slow < 3.0, "slow start waits for ACKs: {slow}");
    let eight = short(&[("traffic.short.count", "8"), ("traffic.short.size", "200 kB")]);
    assert!(eight.slowdown.mean.expect("all completed") > 2.0 * slow, "{:?}", eight.slowdown);
    assert!(eight.classes.is_empty(), "one size");
}
