use lowtide_record::{RunKey, SweepPoint};

use super::*;
use crate::facts::NetworkDrops;
use crate::queues::{ArrivalQueueStats, BufferPoolFacts, QueueClassFacts, QueueFacts};

/// A run with one queue of mean length `packets` on a link of utilisation `used`.
fn run(scheme: &str, k: Option<&str>, seed: u64, packets: f64, used: f64) -> RunFacts {
    let point = k.map(|k| ("switch.mark.k".to_owned(), k.to_owned()));
    RunFacts {
        key: RunKey {
            run: 0,
            scheme: scheme.to_owned(),
            point: SweepPoint(point.into_iter().collect()),
            seed,
        },
        digest: format!("{packets}"),
        reason: "time".to_owned(),
        ended_ms: 1.0,
        warmup_ms: 0.0,
        open_loop: None,
        groups: Vec::new(),
        queries: Vec::new(),
        collectives: Vec::new(),
        queues: vec![QueueFacts {
            name: "port".to_owned(),
            mean_packets: Some(packets),
            p50_packets: None,
            p99_packets: None,
            p999_packets: None,
            max_packets: None,
            seen: ArrivalQueueStats::default(),
            marks: 0,
            drops: 0,
            overflow_drops: 0,
            aqm_drops: 0,
            marker: None,
            never_marked: false,
            random_losses: 0,
            link_down_drops: 0,
            utilisation: Some(used),
            classes: Vec::new(),
        }],
        buffer_pools: Vec::new(),
        losses: NetworkDrops::default(),
        hops: 0,
    }
}

fn results(values: &[f64]) -> Results {
    let seeds = values.iter().zip(1..);
    Results::new(seeds.map(|(v, seed)| run("dctcp", None, seed, *v, 1.0 - v / 1000.0)).collect())
}

fn wanted(metric: &str) -> CompareOptions {
    CompareOptions {
        metrics: vec![metric.to_owned()],
        same_within: 0.01,
        fail_above: Some(0.05),
        ..CompareOptions::default()
    }
}

fn one(a: &[f64], b: &[f64], metric: &str) -> ComparedMetric {
    let mut found = compare(&results(a), &results(b), &wanted(metric)).expect("pairs");
    assert_eq!(found.rows.len(), 1);
    found.rows.remove(0)
}

fn judged(row: &ComparedMetric) -> (Option<Verdict>, bool) {
    (row.shown.verdict, row.fails)
}

const SPREAD: [f64; 5] = [10.0, 20.0, 30.0, 40.0, 50.0];

#[test]
fn pairing_reveals_a_difference_that_the_spread_over_seeds_hides() {
    let longer = [11.0, 22.3, 33.0, 44.2, 54.8];
    let row = one(&SPREAD, &longer, "mean_packets");
    assert_eq!(judged(&row), (Some(Verdict::Worse), true));
    assert!((row.shown.ratio.expect("a ratio") - 33.06 / 30.0).abs() < 1e-12);
    // Delta method on the logarithm: r = b / 33.06 - a / 30, and exp(ln(33.06 / 30) -+ 2.776445 *
    // sqrt(sum(r^2) / 20)), with Student's t of four degrees of freedom from a table.
    let [low, high] = row.shown.ratio_ci95.expect("an interval");
    assert!((low - 1.093_35).abs() < 1e-4 && (high - 1.110_72).abs() < 1e-4, "{low} {high}");
    let back = one(&longer, &SPREAD, "mean_packets");
    assert_eq!(judged(&back), (Some(Verdict::Better), false), "a shorter queue");
}

#[test]
fn improvements_never_fail() {
    let (few, many) = ([10.0, 11.0, 12.0, 10.5, 11.5], [100.0, 101.0, 102.2, 100.5, 101.5]);
    let queue = one(&many, &few, "mean_packets");
    assert_eq!(judged(&queue), (Some(Verdict::Better), false), "a shorter queue");
    let used = one(&few, &many, "utilisation");
    assert_eq!(judged(&used), (Some(Verdict::Worse), true), "less of the line");
    let used = one(&many, &few, "utilisation");
    assert_eq!(judged(&used), (Some(Verdict::Better), false));
}

#[test]
fn a_change_within_the_limit_does_not_fail() {
    let row = one(&[100.0; 5], &[104.0, 104.1, 103.9, 104.0, 104.0], "mean_packets");
    assert_eq!(judged(&row), (Some(Verdict::Worse), false), "4 % of 5 %");
    let row = one(&[100.0; 5], &[100.5, 100.6, 100.4, 100.5, 100.5], "mean_packets");
    assert_eq!(judged(&row), (Some(Verdict::Same), false), "half a per cent of one");
}

#[test]
fn missing_values_are_undecided() {
    let row = one(&[10.0; 5], &[9.0, 11.0, 12.0, 8.0, 10.5], "mean_packets");
    assert_eq!(row.shown.verdict, Some(Verdict::Undecided));
    let row = one(&[10.0], &[10.0], "mean_packets");
    assert_eq!(row.shown.verdict, Some(Verdict::Same));
    let row = one(&[10.0; 5], &[11.0, 13.0, 12.0, 11.0, 12.0], "p99_packets");
    assert_eq!((row.shown.verdict, row.shown.a.value), (Some(Verdict::Undecided), None));
}

#[test]
fn few_pairs_decide_no_degradation() {
    for values in [&[10.0][..], &[10.0, 12.0, 9.0, 11.0]] {
        let longer: Vec<f64> = values.iter().map(|v| v * v).collect();
        let failed = compare(&results(values), &results(&longer), &wanted("mean_packets"));
        let text = failed.expect_err("too few").to_string();
        let pairs = values.len();
        let says = format!("{pairs} pairs of runs do not decide whether `mean_packets` got worse");
        assert!(text.contains(&says), "{text}");
        let free = CompareOptions { fail_above: None, ..wanted("mean_packets") };
        let found = compare(&results(values), &results(&longer), &free).expect("rows");
        assert_eq!(found.rows[0].shown.verdict, Some(Verdict::Undecided));
        assert_eq!(found.rows[0].shown.ratio_seed_range.is_some(), pairs > 1);
    }
}

#[test]
fn a_change_from_zero_exceeds_every_limit() {
    let row = one(&[0.0; 5], &[5.0; 5], "mean_packets");
    assert_eq!((judged(&row), row.shown.ratio), ((Some(Verdict::Worse), true), None));
}

#[test]
fn runs_without_a_partner_are_listed() {
    let a = Results::new(vec![
        run("sack", Some("20 pkt"), 1, 1.0, 1.0),
        run("dctcp", Some("20 pkt"), 1, 1.0, 1.0),
        run("dctcp", Some("20 pkt"), 2, 1.0, 1.0),
    ]);
    let b = Results::new(vec![
        run("dctcp", Some("20 pkt"), 2, 2.0, 1.0),
        run("dctcp", Some("65 pkt"), 2, 2.0, 1.0),
    ]);
    let free = CompareOptions { fail_above: None, ..wanted("mean_packets") };
    let found = compare(&a, &b, &free).expect("a pair");
    assert_eq!((found.pairs, found.identical), (1, 0));
    assert_eq!(
        found.only_a,
        ["sack, switch.mark.k = 20 pkt, seed 1", "dctcp, switch.mark.k = 20 pkt, seed 1"]
    );
    assert_eq!(found.only_b, ["dctcp, switch.mark.k = 65 pkt, seed 2"]);
}

#[test]
fn a_digest_alone_makes_no_pair_identical() {
    let one = run("dctcp", None, 1, 1.0, 1.0);
    let same = Results::new(vec![one.clone()]);
    let other = RunFacts { digest: one.digest.clone(), ..run("dctcp", None, 1, 1.0, 7.0) };
    assert_ne!(one, other);
    let other = Results::new(vec![other]);
    let counts = |b: &Results| {
        let found = compare(&same, b, &wanted("mean_packets")).expect("a pair");
        (found.identical, found.digest_only)
    };
    assert_eq!(counts(&same), (1, 0));
    assert_eq!(counts(&other), (0, 1));
}

#[test]
fn an_error_without_common_runs_lists_both_sides() {
    let a = Results::new(vec![run("sack", None, 1, 1.0, 1.0)]);
    let b = Results::new(vec![run("dctcp", None, 1, 2.0, 1.0)]);
    let error = compare(&a, &b, &wanted("mean_packets")).expect_err("no pair").to_string();
    for part in ["schemes sack", "schemes dctcp", "seeds 1", "no sweep"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let paired = CompareOptions {
        schemes: vec![("sack".to_owned(), "dctcp".to_owned())],
        fail_above: None,
        ..wanted("mean_packets")
    };
    assert_eq!(compare(&a, &b, &paired).expect("paired by hand").pairs, 1);
    let wanted_fct = wanted("fct");
    let wrong = CompareOptions { queues: vec!["prt".to_owned()], ..paired };
    assert!(compare(&a, &b, &wrong).expect_err("a typo").to_string().contains("`prt`"));
    assert!(compare(&a, &b, &wanted_fct).expect_err("no metric").to_string().contains("fct"));
}

fn class(name: &str, packets: f64, drops: u64) -> QueueClassFacts {
    QueueClassFacts {
        name: name.to_owned(),
        packets: 0,
        bytes: 0,
        mean_packets: Some(packets),
        p99_packets: None,
        max_packets: None,
        marks: 0,
        drops,
        overflow_drops: drops,
        aqm_drops: 0,
        marker: None,
        never_marked: false,
    }
}

/// Five seeds with two classes, two buffer pools and losses on failed links.
fn whole(fast: f64, peak: u64, cut: u64) -> Results {
    let memory = |name: &str, peak_bytes| BufferPoolFacts {
        name: name.to_owned(),
        size_bytes: 1_000,
        reserved_bytes: 0,
        peak_bytes,
    };
    let of = |seed| {
        let mut run = run("dctcp", None, seed, 10.0, 0.5);
        run.queues[0].classes = vec![class("fast", fast, 0), class("rest", 9.0, 3)];
        run.buffer_pools = vec![memory("switch0.0", peak), memory("switch1.0", 100)];
        (run.losses.link_down_drops, run.losses.no_route_drops) = (cut, 7);
        run.losses.drops = cut + 7;
        run
    };
    Results::new((1..=5).map(of).collect())
}

#[test]
fn classes_pools_and_the_run_have_separate_rows() {
    let wanted = CompareOptions { fail_above: Some(0.05), ..CompareOptions::default() };
    let found = compare(&whole(4.0, 500, 20), &whole(5.0, 250, 30), &wanted).expect("pairs");
    let row = |class: Option<&str>, memory: Option<&str>, metric: &str| {
        let of = |r: &&ComparedMetric| {
            r.subject.class.as_deref() == class
                && r.subject.buffer_pool.as_deref() == memory
                && r.subject.queue.is_some() == (class.is_some() || metric == "utilisation")
                && r.subject.metric == metric
        };
        let mut rows = found.rows.iter().filter(of);
        let row = rows.next().unwrap_or_else(|| panic!("no row of {class:?} {memory:?} {metric}"));
        assert!(rows.next().is_none(), "{metric} twice");
        (row.shown.a.value, row.shown.b.value, row.shown.verdict, row.fails)
    };
    let fast = row(Some("fast"), None, "mean_packets");
    assert_eq!(fast, (Some(4.0), Some(5.0), Some(Verdict::Worse), true));
    let rest = row(Some("rest"), None, "drops");
    assert_eq!(rest, (Some(3.0), Some(3.0), Some(Verdict::Same), false));
    let memory = row(None, Some("switch0.0"), "peak_fraction");
    assert_eq!(memory, (Some(0.5), Some(0.25), Some(Verdict::Better), false));
    assert!(
        found.rows.iter().all(|r| r.subject.buffer_pool.as_deref() != Some("switch1.0")),
        "the fullest"
    );
    assert_eq!(
        row(None, None, "link_down_drops"),
        (Some(20.0), Some(30.0), Some(Verdict::Worse), true)
    );
    assert_eq!(
        row(None, None, "no_route_drops"),
        (Some(7.0), Some(7.0), Some(Verdict::Same), false)
    );
}

#[test]
fn zero_loss_metrics_are_listed_only_on_request() {
    let (a, b) = (results(&[1.0, 2.0]), results(&[1.0, 2.0]));
    let of_run = |wanted: &CompareOptions| {
        let rows = compare(&a, &b, wanted).expect("pairs").rows;
        rows.iter().filter(|r| r.subject.group.is_none() && r.subject.queue.is_none()).count()
    };
    assert_eq!(of_run(&CompareOptions::default()), 0);
    assert_eq!(of_run(&wanted("no_route_drops")), 1);
    let other =
        CompareOptions { buffer_pools: vec!["switch1.0".to_owned()], ..CompareOptions::default() };
    let rows = compare(&whole(4.0, 500, 0), &whole(4.0, 500, 0), &other).expect("pairs").rows;
    let named = rows.iter().filter_map(|r| r.subject.buffer_pool.as_deref()).collect::<Vec<_>>();
    assert_eq!(named, ["switch1.0"]);
    let typo =
        CompareOptions { buffer_pools: vec!["switch9".to_owned()], ..CompareOptions::default() };
    let error = compare(&whole(4.0, 1, 0), &whole(4.0, 1, 0), &typo).expect_err("none").to_string();
    assert!(error.contains("no buffer pool `switch9`"), "{error}");
}
