//! What tests of whole experiments share.

use lowtide_scenario::{Plan, Scenario};

/// Three schemes, two sizes, two seeds: twelve short runs.
pub(crate) fn plan() -> Plan {
    let sizes = ["10 kB".to_owned(), "20 kB".to_owned()];
    let scenario = Scenario::load("queue-buildup").expect("an embedded scenario");
    let small =
        [("traffic.long.size", "400 kB"), ("traffic.short.start", "2 ms"), ("run.seeds", "2")];
    let scenario = small.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    let scenario = scenario.with_sweep("traffic.short.size", &sizes).expect("a key");
    scenario.expand().expect("a right scenario")
}
