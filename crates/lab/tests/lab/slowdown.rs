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
        ("probes.groups", "short"),
    ];
    let scenario = fixed
        .iter()
        .chain(changes)
        .fold(alone, |s, (key, value)| s.with_override(key, value).expect("a key"));
    let results = simulate(&scenario.expand().expect("a right scenario"), 1).expect("it runs");
    results.runs[0].group("short").expect("the group").clone()
}

#[test]
fn a_flow_alone_that_no_window_stops_takes_its_ideal_time() {
    for size in ["1 B", "1448 B", "10 kB", "200 kB"] {
        let facts = short(&[("traffic.short.count", "1"), ("traffic.short.size", size)]);
        let slow = facts.slowdown.max.expect("it completed");
        assert!((1.0..1.001).contains(&slow), "{size}: {slow}");
    }
}

#[test]
fn windows_and_queues_slow_flows_down() {
    // 2 ms: the first window is a sixteenth of what the path holds.
    let far = |count: &str| {
        short(&[
            ("topology.link-delay", "500 us"),
            ("traffic.short.count", count),
            ("traffic.short.size", "200 kB"),
        ])
    };
    let alone = far("1");
    let slow = alone.slowdown.max.expect("it completed");
    assert!(slow > 1.2 && slow < 3.0, "slow start waits for ACKs: {slow}");
    let many = far("24");
    assert!(many.slowdown.mean.expect("all completed") > 2.0 * slow, "{:?}", many.slowdown);
    assert!(many.classes.is_empty(), "one size");
}
