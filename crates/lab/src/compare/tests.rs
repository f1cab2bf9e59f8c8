use lowtide_record::{Point, RunKey};

use super::*;
use crate::queues::{QueueFacts, Seen};

/// A run with one queue of this mean length, whose line is used by this share.
fn run(scheme: &str, k: Option<&str>, seed: u64, packets: f64, used: f64) -> RunFacts {
    let point = k.map(|k| ("switch.mark.k".to_owned(), k.to_owned()));
    RunFacts {
        key: RunKey {
            run: 0,
            scheme: scheme.to_owned(),
            point: Point(point.into_iter().collect()),
            seed,
        },
        digest: format!("{packets}"),
        reason: "time".to_owned(),
        ended_ms: 1.0,
        groups: Vec::new(),
        queries: Vec::new(),
        queues: vec![QueueFacts {
            name: "port".to_owned(),
            mean_packets: Some(packets),
            p50_packets: None,
            p99_packets: None,
            p999_packets: None,
            max_packets: None,
            seen: Seen::default(),
            marks: 0,
            drops: 0,
            aqm_drops: 0,
            lost: 0,
            cut: 0,
            utilisation: Some(used),
            classes: Vec::new(),
        }],
        memories: Vec::new(),
        cut: 0,
        unrouted: 0,
        hops: 0,
    }
}

fn results(values: &[f64]) -> Results {
    let seeds = values.iter().zip(1..);
    Results::new(seeds.map(|(v, seed)| run("dctcp", None, seed, *v, 1.0 - v / 1000.0)).collect())
}

fn wanted(metric: &str) -> Wanted {
    Wanted {
        metrics: vec![metric.to_owned()],
        same: 0.01,
        fail_above: Some(0.05),
        ..Wanted::default()
    }
}

fn one(a: &[f64], b: &[f64], metric: &str) -> Compared {
    let mut found = compare(&results(a), &results(b), &wanted(metric)).expect("pairs");
    assert_eq!(found.rows.len(), 1);
    found.rows.remove(0)
}

#[test]
fn pairs_see_a_difference_that_the_spread_over_seeds_hides() {
    let a = [10.0, 20.0, 30.0, 40.0];
    let row = one(&a, &[12.0, 22.1, 31.9, 42.0], "mean_packets");
    assert_eq!((row.verdict, row.fails), (Verdict::Higher, true));
    assert!((row.difference.expect("a mean") - 2.0).abs() < 1e-9);
    // Student's t for three degrees of freedom, by hand: s.d. 0.0816, half 3.182 x 0.0816 / 2.
    let [low, high] = row.ci95.expect("an interval");
    assert!((high - low - 2.0 * 0.1299).abs() < 1e-3, "{low} {high}");
    assert!((row.relative.expect("a share") - 0.08).abs() < 1e-9, "over the mean of A, 25");
    assert_eq!(one(&[12.0, 22.1, 31.9, 42.0], &a, "mean_packets").verdict, Verdict::Lower);
}

#[test]
fn getting_better_never_fails() {
    let (few, many) = ([10.0, 11.0, 12.0], [100.0, 101.0, 102.2]);
    let queue = one(&many, &few, "mean_packets");
    assert_eq!((queue.verdict, queue.fails), (Verdict::Lower, false), "a shorter queue");
    let used = one(&few, &many, "utilisation");
    assert_eq!((used.verdict, used.fails), (Verdict::Lower, true), "less of the line");
    let used = one(&many, &few, "utilisation");
    assert_eq!((used.verdict, used.fails), (Verdict::Higher, false));
}

#[test]
fn what_lies_within_the_limit_does_not_fail() {
    let row = one(&[100.0, 100.0, 100.0], &[104.0, 104.1, 103.9], "mean_packets");
    assert_eq!((row.verdict, row.fails), (Verdict::Higher, false), "4 % of 5 %");
    let row = one(&[100.0, 100.0, 100.0], &[100.5, 100.6, 100.4], "mean_packets");
    assert_eq!(row.verdict, Verdict::Same, "half a per cent of one");
}

#[test]
fn what_is_not_known_is_undecided() {
    let row = one(&[10.0, 10.0, 10.0], &[9.0, 11.0, 12.0], "mean_packets");
    assert_eq!((row.verdict, row.reason), (Verdict::Undecided, Some("the interval holds zero")));
    let row = one(&[10.0], &[12.0], "mean_packets");
    assert_eq!((row.verdict, row.fails), (Verdict::Undecided, false), "one pair");
    let row = one(&[10.0], &[10.0], "mean_packets");
    assert_eq!(row.verdict, Verdict::Same);
    let row = one(&[10.0, 12.0], &[11.0, 13.0], "p99_packets");
    assert_eq!((row.verdict, row.a), (Verdict::Undecided, None), "no side has it");
}

#[test]
fn a_change_from_nothing_is_beyond_every_share() {
    let row = one(&[0.0, 0.0], &[5.0, 5.0], "mean_packets");
    assert_eq!((row.verdict, row.relative, row.fails), (Verdict::Higher, None, true));
}

#[test]
fn what_has_no_partner_is_listed() {
    let a = Results::new(vec![
        run("sack", Some("20 pkt"), 1, 1.0, 1.0),
        run("dctcp", Some("20 pkt"), 1, 1.0, 1.0),
        run("dctcp", Some("20 pkt"), 2, 1.0, 1.0),
    ]);
    let b = Results::new(vec![
        run("dctcp", Some("20 pkt"), 2, 2.0, 1.0),
        run("dctcp", Some("65 pkt"), 2, 2.0, 1.0),
    ]);
    let found = compare(&a, &b, &wanted("mean_packets")).expect("a pair");
    assert_eq!((found.pairs, found.identical), (1, 0));
    assert_eq!(
        found.only_a,
        ["sack, switch.mark.k = 20 pkt, seed 1", "dctcp, switch.mark.k = 20 pkt, seed 1"]
    );
    assert_eq!(found.only_b, ["dctcp, switch.mark.k = 65 pkt, seed 2"]);
}

#[test]
fn nothing_in_common_says_what_each_has() {
    let a = Results::new(vec![run("sack", None, 1, 1.0, 1.0)]);
    let b = Results::new(vec![run("dctcp", None, 1, 2.0, 1.0)]);
    let error = compare(&a, &b, &wanted("mean_packets")).expect_err("no pair").to_string();
    for part in ["schemes sack", "schemes dctcp", "seeds 1", "no sweep"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let paired =
        Wanted { schemes: vec![("sack".to_owned(), "dctcp".to_owned())], ..wanted("mean_packets") };
    assert_eq!(compare(&a, &b, &paired).expect("paired by hand").pairs, 1);
    let wanted_fct = wanted("fct");
    let wrong = Wanted { queues: vec!["prt".to_owned()], ..paired };
    assert!(compare(&a, &b, &wrong).expect_err("a typo").to_string().contains("`prt`"));
    assert!(compare(&a, &b, &wanted_fct).expect_err("no metric").to_string().contains("fct"));
}
