//! Comparison of more than two sets of results, and possible causes of their differences.

use lowtide_lab::compare::{CompareOptions, compare_to_first};
use lowtide_record::TimingReport;
use lowtide_scenario::{RunPlan, Scenario};
use lowtide_stats::Verdict;

use crate::common::run;

/// Five seeds of two long flows with this threshold.
fn plan(k: &str) -> RunPlan {
    let scenario = Scenario::load("queue-buildup").expect("an embedded scenario");
    let set = [
        ("traffic.long.size", "400 kB"),
        ("traffic.short.start", "2 ms"),
        ("run.seeds", "5"),
        ("compare.schemes", "[\"ecn\"]"),
        ("traffic.short.size", "10 kB"),
        ("disturbance.start-jitter", "1 ms"),
        ("switch.mark.k", k),
    ];
    let scenario = set.iter().fold(scenario, |s, (k, v)| s.with_override(k, v).expect("a key"));
    scenario.expand().expect("a right scenario")
}

#[test]
fn results_are_compared_to_the_first_and_causes_have_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let of = |k: &str, name: &str| run(&plan(k), &folder.path().join(name));
    let (first, same, mut other) = (of("20 pkt", "a"), of("20 pkt", "b"), of("200 pkt", "c"));
    for run in &mut other.manifest.runs {
        run.measured = Some(TimingReport {
            packets: 1000,
            late_packets: 11,
            late_p99_us: 300.0,
            late_max_us: 4000.0,
            steal_ms: 10.0,
            refused: 2,
            differences: vec!["`delack-timer` is 1 ms in the scenario".to_owned()],
            ..TimingReport::default()
        });
    }
    let found = compare_to_first(&[&first, &same, &other], &CompareOptions::default()).unwrap();
    let line = found.lines.iter().find(|l| l.subject.metric == "mean_packets").unwrap();
    let verdicts: Vec<Option<Verdict>> =
        line.others.iter().map(|o| o.as_ref().unwrap().shown.verdict).collect();
    assert_eq!(verdicts, [Some(Verdict::Same), Some(Verdict::Worse)]);
    assert!(line.others[1].as_ref().unwrap().shown.b.value > line.first.value);
    let texts: Vec<&str> = found.causes.iter().map(|c| c.text.as_str()).collect();
    assert!(found.causes.iter().all(|c| (c.column, c.scheme.as_str()) == (2, "ecn")), "{texts:?}");
    for part in [
        "fell behind in 5 of 5 runs",
        "up to 4000 us late",
        "stole 50 ms of CPU time in these 5 runs",
        "did not take 10 packets",
        "`delack-timer`",
    ] {
        assert!(texts.iter().any(|t| t.contains(part)), "{part}: {texts:?}");
    }
}
