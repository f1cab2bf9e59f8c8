use lowtide_record::RunKey;
use lowtide_rows::{FlowRow, FlowStatus};
use lowtide_stats::Verdict;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

use super::family::TOLERANCE;
use super::*;
use crate::facts::RunFacts;
use crate::facts::tests::facts_of;
use crate::samples::PS_PER_MS;
use crate::times::tests::flow;

/// Flows of one class: their size, their number in a seed, and the true ratio of B to A.
#[derive(Clone, Copy)]
struct Class {
    bytes: u64,
    flows: usize,
    ratio: f64,
}

struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A normal value, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let mut share = || ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-2.0 * share().ln()).sqrt() * (std::f64::consts::TAU * share()).cos()
    }
}

/// Draws an experiment of schemes `a` and `b`: log-normal slowdowns, whose scale varies by 0.1 over
/// seeds, 90 % of it in common.
fn experiment(classes: &[Class], seeds: u64, random: &mut Random) -> Results {
    let mut runs: Vec<RunFacts> = Vec::new();
    let factors: Vec<[f64; 2]> = (0..seeds)
        .map(|_| {
            let common = random.normal() * 0.9_f64.sqrt();
            [(); 2].map(|()| (0.1 * (common + random.normal() * 0.1_f64.sqrt())).exp())
        })
        .collect();
    for (i, scheme) in ["a", "b"].into_iter().enumerate() {
        for (seed, factor) in (1..).zip(&factors) {
            let mut flows: Vec<FlowRow> = Vec::new();
            for class in classes {
                let ratio = if i == 1 { class.ratio } else { 1.0 };
                for _ in 0..class.flows {
                    let slowdown = 100.0 * random.normal().exp() * factor[i] * ratio;
                    let mut row = flow(0, Some(1), FlowStatus::Complete);
                    row.size_bytes = Some(class.bytes);
                    row.ideal_ps = Some(PS_PER_MS / 1000);
                    row.fct_ps = Some((slowdown.max(1.0) * PS_PER_MS as f64 / 1000.0) as u64);
                    flows.push(row);
                }
            }
            let point = SweepPoint::default();
            let key = RunKey { run: runs.len() as u32, scheme: scheme.to_owned(), point, seed };
            runs.push(facts_of(&key, &flows));
        }
    }
    Results::new(runs)
}

fn headline(results: &Results) -> Headline {
    let schemes = ["a".to_owned(), "b".to_owned()];
    let points = [SweepPoint::default()];
    let subject = Subject { question: None, schemes: &schemes, points: &points };
    Headline::of(subject, results, &str::to_owned)
}

fn is_false(verdict: Verdict, ratio: f64) -> bool {
    match verdict {
        Verdict::Better => ratio >= 1.0,
        Verdict::Worse => ratio <= 1.0,
        Verdict::Same => ratio.ln().abs() > TOLERANCE.ln_1p(),
        Verdict::Undecided => false,
    }
}

fn ratio_of(classes: &[Class], of: &SchemeComparison) -> f64 {
    let up_to = |bytes: u64| match bytes {
        5_000 => "0 B-10 kB",
        50_000 => "10 kB-100 kB",
        500_000 => "100 kB-1 MB",
        _ => "1 MB-10 MB",
    };
    let holds = |class: &&Class| of.class.as_deref() == Some(up_to(class.bytes));
    classes.iter().find(holds).map(|class| class.ratio).expect("a class")
}

/// Prints false headlines and decided comparisons of experiments with known truth.
#[test]
#[ignore = "part of the suite `statistics`"]
fn headlines_are_false_in_at_most_five_per_cent() {
    let class = |bytes, flows, ratio| Class { bytes, flows, ratio };
    let equal = [5_000, 50_000, 500_000, 5_000_000].map(|bytes| class(bytes, 100, 1.0));
    let mixed = [
        class(5_000, 250, 0.5),
        class(50_000, 250, 1.0),
        class(500_000, 100, 1.0),
        class(5_000_000, 25, 1.5),
    ];
    let edge = mixed.map(|of| class(of.bytes, of.flows, 1.0 + TOLERANCE + 1e-4));
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(1));
    for (name, classes) in [("equal", equal), ("mixed", mixed), ("edge", edge)] {
        for seeds in [5, 10] {
            let (mut wrong, mut first, mut found_true, mut all_true) = (0, 0, 0, 0);
            let experiments = 1000;
            for _ in 0..experiments {
                let found = headline(&experiment(&classes, seeds, &mut random));
                let differs = |of: &&SchemeComparison| (ratio_of(&classes, of) - 1.0).abs() > 0.1;
                let decided = |of: &&SchemeComparison| of.verdict() != Verdict::Undecided;
                let is_wrong =
                    |of: &SchemeComparison| is_false(of.verdict(), ratio_of(&classes, of));
                wrong += usize::from(found.comparisons.iter().any(is_wrong));
                first += usize::from(!found.sentences[0].contains("is undecided"));
                all_true += found.comparisons.iter().filter(differs).count();
                found_true += found.comparisons.iter().filter(differs).filter(decided).count();
            }
            let share = |n: usize, of: usize| n as f64 * 100.0 / of.max(1) as f64;
            println!(
                "{name}, {seeds} seeds: {:.1} % of headlines false; first sentence decided in {:.1} %, true \
                 differences in {:.1} %",
                share(wrong, experiments),
                share(first, experiments),
                share(found_true, all_true)
            );
            // 5 % and three standard errors of 1,000 experiments.
            assert!(share(wrong, experiments) < 7.1, "{name}, {seeds} seeds");
        }
    }
}

#[test]
fn who_pays_is_in_the_headline() {
    let class = |bytes, flows, ratio| Class { bytes, flows, ratio };
    let classes = [class(5_000, 250, 0.1), class(5_000_000, 60, 2.0)];
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(2));
    let found = headline(&experiment(&classes, 8, &mut random));
    let [first, mean, rest] = found.sentences.as_slice() else { panic!("{:?}", found.sentences) };
    assert!(mean.starts_with("b is better than a in mean slowdown of short, 0 B-10 kB"), "{mean}");
    assert!(
        first.starts_with("b is better than a in p99 slowdown of short, 0 B-10 kB: "),
        "{first}"
    );
    assert!(rest.contains(" worse: ") && rest.contains("of short, 1 MB-10 MB"), "{rest}");
    let few = headline(&experiment(&classes, 3, &mut random));
    assert!(few.comparisons.iter().all(|of| of.verdict() == Verdict::Undecided));
    assert!(few.sentences[1].ends_with("A verdict needs at least 5 seeds: `--seeds 5`."));
    assert!(few.sentences[2].contains("among them"), "{:?}", few.sentences);
}

/// Returns results of schemes `a` and `b`, whose seeds have these flows.
fn results_of(flows: [&dyn Fn(u64) -> Vec<FlowRow>; 2], seeds: u64) -> Results {
    let mut runs = Vec::new();
    for (scheme, flows) in ["a", "b"].into_iter().zip(flows) {
        for seed in 1..=seeds {
            let (run, point) = (runs.len() as u32, SweepPoint::default());
            let key = RunKey { run, scheme: scheme.to_owned(), point, seed };
            runs.push(facts_of(&key, &flows(seed)));
        }
    }
    Results::new(runs)
}

/// Returns flows of these times in milliseconds, and some that end in another way.
fn flows(times: impl IntoIterator<Item = u64>, others: usize, status: FlowStatus) -> Vec<FlowRow> {
    let ended = times.into_iter().map(|ms| flow(0, Some(ms), FlowStatus::Complete));
    ended.chain(std::iter::repeat_n(flow(0, None, status), others)).collect()
}

#[test]
fn results_that_say_little_say_so() {
    use FlowStatus::{Complete, Failed, Unfinished};
    let good = |seed: u64| flows(10 + seed..=60 + seed, 0, Complete);
    let first = |b: &dyn Fn(u64) -> Vec<FlowRow>, seeds: u64| {
        let found = headline(&results_of([&good, b], seeds));
        (found.comparisons[0].verdict(), found.sentences.join(" "))
    };
    // All are cut off, and already older than any flow of the other scheme; then all are young.
    let (verdict, text) = first(&|_| flows([], 50, Unfinished), 5);
    assert!(text.contains("at least 1000 against 38.0 ms"), "{text}");
    assert_eq!(verdict, Verdict::Worse);
    let young = |_| {
        let mut all = flows([], 50, Unfinished);
        for flow in &mut all {
            flow.start_ps = 990 * PS_PER_MS;
        }
        all
    };
    let (verdict, text) = first(&young, 5);
    assert!(text.contains("at least 10.0 against 38.0 ms"), "{text}");
    assert_eq!(verdict, Verdict::Undecided);
    let (verdict, text) = first(&|seed| flows(seed..=seed, 0, Complete), 5);
    // A seed of one flow has a mean, but no percentile.
    assert!(verdict == Verdict::Better && text.contains("in mean completion time"), "{text}");
    let (verdict, text) = first(&good, 1);
    assert_eq!(verdict, Verdict::Same, "{text}");
    let (verdict, text) = first(&|seed| flows(11 + seed..=61 + seed, 0, Complete), 1);
    assert!(text.contains("one seed has no interval") && text.ends_with("`--seeds 5`."), "{text}");
    assert_eq!(verdict, Verdict::Undecided);
    let empty = headline(&results_of([&|_| Vec::new(), &|_| Vec::new()], 5));
    assert!(empty.comparisons.is_empty() && empty.sentences.is_empty(), "{empty:?}");
    // Failed flows are infinite: A is better with certainty.
    let failed = headline(&results_of([&good, &|_| flows([], 50, Failed)], 5));
    assert!(failed.sentences[0].contains("never against"), "{:?}", failed.sentences);
}

#[test]
fn identical_results_are_the_same() {
    let equal = |seed: u64| flows(10 + seed..=60 + seed, 0, FlowStatus::Complete);
    let found = headline(&results_of([&equal, &equal], 3));
    assert!(found.comparisons.iter().all(|of| of.verdict() == Verdict::Same), "{found:?}");
    assert!(found.sentences[0].starts_with("b is the same as a within 5 % in "), "{found:?}");
}

#[test]
fn a_flow_faster_than_its_ideal_time_is_said() {
    let fast = |_| {
        let mut all = flows(1..=50, 0, FlowStatus::Complete);
        all[0].ideal_ps = Some(2 * PS_PER_MS);
        all
    };
    let results = results_of([&fast, &fast], 2);
    let found = results.findings.iter().find(|of| of.kind == crate::findings::WRONG_IDEAL);
    let said = found.expect("a finding").sentence();
    assert!(said.contains("a slowdown of 0.500, below one"), "{said}");
}
