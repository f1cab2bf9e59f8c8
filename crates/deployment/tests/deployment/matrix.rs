//! The matrix with real runs: verdicts of existing pairs, other thresholds, the shape of the
//! answer.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use lowtide_deployment::{
    BUILT_IN_THRESHOLDS, MatrixResult, Mechanism, PairMatrix, PairVerdict, Thresholds, execute,
    findings, rerender_report,
};
use lowtide_lab::{CompletedExperiment, ExecuteOptions, LabError, RunProgress};
use lowtide_scenario::Scenario;

use crate::common;

/// The embedded setup with one seed, shortened: marks occur within a millisecond.
fn setup() -> Scenario {
    let scenario = Scenario::load("matrix").expect("an embedded setup").seeds(1).expect("a seed");
    let short = [("run.duration", "400 ms"), ("run.warmup", "250 ms"), ("probes.interval", "5 ms")];
    short.iter().fold(scenario, |s, (key, value)| s.with_override(key, value).expect("a key"))
}

fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

fn pairs(senders: &str, receivers: &str, neighbours: &str, thresholds: &str) -> PairMatrix {
    let thresholds = Thresholds::parse(thresholds, "test").expect("thresholds");
    let [s, r, n] = [senders, receivers, neighbours].map(names);
    PairMatrix::new(setup(), Some(&s), Some(&r), Some(&n), thresholds).expect("names")
}

/// Returns the results, the answer, and the number of runs started for it.
fn run_matrix(
    pairs: &PairMatrix,
    dir: &Path,
    jobs: usize,
) -> (CompletedExperiment, MatrixResult, usize) {
    let started = AtomicUsize::new(0);
    let count = |p: RunProgress<'_>| {
        started.fetch_add(usize::from(matches!(p, RunProgress::Started(_))), Ordering::Relaxed);
    };
    let source = pairs.scenario.text();
    let command = "lowtide matrix";
    let options =
        ExecuteOptions { jobs, source, command, progress: &count, ..common::options(dir) };
    let (finished, answer) =
        execute(pairs, &pairs.plan().expect("a plan"), &options).expect("results");
    (finished, answer, started.into_inner())
}

fn verdict(
    answer: &MatrixResult,
    pair: [&str; 2],
    neighbour: Option<&str>,
) -> (PairVerdict, Option<Mechanism>) {
    let row = answer.pair(pair[0], pair[1], neighbour).expect("a pair");
    (row.verdict, row.mechanism_id)
}

#[test]
fn existing_pairs_get_the_verdicts_of_the_papers() {
    let temp = tempfile::tempdir().unwrap();
    let question = pairs("dctcp,dctcp+cwr=never,ecn,sack", "dctcp,ecn", "dctcp,sack", "");
    let (_, answer, started) = run_matrix(&question, temp.path(), 2);
    assert_eq!((started, answer.pairs.len()), (4 * 2 * 3, 4 * 2 * 3));

    assert_eq!(verdict(&answer, ["dctcp", "dctcp"], None), (PairVerdict::Healthy, None));
    assert_eq!(verdict(&answer, ["ecn", "ecn"], None), (PairVerdict::Healthy, None));
    assert_eq!(verdict(&answer, ["dctcp+cwr=never", "dctcp"], None), (PairVerdict::Healthy, None));
    // Thesis fig. 5.1: without CWR the echo of a standard receiver never clears.
    let collapse = (PairVerdict::CollapsedWindow, Some(Mechanism::EceNeverCleared));
    assert_eq!(verdict(&answer, ["dctcp+cwr=never", "ecn"], None), collapse);
    let row = answer.pair("dctcp+cwr=never", "ecn", None).unwrap();
    assert_eq!(row.mechanism, Some("ECE never cleared: sender does not send CWR"));
    let number = |name: &str| row.evidence.iter().find(|(n, _)| *n == name).unwrap().1;
    assert!(number("ece_ack_share") > 0.99, "{:?}", row.evidence);
    assert!(number("cwr_segments") == 0.0 && number("window_segments") <= 2.0);
    assert!(number("marked_share") < 0.01, "ECE is latched, not marked by the switch");
    let with_cwr = answer.pair("dctcp", "ecn", None).unwrap();
    assert!(with_cwr.pair.goodput_mbps > row.pair.goodput_mbps.map(|g| g * 2.0));

    let blind = (PairVerdict::BlindToCongestion, Some(Mechanism::NoEct));
    assert_eq!(verdict(&answer, ["sack", "ecn"], None), blind);
    // RFC 8257 §5: DCTCP does not share a queue with loss-based TCP.
    let holds = Some(Mechanism::UnmarkedHoldsQueue);
    assert_eq!(
        verdict(&answer, ["sack", "dctcp"], Some("dctcp")),
        (PairVerdict::StarvesNeighbour, holds)
    );
    assert_eq!(
        verdict(&answer, ["dctcp", "dctcp"], Some("sack")),
        (PairVerdict::StarvedByNeighbour, holds)
    );
    assert_eq!(verdict(&answer, ["dctcp", "dctcp"], Some("dctcp")), (PairVerdict::Healthy, None));
    // Halves against cuts by alpha / 2. At two segments a sender of Linux waits for a pair, and the
    // second packet of a pair meets a queue above K more often than other packets do.
    let more = (PairVerdict::StarvedByNeighbour, Some(Mechanism::MarkedMore));
    assert_eq!(verdict(&answer, ["ecn", "ecn"], Some("dctcp")), more);
    let row = answer.pair("ecn", "ecn", Some("dctcp")).unwrap();
    let number = |name: &str| row.evidence.iter().find(|(n, _)| *n == name).unwrap().1;
    assert!(number("starved_window_segments") <= 4.0, "{:?}", row.evidence);
}

#[test]
fn other_thresholds_judge_the_same_runs_again() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let (first, before, started) = run_matrix(&pairs("sack", "sack", "", ""), &dir, 1);
    assert_eq!((started, before.pairs[0].verdict), (1, PairVerdict::BlindToCongestion));
    let patient = pairs("sack", "sack", "", "[blind-to-congestion]\nqueue = 100\n");
    let (second, after, started) = run_matrix(&patient, &dir, 1);
    assert_eq!((started, after.pairs[0].verdict), (0, PairVerdict::Healthy));
    assert_eq!((before.digest, &before.pairs[0].pair), (after.digest, &after.pairs[0].pair));
    let page =
        |f: &CompletedExperiment| std::fs::read_to_string(f.dir.join("report.html")).unwrap();
    let text = page(&second);
    assert!(text.contains("queue = 100.0"), "the page states its thresholds");

    // The report follows from the tables and the stored request.
    std::fs::remove_file(dir.join("report.html")).unwrap();
    std::fs::remove_file(dir.join("matrix.json")).unwrap();
    let again = rerender_report(&dir).unwrap();
    assert_eq!(again.manifest.files, second.manifest.files);
    assert_eq!(page(&again), text);
    assert_ne!(again.manifest.files, first.manifest.files);
}

#[test]
fn the_setup_has_enough_seeds_for_intervals() {
    let (ends, thresholds) = (names("sack"), Thresholds::built_in().unwrap());
    let setup = Scenario::load("matrix").unwrap();
    let pairs = PairMatrix::new(setup, Some(&ends), Some(&ends), Some(&[]), thresholds).unwrap();
    assert_eq!(pairs.plan().unwrap().runs.len(), 5);
}

#[test]
fn threads_change_nothing_and_seeds_are_combined() {
    let temp = tempfile::tempdir().unwrap();
    let thresholds = Thresholds::built_in().unwrap();
    let [s, n] = [names("dctcp"), names("ecn")];
    let two = PairMatrix::new(setup().seeds(2).unwrap(), Some(&s), Some(&s), Some(&n), thresholds)
        .unwrap();
    let (one, answer, started) = run_matrix(&two, &temp.path().join("one"), 1);
    let (four, other, _) = run_matrix(&two, &temp.path().join("four"), 4);
    assert_eq!((&answer, &one.manifest.files), (&other, &four.manifest.files));
    assert_eq!((started, answer.seeds, answer.pairs.len()), (4, 2, 2));
    let shared = answer.pairs[1].neighbour_flows.as_ref().unwrap();
    let shares = shared.goodput_share.unwrap() + answer.pairs[1].pair.goodput_share.unwrap();
    assert!((shares - 1.0).abs() < 1e-9);
    // An interval is that of the seeds' own values; the seeds count their own verdicts.
    let beside = &answer.pairs[1];
    let own: Vec<Option<f64>> =
        one.results.runs[2..].iter().map(|r| r.group("pair").unwrap().goodput_mbps).collect();
    let own: Vec<f64> = own.into_iter().flatten().collect();
    assert_eq!(beside.pair.goodput_mbps, Some(f64::midpoint(own[0], own[1])));
    let range = [own[0].min(own[1]), own[0].max(own[1])];
    assert_eq!(beside.pair.intervals.seed_range.get("goodput_mbps"), Some(&range));
    assert!(beside.queue.intervals.seed_range.contains_key("mean_packets"));
    assert!(beside.pair.intervals.ci95.is_empty(), "two seeds have no interval");
    assert!(answer.pairs.iter().all(|p| p.seed_verdicts.values().sum::<usize>() == 2));
    let csv = std::fs::read_to_string(one.dir.join("figures/goodput-beside.csv")).unwrap();
    assert!(csv.ends_with(",,\n"), "{csv}");
}

#[test]
fn cells_whose_seeds_disagree_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("out");
    let [ends, neighbours] = ["dctcp", "sack"].map(names);
    let judge = |share: f64| {
        let text = format!("[starves-neighbour]\nshare = {share}\n");
        let thresholds = Thresholds::parse(&text, "test").unwrap();
        let setup = setup().seeds(2).unwrap();
        let pairs = PairMatrix::new(setup, Some(&ends), Some(&ends), Some(&neighbours), thresholds);
        run_matrix(&pairs.unwrap(), &dir, 2)
    };
    let (finished, agreed, _) = judge(0.5);
    assert_eq!(agreed.pairs[1].seed_verdicts, [(PairVerdict::StarvedByNeighbour, 2)].into());
    assert!(findings(&agreed.pairs).iter().all(|f| f[0] != "seeds disagree"));
    // With a threshold between the two seeds' shares, only one seed is starved.
    let shares = finished.results.runs[2..].iter().map(|run| {
        let [pair, beside] =
            ["pair", "neighbour"].map(|name| run.group(name).unwrap().goodput_mbps.unwrap());
        pair / (pair + beside)
    });
    let (_, parted, started) = judge(shares.sum());
    assert_eq!(started, 0);
    let counts = &parted.pairs[1].seed_verdicts;
    assert!(counts.len() == 2 && counts[&PairVerdict::StarvedByNeighbour] == 1, "{counts:?}");
    let found = findings(&parted.pairs);
    let row = found.iter().find(|f| f[0] == "seeds disagree").expect("a row");
    assert_eq!(row[3], "dctcp > dctcp | sack (1 of 2 seeds)");
}

#[test]
fn the_answer_has_the_documented_shape() {
    let temp = tempfile::tempdir().unwrap();
    let (finished, answer, _) = run_matrix(&pairs("dctcp", "ecn", "sack", ""), temp.path(), 1);
    let value = serde_json::to_value(&answer).unwrap();
    let keys =
        |v: &serde_json::Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(value["schema"], "lowtide.matrix/3");
    assert_eq!(
        keys(&value),
        [
            "schema",
            "version",
            "scenario",
            "scenario_hash",
            "digest",
            "senders",
            "receivers",
            "neighbours",
            "same_senders",
            "same_receivers",
            "seeds",
            "k_packets",
            "thresholds",
            "pairs"
        ]
    );
    let row = &value["pairs"][1];
    assert_eq!(
        keys(row),
        [
            "sender",
            "receiver",
            "neighbour",
            "verdict",
            "seed_verdicts",
            "mechanism",
            "mechanism_id",
            "evidence",
            "queue",
            "pair",
            "neighbour_flows"
        ]
    );
    assert_eq!(
        (&row["neighbour"], &row["verdict"]),
        (&"sack".into(), &"starved-by-neighbour".into())
    );
    assert!(
        value["pairs"][0]["neighbour"].is_null() && value["pairs"][0]["neighbour_flows"].is_null()
    );
    let documented = include_str!("../../../../docs/howto/matrix.md");
    let all = [&value, row, &row["queue"], &row["pair"], &row["evidence"]];
    for key in all.into_iter().flat_map(keys) {
        assert!(documented.contains(&format!("`{key}`")), "docs/howto/matrix.md lacks `{key}`");
    }
    for verdict in PairVerdict::ALL {
        assert!(documented.contains(&format!("`{}`", verdict.name())), "{verdict:?}");
    }
    let kept = std::fs::read_to_string(temp.path().join("matrix.json")).unwrap();
    assert_eq!(kept, serde_json::to_string_pretty(&answer).unwrap() + "\n");
    let page = std::fs::read_to_string(temp.path().join("report.html")).unwrap();
    for wanted in ["<svg", answer.digest.as_str(), "lowtide matrix", "next to sack"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"), "it works offline");
    assert!(!page.contains(" src=") && !page.contains("<link"), "it loads nothing");
    let drawn: Vec<&str> = finished.manifest.files.iter().map(|f| f.path.as_str()).collect();
    for figure in ["verdict-alone", "goodput-alone", "queue-beside", "share-beside"] {
        assert!(drawn.contains(&format!("figures/{figure}.svg").as_str()), "{figure}");
    }
}

#[test]
fn an_unsuitable_setup_is_rejected_with_the_missing_part() {
    let refused = |scenario: Scenario| -> String {
        let thresholds = Thresholds::parse(BUILT_IN_THRESHOLDS, "built-in").unwrap();
        let one = names("dctcp");
        let pairs = PairMatrix::new(scenario, Some(&one), Some(&one), None, thresholds).unwrap();
        pairs.plan().unwrap_err().to_string()
    };
    let file = |from: &str, to: &str| {
        let text = setup().text().replace(from, to);
        Scenario::parse(&text, "mine.toml").unwrap()
    };
    let renamed = refused(file("[traffic.pair]", "[traffic.pear]"));
    assert!(renamed.contains("no [traffic.pair]"), "{renamed}");
    let compares = refused(Scenario::load("first-light").unwrap());
    assert!(compares.contains("compares or sweeps something itself"), "{compares}");
    let alone = refused(Scenario::load("two-flows-1g").unwrap().without("compare"));
    assert!(alone.contains("[hosts.neighbour-senders]"), "{alone}");
    let swept = setup().with_sweep("switch.mark.k", &names("10 pkt,20 pkt")).unwrap();
    assert!(refused(swept).contains("sweeps something itself"));
    let thresholds = Thresholds::built_in().unwrap();
    let none = PairMatrix::new(setup(), Some(&[]), None, None, thresholds).unwrap_err();
    assert!(matches!(none, LabError::InvalidRequest { .. }));
}
