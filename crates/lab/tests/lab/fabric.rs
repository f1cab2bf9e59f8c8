//! A small fabric end to end: queries, shared memory, classes, link failures, many queues.

use std::fs;

use lowtide_lab::flow::{FlowSelector, explain};
use lowtide_lab::simulate;
use lowtide_record::{RunDir, read_table};
use lowtide_rows::Role;
use lowtide_scenario::{RunPlan, Scenario};

use crate::common::run;

/// Returns the plan of an embedded scenario with these overrides and `more` tables.
fn plan(name: &str, set: &[(&str, &str)], more: &str) -> RunPlan {
    let text = lowtide_scenario::embedded_scenarios()
        .iter()
        .find(|s| s.name == name)
        .expect("it is embedded")
        .text;
    let scenario = Scenario::parse(&format!("{text}{more}"), "t.toml").expect("it is right");
    let changed = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    changed.expand().expect("it is right")
}

const FABRIC: [(&str, &str); 4] = [
    ("traffic.background.flows", "40"),
    ("traffic.queries.queries", "5"),
    ("compare.schemes", "dctcp"),
    ("probes.size-classes", "100 kB"),
];

#[test]
fn query_and_buffer_statistics_are_in_the_summary_the_report_and_the_tables() {
    let temp = tempfile::tempdir().unwrap();
    let done = run(&plan("leaf-spine", &FABRIC, ""), temp.path());
    let run = &done.results.runs[0];
    let queries = run.queries("queries").unwrap();
    assert_eq!((queries.queries, queries.unfinished), (20, 0), "five of each of four clients");
    assert!(queries.qct_ms.mean.is_some() && queries.timeout_fraction.is_some());
    assert!(queries.deadline_fraction.is_some());
    let mean = |metric: &str| {
        let found =
            done.results.summary.iter().find(|r| r.subject.is_group_metric("queries", metric));
        found.unwrap_or_else(|| panic!("{metric}")).estimate.value
    };
    assert_eq!(mean("qct_ms.mean"), queries.qct_ms.mean);
    assert_eq!(mean("timeout_fraction"), queries.timeout_fraction);
    assert_eq!(mean("deadline_fraction"), queries.deadline_fraction);

    assert_eq!(run.buffer_pools.len(), 8, "one for each leaf and each spine");
    let leaf = run.buffer_pool("leaf0.0").unwrap();
    assert!(leaf.peak_bytes > 0 && leaf.peak_bytes <= leaf.size_bytes, "{leaf:?}");
    assert_eq!(leaf.size_bytes, 4_000_000);
    let classes = &run.group("background").unwrap().classes;
    let names: Vec<String> = classes.iter().map(lowtide_lab::SizeClassFacts::name).collect();
    assert_eq!(names, ["0 B-100 kB", "100 kB-"], "as the scenario says");

    let report = fs::read_to_string(temp.path().join("report.html")).unwrap();
    for said in [
        "Queries of group queries",
        "share with a timeout",
        "The 12 longest of 64 queues at switches",
        "52 are left out",
        "Buffer pools that queues share",
        "Tail of the slowdown of group background",
        "<td class=\"name\">100 kB-</td>",
    ] {
        assert!(report.contains(said), "{said}");
    }
    let (dir, _) = RunDir::open(temp.path()).unwrap();
    let rows = |table: &str| read_table(&dir.table(table).unwrap()).unwrap().count();
    assert_eq!((rows("queries"), rows("buffer_pools")), (20, 8));
    let none = dir.table("queue_classes").unwrap_err().to_string();
    assert!(none.contains("the switches have no classes"), "{none}");
}

#[test]
fn step_times_and_the_last_rank_of_a_collective_are_in_the_results() {
    let temp = tempfile::tempdir().unwrap();
    let set = [
        ("traffic.train.operation", "tree-all-reduce"),
        ("traffic.train.iterations", "6"),
        ("run.warmup", "1 ms"),
        ("compare.schemes", "dctcp"),
    ];
    let done = run(&plan("training", &set, ""), temp.path());
    let train = &done.results.runs[0].collectives[0];
    assert_eq!((train.ranks, train.iterations, train.unfinished), (16, 5, 0), "{train:?}");
    // Reduction and broadcast cross four levels, two of them with the data of two children.
    assert!(train.step_ms.p50 > Some(2.0) && train.step_ms.max < Some(10.0), "{train:?}");
    let last = done.results.findings.iter().find(|f| f.kind == "straggler").expect("a last rank");
    assert!(last.says.contains("was the last rank of group train"), "{last:?}");
    let report = fs::read_to_string(temp.path().join("report.html")).unwrap();
    assert!(
        report.contains("Steps of collective train") && report.contains("Tail of the step time")
    );
    let (dir, _) = RunDir::open(temp.path()).unwrap();
    let table = read_table(&dir.table("collectives").unwrap()).unwrap();
    assert_eq!(table.count(), 16 * 6);
}

#[test]
fn a_connection_of_a_query_can_be_named_and_explained() {
    let temp = tempfile::tempdir().unwrap();
    let done = run(&plan("leaf-spine", &FABRIC, ""), temp.path());
    let (dir, _) = RunDir::open(&done.dir).unwrap();
    let asked =
        dir.flows(0).unwrap().into_iter().filter(|f| f.role == Role::Answers).nth(2).unwrap();
    for name in ["queries.2".to_owned(), asked.flow.to_string()] {
        let choice = FlowSelector { flow: name.clone(), ..FlowSelector::default() };
        let found = explain(temp.path(), &choice).unwrap_or_else(|e| panic!("{name}: {e}"));
        let [one] = found.as_slice() else { panic!("{name}: {found:?}") };
        assert_eq!((one.flow, one.group.as_str()), (asked.flow, "queries"));
        assert_eq!((&*one.src, &*one.dst), (&*asked.src, &*asked.dst), "the server sends");
        assert!(!one.shares.is_empty());
        let head = format!("connection {} (answers to queries, ", asked.flow);
        assert!(one.text(0).starts_with(&head), "{}", one.text(0));
    }
    let choice = FlowSelector { flow: "queries".to_owned(), ..FlowSelector::default() };
    let many = explain(temp.path(), &choice).unwrap_err().to_string();
    assert!(many.contains("connections, over which its queries are answered"), "{many}");
    let choice = FlowSelector { flow: "queries.99999".to_owned(), ..FlowSelector::default() };
    let refused = explain(temp.path(), &choice).unwrap_err().to_string();
    assert!(refused.contains("there is no flow 99999 in `queries`"), "{refused}");
}

/// Two classes, and a spine whose links to two leaves go down while traffic runs.
const MORE: &str = "[switch.class.fast]\nservice = \"strict\"\n[switch.class.bulk]\n\
    [failure.a]\nlink = \"leaf0-spine1\"\ndown = \"300 us\"\n\
    [failure.b]\nlink = \"leaf1-spine1\"\ndown = \"300 us\"\n";

#[test]
fn classes_and_link_down_drops_are_counted() {
    let temp = tempfile::tempdir().unwrap();
    let done = run(&plan("leaf-spine", &FABRIC, MORE), temp.path());
    let run = &done.results.runs[0];
    assert!(run.losses.link_down_drops > 0);
    let of_queues: u64 = run.queues.iter().map(|q| q.link_down_drops).sum();
    assert!(
        of_queues > 0 && of_queues <= run.losses.link_down_drops,
        "hosts' own ports have links too"
    );
    let row = |metric: &str| {
        let of_run = |r: &&lowtide_lab::SummaryRow| r.subject.is_run_metric(metric);
        done.results.summary.iter().find(of_run).and_then(|r| r.estimate.value)
    };
    assert_eq!(
        (row("link_down_drops"), row("no_route_drops")),
        (
            Some(run.losses.link_down_drops as f64),
            Some(run.losses.no_route_drops).filter(|n| *n > 0).map(|n| n as f64)
        )
    );
    let (dir, _) = RunDir::open(temp.path()).unwrap();
    let classes = read_table(&dir.table("queue_classes").unwrap()).unwrap().count();
    let queues = read_table(&dir.table("queues").unwrap()).unwrap().count();
    assert_eq!((classes, queues), (2 * 64, 96), "hosts' own ports have no classes");
    for queue in &run.queues {
        let names: Vec<&str> = queue.classes.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["fast", "bulk"]);
        assert_eq!(queue.class("fast").unwrap().packets, 0, "all hosts are in the last class");
        let drops: u64 = queue.classes.iter().map(|c| c.drops).sum();
        assert_eq!(drops, queue.overflow_drops + queue.aqm_drops, "{}", queue.name);
    }
    let report = fs::read_to_string(temp.path().join("report.html")).unwrap();
    for said in ["Classes of the queue at", "bulk, packets", "lost with their link"] {
        assert!(report.contains(said), "{said}");
    }
}

#[test]
fn without_disturbances_the_seed_does_not_choose_paths() {
    let fixed = [
        ("disturbance.start-jitter", "0 s"),
        ("disturbance.host-jitter", "0 s"),
        ("disturbance.ports", "false"),
        ("disturbance.ties", "false"),
        ("disturbance.salts", "false"),
        ("run.seeds", "3"),
    ];
    let text = "schema = 1\ntitle = \"t\"\n[run]\nduration = \"20 ms\"\n\
        [topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts-per-leaf = 4\n\
        link-rate = \"1 Gbit/s\"\nlink-delay = \"2 us\"\n[routing]\nkind = \"ecmp\"\n\
        [switch]\nbuffer = \"100 kB\"\n[transport]\nprofile = \"linux\"\nscheme = \"dctcp\"\n\
        [hosts.left]\ncount = 4\n[hosts.right]\ncount = 4\n\
        [traffic.flows]\nkind = \"transfers\"\nfrom = \"left\"\nto = \"right\"\nsize = \"200 kB\"\n";
    let digests = |set: &[(&str, &str)]| {
        let scenario = Scenario::parse(text, "t.toml").expect("it is right");
        let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
        let results = simulate(&scenario.expand().expect("it is right"), 2).unwrap();
        results.runs.iter().map(|r| r.digest.clone()).collect::<Vec<_>>()
    };
    let agree = digests(&fixed[..]);
    assert_eq!(agree.len(), 3);
    assert!(agree.iter().all(|d| *d == agree[0]), "{agree:?}");
    let drawn: Vec<_> = fixed.iter().copied().filter(|(k, _)| *k != "disturbance.salts").collect();
    let differ = digests(&drawn);
    assert!(differ.iter().any(|d| *d != differ[0]), "{differ:?}");
}
