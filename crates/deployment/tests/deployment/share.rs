//! Partial deployment on k of n hosts: the ends equal the pure runs, and the answer keeps its
//! shape.

use std::path::Path;

use lowtide_deployment::share::{
    MovedEnds, PartialDeployment, ShareClass, SharePoint, ShareResult, execute, tables,
};
use lowtide_deployment::{Estimate, rerender_report};
use lowtide_lab::{CompletedExperiment, ExecuteOptions, OverSeeds, TailMetric, simulate};
use lowtide_scenario::Scenario;

use crate::common;

const FCT: TailMetric = TailMetric::FctMs;

/// The embedded setup, shortened, with one seed.
fn setup() -> Scenario {
    let scenario = Scenario::load("share").expect("an embedded setup").seeds(1).expect("a seed");
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
    let alone = |value: Option<f64>| value.map(|value| Estimate { value, ci95: None });
    assert_eq!(moved.fct_ms_p99, alone(group("moved-short").fct_ms.p99));
    assert!(moved.fct_ms_p99.is_some(), "three hundred flows have a 99th percentile");
    let goodput = group("moved-long").goodput_mbps;
    assert_eq!(moved.goodput_mbps_per_host, alone(goodput.map(|g| g / 3.0)));
    // One DCTCP host among loss-based ones gets almost nothing; among DCTCP hosts all queues are
    // short.
    let rate =
        |c: &Option<ShareClass>| c.as_ref().and_then(|c| c.goodput_mbps_per_host).unwrap().value;
    assert!(rate(&one.moved) * 5.0 < rate(&one.stayed));
    let median = |p: &SharePoint| p.queue.p50_packets.unwrap().value;
    assert!(median(all) < median(none) / 3.0);
}

#[test]
fn the_setup_has_enough_seeds_for_intervals() {
    let setup = Scenario::load("share").unwrap();
    let share = PartialDeployment::new(setup, ["sack", "dctcp"], 1, MovedEnds::Both).unwrap();
    assert_eq!(share.plan().unwrap().runs.len(), 2 * 10, "two points of ten seeds");
}

#[test]
fn several_seeds_give_intervals_in_every_output() {
    let temp = tempfile::tempdir().unwrap();
    let share =
        PartialDeployment::new(setup().seeds(3).unwrap(), ["sack", "dctcp"], 2, MovedEnds::Both);
    let (finished, answer) = run_share(&share.unwrap(), temp.path());
    assert_eq!((answer.seeds, finished.results.runs.len()), (3, 9));
    let one = &answer.points[1];
    let class = one.stayed.as_ref().unwrap();
    // Goodput is the mean of three runs; a percentile is that of all their flows.
    let runs: Vec<_> = finished.results.runs[3..6].iter().collect();
    let values: Vec<Option<f64>> =
        runs.iter().map(|r| r.group("stayed-long").unwrap().goodput_mbps).collect();
    let over = OverSeeds::new(&values);
    let goodput = class.goodput_mbps_per_host.unwrap();
    assert_eq!((Some(goodput.value), goodput.ci95), (over.mean, over.ci95));
    let tail = finished.results.tails.iter().find(|row| {
        row.group == "stayed-short" && row.point == runs[0].key.point && row.metric == FCT
    });
    let median = &tail.unwrap().p50;
    let p50 = class.fct_ms_p50.unwrap();
    assert_eq!((Some(p50.value), p50.ci95), (median.value, median.ci95));
    let drops = one.queue.drops.unwrap();
    assert!(goodput.ci95.is_some() && p50.ci95.is_some() && drops.ci95.is_some());

    let read = |name: &str| std::fs::read_to_string(temp.path().join(name)).unwrap();
    let [low, high] = drops.ci95.unwrap();
    let line = format!("1,queue,,drops,{},{low},{high}\n", drops.value);
    let csv = read("share.csv");
    assert!(csv.contains(&line), "{line}{csv}");
    let figure = read("figures/goodput.csv");
    assert!(figure.lines().next().unwrap().contains("goodput_mbps_ci95_low"), "{figure}");
    assert!(figure.contains(&goodput.ci95.unwrap()[0].to_string()), "{figure}");
    let page = read("report.html");
    for table in tables(&answer) {
        let title = table.title.replace('/', "&#x2f;");
        assert!(page.contains(&title), "{title}");
        assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.title);
    }
    assert!(page.contains("Mean over 3 seeds") && page.contains("All flows of 3 seeds together"));
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
        (&"lowtide.share/3".into(), &"receivers".into())
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
    for key in [&value, point, &point["stayed"], &point["queue"]].into_iter().flat_map(keys) {
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
