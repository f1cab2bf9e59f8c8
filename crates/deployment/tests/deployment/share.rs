//! Partial deployment on k of n hosts: the ends equal the pure runs, and the answer keeps its
//! shape.

use std::path::Path;

use lowtide_deployment::rerender_report;
use lowtide_deployment::share::{MovedEnds, PartialDeployment, ShareResult, execute};
use lowtide_lab::{CompletedExperiment, ExecuteOptions, simulate};
use lowtide_scenario::Scenario;

use crate::common;

/// The embedded setup, shortened.
fn setup() -> Scenario {
    let scenario = Scenario::load("share").expect("an embedded setup");
    let short = [
        ("run.duration", "600 ms"),
        ("run.warmup", "100 ms"),
        ("traffic.stayed-short.start", "100 ms"),
        ("traffic.moved-short.start", "100 ms"),
        ("traffic.stayed-short.spacing", "3 ms"),
        ("traffic.moved-short.spacing", "3 ms"),
    ];
    short.iter().fold(scenario, |s, (key, value)| s.with_override(key, value).expect("a key"))
}

fn run_share(share: &PartialDeployment, dir: &Path) -> (CompletedExperiment, ShareResult) {
    let (source, command) = (share.scenario.text(), "lowtide matrix --share");
    let options = ExecuteOptions { source, command, ..common::options(dir) };
    execute(share, &share.plan().expect("a plan"), &options).expect("results")
}

#[test]
fn zero_and_all_moved_hosts_are_the_pure_runs() {
    let temp = tempfile::tempdir().unwrap();
    let share = |names| PartialDeployment::new(setup(), names, 3, MovedEnds::Both).unwrap();
    let (there, answer) = run_share(&share(["sack", "dctcp"]), &temp.path().join("there"));
    let (back, _) = run_share(&share(["dctcp", "sack"]), &temp.path().join("back"));
    let digests = |f: &CompletedExperiment| {
        f.results.runs.iter().map(|r| r.digest.clone()).collect::<Vec<_>>()
    };
    let (there_digests, back_digests) = (digests(&there), digests(&back));
    assert_eq!((there_digests.len(), &there_digests[0]), (4, &back_digests[3]));
    assert_eq!(there_digests[3], back_digests[0]);
    assert_ne!(there_digests[1], back_digests[2], "the moved hosts are the last ones");

    // The pure run: the scheme of [transport], without the tables of this command.
    let plain = [
        ("hosts.moved-senders.count", "3"),
        ("hosts.moved-receivers.count", "3"),
        ("traffic.moved-long.count", "3"),
        ("traffic.moved-short.count", "300"),
        ("traffic.moved-short.spacing", "1 ms"),
        ("transport.scheme", "dctcp"),
    ];
    let gone = [
        "hosts.stayed-senders",
        "hosts.stayed-receivers",
        "traffic.stayed-long",
        "traffic.stayed-short",
    ];
    let pure = gone.iter().fold(setup(), |s, table| s.without(table));
    let pure = plain.iter().fold(pure, |s, (key, value)| s.with_override(key, value).unwrap());
    let pure = simulate(&pure.expand().unwrap(), 1).unwrap();
    assert_eq!(pure.runs[0].digest, there_digests[3]);

    let [none, one, _, all] = answer.points.as_slice() else { panic!("{:?}", answer.points) };
    assert!(none.moved.is_none() && all.stayed.is_none());
    assert_eq!(one.moved.as_ref().map(|c| c.hosts), Some(1));
    let group = |name| pure.runs[0].group(name).unwrap();
    let moved = all.moved.as_ref().unwrap();
    assert_eq!(moved.fct_ms_p99, group("moved-short").fct_ms.p99);
    assert!(moved.fct_ms_p99.is_some(), "three hundred flows have a 99th percentile");
    assert_eq!(moved.goodput_mbps_per_host, group("moved-long").goodput_mbps.map(|g| g / 3.0));
    // One DCTCP host among loss-based ones gets almost nothing; among DCTCP hosts all queues are
    // short.
    let rate = |c: &Option<lowtide_deployment::share::ShareClass>| {
        c.as_ref().and_then(|c| c.goodput_mbps_per_host).unwrap()
    };
    assert!(rate(&one.moved) * 5.0 < rate(&one.stayed));
    assert!(all.queue.p50_packets < none.queue.p50_packets.map(|q| q / 3.0));
}

#[test]
fn one_end_can_move_alone_and_the_answer_has_the_documented_shape() {
    let temp = tempfile::tempdir().unwrap();
    let names = ["dctcp", "dctcp+cwr=never"];
    let setup = setup().with_override("traffic.stayed-short.count", "10").unwrap();
    let setup = setup.with_override("traffic.moved-short.count", "10").unwrap();
    let share = PartialDeployment::new(setup, names, 1, MovedEnds::Receivers).unwrap();
    let (finished, answer) = run_share(&share, temp.path());
    let digests: Vec<&str> = finished.results.runs.iter().map(|r| r.digest.as_str()).collect();
    assert_eq!(digests[0], digests[1], "a receiver never sends CWR: nothing has changed");

    let value = serde_json::to_value(&answer).unwrap();
    let keys =
        |v: &serde_json::Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        (&value["schema"], &value["moves"]),
        (&"lowtide.share/1".into(), &"receivers".into())
    );
    assert_eq!(
        keys(&value),
        [
            "schema",
            "version",
            "scenario",
            "scenario_hash",
            "digest",
            "from",
            "to",
            "moves",
            "hosts",
            "seeds",
            "points"
        ]
    );
    let point = &value["points"][0];
    assert!(point["moved"].is_null() && point["stayed"]["fct_ms_p99"].is_null(), "ten flows");
    let documented = include_str!("../../../../docs/howto/matrix.md");
    for key in keys(&value).iter().chain(&keys(point)).chain(&keys(&point["stayed"])) {
        assert!(documented.contains(&format!("`{key}`")), "docs/howto/matrix.md lacks `{key}`");
    }
    let page = std::fs::read_to_string(temp.path().join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Hosts moved"));
    assert_eq!(rerender_report(temp.path()).unwrap().manifest.files, finished.manifest.files);
}

#[test]
fn a_setup_without_the_two_classes_is_refused() {
    let refused = |scenario: Scenario| {
        let share =
            PartialDeployment::new(scenario, ["sack", "dctcp"], 2, MovedEnds::Both).unwrap();
        share.plan().unwrap_err().to_string()
    };
    let text = refused(Scenario::load("two-flows-1g").unwrap().without("compare"));
    assert!(text.contains("[hosts.stayed-senders]"), "{text}");
    let many = setup().with_override("hosts.moved-senders.count", "2").unwrap();
    assert!(refused(many).contains("must have `count = 1`"));
    assert!(PartialDeployment::new(setup(), ["sack", "dctpc"], 2, MovedEnds::Both).is_err());
}
