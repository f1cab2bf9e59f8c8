//! Censored flows and queues that never mark: facts and findings in the results.

use std::fs;

use lowtide_lab::{NEVER_MARKED, Results, RunFinding, UNFINISHED, simulate};
use lowtide_scenario::Scenario;

use crate::common::run;

/// Twenty short flows, and several censored ones, each for another reason.
const CENSORED: &str = r#"schema = 1
title = "Flows that are cut off"
[run]
duration = "100 ms"
seeds = 2
[disturbance]
start-jitter = "0 s"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "100 us"
[switch]
buffer = "1000 pkt"
[transport]
profile = "linux"
scheme = "sack"
[hosts.senders]
count = 20
[hosts.far]
count = 1
[hosts.gone]
count = 1
[hosts.slow]
count = 1
[hosts.slow.receiver]
receive-buffer = "4 kB"
[hosts.receivers]
count = 1
[pipe.lost]
on = "far"
loss = "100 %"
[failure.cut]
link = "gone.0-switch0"
down = "20 ms"
[traffic.short]
from = "senders"
to = "receivers"
count = 20
size = "20 kB"
[traffic.syn]
from = "far"
to = "receivers"
size = "20 kB"
[traffic.cut]
from = "gone"
to = "receivers"
size = "10 MB"
start = "15 ms"
[traffic.window]
from = "senders"
to = "slow"
count = 1
size = "40 MB"
[traffic.long]
from = "senders"
to = "receivers"
count = 1
size = "1 GB"
"#;

fn results(text: &str) -> Results {
    let plan = Scenario::parse(text, "t.toml").and_then(|s| s.expand());
    simulate(&plan.unwrap_or_else(|e| panic!("{e}")), 1).expect("it runs")
}

#[test]
fn a_censored_flow_reports_what_it_waited_for() {
    let results = results(CENSORED);
    let run = &results.runs[0];
    for (group, what) in
        [("syn", "handshake"), ("cut", "rto"), ("window", "receive-window"), ("long", "sending")]
    {
        let facts = run.group(group).expect("the group");
        let stopped: Vec<(&str, usize)> =
            facts.blocked_on.iter().map(|(what, n)| (what.as_str(), *n)).collect();
        assert_eq!((facts.unfinished, stopped), (1, vec![(what, 1)]), "{group}");
        let from = if group == "cut" { 85.0 } else { 100.0 };
        assert_eq!((facts.fct_ms.mean, facts.fct_ms.mean_at_least), (None, Some(from)), "{group}");
        let found = results.findings.iter().find(|f| f.group.as_deref() == Some(group));
        let found = found.unwrap_or_else(|| panic!("{group}: {:?}", results.findings));
        assert_eq!((found.kind, found.seeds, found.of_seeds, found.count), (UNFINISHED, 2, 2, 2));
        let says = format!("sack: 2 of 2 flows of group {group} did not complete");
        assert!(found.sentence().starts_with(&says), "{}", found.sentence());
    }
    let short = run.group("short").expect("the group");
    assert!(short.blocked_on.is_empty() && short.fct_ms.mean == short.fct_ms.mean_at_least);
}

#[test]
fn one_censored_flow_leaves_the_percentiles_it_cannot_change() {
    // One of 21 flows is censored.
    let short = "[traffic.short]\nfrom = \"senders\"\nto = \"receivers\"\ncount = 20\n";
    let more = "[traffic.short]\nfrom = [\"senders\", \"far\"]\nto = \"receivers\"\ncount = 21\n";
    let text = CENSORED.replace(short, more);
    let temp = tempfile::tempdir().unwrap();
    let plan = Scenario::parse(&text, "t.toml").and_then(|s| s.expand());
    let done = run(&plan.unwrap_or_else(|e| panic!("{e}")), temp.path());
    let facts = done.results.runs[0].group("short").expect("the group");
    assert_eq!((facts.flows, facts.unfinished), (21, 1), "{facts:?}");
    let times = &facts.fct_ms;
    assert_eq!((times.mean, times.max), (None, None));
    let (median, p95) = (times.p50.expect("a median"), times.p95.expect("the 20th of 21"));
    assert!(median <= p95 && p95 < 100.0, "{times:?}");
    assert!(times.mean_at_least.expect("a bound") > 100.0 / 21.0, "{times:?}");
    let row = |metric: &str| {
        let rows = &done.results.summary;
        let found = rows.iter().find(|r| r.subject.is_group_metric("short", metric));
        found.expect(metric).estimate.clone()
    };
    let mean = row("fct_ms.mean");
    assert_eq!((mean.value, mean.between.map(|ends| ends[1])), (None, Some(None)), "{mean:?}");
    assert!(mean.value_text().starts_with("at least "), "{mean:?}");
    assert!(row("fct_ms.p50").value.is_some());
    let report = fs::read_to_string(temp.path().join("report.html")).unwrap();
    for said in [
        "Transfer time of group short (ms)",
        "at least ",
        "2 of 42 flows of group short did not complete before the end of the run: 2 in the handshake",
    ] {
        assert!(report.contains(said), "{said}");
    }
    let summary = fs::read_to_string(temp.path().join("summary.json")).unwrap();
    for said in ["\"findings\"", "\"blocked_on\"", "\"handshake\"", "\"mean_at_least\""] {
        assert!(summary.contains(said), "{said}");
    }
}

/// Senders that fill a switch memory that others use as well.
const SHARED: &str = r#"schema = 1
title = "A threshold out of reach"
[run]
duration = "50 ms"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "dynamic"
memory = "300 kB"
alpha = 1
[switch.mark]
kind = "step"
k = "140 kB"
[transport]
profile = "linux"
scheme = "dctcp"
[transport.sender]
initial-window = 100
[hosts.senders]
count = 8
[hosts.one]
count = 1
[hosts.two]
count = 1
[traffic.a]
from = "senders"
to = "one"
count = 4
size = "400 kB"
[traffic.b]
from = "senders"
to = "two"
count = 4
size = "400 kB"
"#;

#[test]
fn a_queue_that_dropped_and_never_marked_is_a_finding() {
    let temp = tempfile::tempdir().unwrap();
    let plan = Scenario::parse(SHARED, "t.toml").and_then(|s| s.expand());
    let done = run(&plan.unwrap_or_else(|e| panic!("{e}")), temp.path());
    let queue = done.results.runs[0].queue("switch0->one.0").expect("the queue");
    assert!(queue.never_marked && queue.marks == 0 && queue.overflow_drops > 0, "{queue:?}");
    assert_eq!(queue.marker.as_deref(), Some("step"));
    let found: Vec<_> = done.results.findings.iter().filter(|f| f.kind == NEVER_MARKED).collect();
    let one = found.iter().find(|f| f.queue.as_deref() == Some("switch0->one.0"));
    let one = one.expect("a finding");
    assert_eq!(one.count, queue.overflow_drops);
    let says =
        format!("queue switch0->one.0 never marked and dropped {} packets", queue.overflow_drops);
    assert!(one.says.starts_with(&says), "{}", one.says);
    for file in ["report.html", "summary.json"] {
        let text = fs::read_to_string(temp.path().join(file)).unwrap();
        assert!(text.contains("never marked and dropped"), "{file}");
    }

    // The queue marks, or there is no ECN, or no marker: no finding.
    let loud = SHARED.replace("140 kB", "30 kB");
    let deaf = SHARED.replace("\"dctcp\"", "\"sack\"");
    let bare = SHARED.replace("kind = \"step\"\nk = \"140 kB\"\n", "kind = \"droptail\"\n");
    let bare = bare.replace("\"dctcp\"", "\"ecn\"");
    for text in [loud, deaf, bare] {
        let found = results(&text).findings;
        assert!(found.iter().all(|f| f.kind != NEVER_MARKED), "{found:?}");
    }
}

#[test]
fn a_class_that_never_marked_is_named() {
    // Whole segments of 1500 B: at most 12 fit, and no arrival finds more than 11.
    let classes = "[switch.class.fast]\nservice = \"strict\"\n[switch.class.rest]\n[transport]\n";
    // Linux's bursts end with a segment that is not full.
    let sender = "[transport.sender]\ntso-defer = 0\n";
    let text = SHARED
        .replace("buffer = \"dynamic\"\nmemory = \"300 kB\"\nalpha = 1\n", "buffer = \"19 kB\"\n")
        .replace("140 kB", "11 pkt")
        .replace("[transport]\n", classes)
        .replace("[transport.sender]\n", sender)
        .replace("400 kB", "289600 B");
    let found = results(&text).findings;
    let of_one = |f: &&RunFinding| f.queue.as_deref() == Some("switch0->one.0");
    let one = found.iter().find(of_one).unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((one.kind, one.class.as_deref()), (NEVER_MARKED, Some("rest")));
    assert!(one.says.starts_with("queue switch0->one.0, class rest, never marked"), "{}", one.says);
}
