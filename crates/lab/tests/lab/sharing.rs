//! Runs that share a simulation have the tables of real runs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_lab::{CompletedExperiment, ExecuteOptions, RunProgress, execute};
use lowtide_record::SharedRuns;
use lowtide_scenario::{RunPlan, Scenario};
use proptest::prelude::*;

use crate::common;

const BASE: &str = r#"
schema = 1
title = "A test"
[run]
duration = "100 ms"
end = "done"
allow-mismatch = true
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "40 pkt"
[transport]
profile = "linux"
[transport.sender]
nagle = false
rto-min = "10 ms"
[hosts.senders]
count = 3
[hosts.receivers]
count = 1
[traffic.long]
from = "senders"
to = "receivers"
count = 3
size = "100 kB"
[traffic.queries]
kind = "incast"
from = "receivers"
to = "senders"
total = "60 kB"
queries = 2
[probes]
interval = "1 ms"
groups = ["long"]
queues = true
[disturbance]
start-jitter = "100 us"
"#;

/// A marker, a swept key of it, and the values of that key.
type Marker = (&'static str, &'static str, &'static [&'static str]);

const MARKERS: [Marker; 8] = [
    ("kind = \"step\"", "switch.mark.k", &["2 pkt", "5 pkt", "9 kB", "20 pkt"]),
    ("kind = \"step-dequeue\"", "switch.mark.k", &["2 pkt", "5 pkt", "20 pkt"]),
    (
        "kind = \"red\"\nmin = \"2 pkt\"\nmax = \"30 pkt\"",
        "switch.mark.min",
        &["1 pkt", "3 pkt", "10 pkt"],
    ),
    ("kind = \"phantom\"\nk = \"3 kB\"", "switch.mark.gamma", &["80 %", "90 %", "95 %"]),
    ("kind = \"codel\"", "switch.mark.target", &["20 us", "50 us", "100 us"]),
    ("kind = \"pie\"", "switch.mark.target", &["20 us", "50 us", "100 us"]),
    ("kind = \"pi\"", "switch.mark.q-ref", &["2", "5", "20"]),
    ("kind = \"step\"\nk = \"3 pkt\"", "switch.mark.not-ect", &["ignore", "drop"]),
];

/// Other swept keys with their values.
const KEYS: [(&str, &[&str]); 6] = [
    ("switch.buffer", &["40 pkt", "60 pkt"]),
    ("transport.sender.dctcp.shift-g", &["2", "4"]),
    ("transport.sender.vegas.beta", &["4", "8"]),
    ("hosts.senders.connection.ecn", &["off", "passive", "rfc3168"]),
    ("hosts.receivers.connection.ecn", &["off", "rfc3168", "accecn"]),
    ("traffic.long.size", &["100 kB", "60 kB"]),
];

const SCHEMES: [&str; 7] = ["sack", "cubic", "vegas", "dx", "ecn", "dctcp", "accecn"];

fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// Returns the scenario of a marker and two schemes that sweeps a key of the marker and another
/// key.
fn scenario(marker: usize, not_ect: &str, schemes: [usize; 2], key: usize) -> Scenario {
    let (mark, swept, values) = MARKERS[marker];
    let not_ect = if swept.ends_with("not-ect") {
        String::new()
    } else {
        format!("not-ect = \"{not_ect}\"\n")
    };
    let names: BTreeSet<&str> = schemes.iter().map(|i| SCHEMES[*i]).collect();
    let text = format!("{BASE}[switch.mark]\n{mark}\n{not_ect}[compare]\nschemes = {names:?}\n")
        .replace('{', "[")
        .replace('}', "]");
    let scenario = Scenario::parse(&text, "t.toml").expect("TOML");
    let scenario = scenario.with_sweep(swept, &owned(values)).expect("a key");
    let (key, values) = KEYS[key];
    scenario.with_sweep(key, &owned(values)).expect("a key")
}

fn expand(scenario: &Scenario) -> RunPlan {
    scenario.expand().unwrap_or_else(|e| panic!("{e}\n{}", scenario.text()))
}

/// Executes `plan` and counts its simulations.
fn made(plan: &RunPlan, share: bool) -> (CompletedExperiment, usize) {
    let temp = tempfile::tempdir().expect("a directory");
    let started = AtomicUsize::new(0);
    let count = |p: RunProgress<'_>| {
        started.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    let options = ExecuteOptions { share, progress: &count, ..common::options(temp.path()) };
    (execute(plan, &options).expect("it runs"), started.into_inner())
}

/// Hashes of all tables, digests of all runs.
fn content(made: &CompletedExperiment) -> (Vec<(&str, &str)>, Vec<&str>) {
    let tables = made.manifest.files.iter().filter(|f| f.path.ends_with(".parquet"));
    (
        tables.map(|f| (f.path.as_str(), f.blake3.as_str())).collect(),
        made.manifest.runs.iter().map(|r| r.digest.as_str()).collect(),
    )
}

/// Compares both ways, and returns the numbers of simulations and runs.
fn compare(plan: &RunPlan) -> [usize; 2] {
    let ((shared, few), (real, all)) = (made(plan, true), made(plan, false));
    assert_eq!(content(&shared), content(&real));
    assert_eq!((&shared.results.digest, all), (&real.results.digest, plan.runs.len()));
    assert!(real.manifest.shared.is_empty());
    let listed: usize = shared.manifest.shared.iter().map(|s| s.runs - s.simulated).sum();
    assert_eq!(all - few, listed);
    let copied = shared.manifest.runs.iter().filter(|r| r.shared_from.is_some());
    assert_eq!(copied.count(), listed);
    [few, all]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8) })]

    #[test]
    fn shared_runs_have_the_tables_of_real_runs(
        marker in 0..MARKERS.len(),
        drop in prop::bool::weighted(0.2),
        first in 0..SCHEMES.len(),
        second in 0..SCHEMES.len(),
        key in 0..KEYS.len(),
    ) {
        let not_ect = if drop { "drop" } else { "ignore" };
        compare(&expand(&scenario(marker, not_ect, [first, second], key)));
    }
}

#[test]
fn k_is_simulated_once_without_ect() {
    // Four values of K, two buffers, two seeds; DCTCP needs each.
    let plan = expand(&scenario(0, "ignore", [0, 5], 0).seeds(2).expect("a key"));
    assert_eq!(compare(&plan), [16 + 4, 32]);
    let shared = made(&plan, true).0.manifest.shared;
    let sentences: Vec<String> = shared.iter().map(SharedRuns::sentence).collect();
    let of_sack = "sack: 4 of 16 runs were simulated; `switch.mark.k` cannot affect it: no packet \
                   is ECN-capable";
    assert_eq!(sentences, [of_sack]);
}

#[test]
fn a_parameter_of_another_scheme_is_simulated_once() {
    let plan = expand(&scenario(7, "", [1, 5], 1));
    // `not-ect` affects only CUBIC, whose packets a marker may drop; `shift-g` only DCTCP.
    assert_eq!(compare(&plan), [2 + 4, 8]);
    let shared = made(&plan, true).0.manifest.shared;
    assert_eq!(shared.len(), 1);
    assert_eq!(shared[0].keys, ["transport.sender.dctcp.shift-g"]);
    assert_eq!(shared[0].reason, "its settings are equal at all points");
}

/// An interrupted session stored the simulated run, but not those that have its tables.
#[test]
fn a_continued_session_has_the_same_tables() {
    let plan = expand(&scenario(0, "ignore", [0, 0], 0));
    let temp = tempfile::tempdir().expect("a directory");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let interrupt = |p: RunProgress<'_>| {
        if matches!(p, RunProgress::Finished(_)) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = common::options(temp.path());
    let first = ExecuteOptions { jobs: 1, stop: &stop, progress: &interrupt, ..options };
    execute(&plan, &first).expect_err("it is interrupted");
    let continued = common::run(&plan, temp.path());
    assert_eq!(content(&continued), content(&made(&plan, false).0));
}
