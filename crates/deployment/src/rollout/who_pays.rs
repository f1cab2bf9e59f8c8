//! Who pays for a move and who gains: the verdicts of all comparisons, and their sentences.
//!
//! Contract: the comparisons of flows of each pair (all sizes, and each size class), of queries and
//! of unlimited flows are one family with an error of 5 % (Holm). A row whose seeds have too few
//! flows for any percentile is not in it, as flows are counted by arrival.

use std::fmt::Write as _;

use lowtide_scenario::MovedSides;
use lowtide_stats::{
    Comparison, Evidence, LEAST_SEEDS, LEVEL, Preference, Verdict, VerdictSentence, holm,
};

use super::goodput::GoodputRow;
use super::outcome::Outcome;
use super::queries::QueryClassRow;
use super::rows::{ALL_SIZES, RolloutRow};
use crate::request::RolloutRequest;

/// Decides all comparisons together.
pub(super) fn decide(
    rows: &mut [RolloutRow],
    queries: &mut [QueryClassRow],
    goodput: &mut [GoodputRow],
) {
    let outcomes = rows.iter_mut().map(|row| &mut row.outcome);
    let outcomes = outcomes.chain(queries.iter_mut().map(|row| &mut row.outcome));
    let mut outcomes: Vec<&mut Outcome> = outcomes.filter(|of| of.judged.is_some()).collect();
    let mut goodput: Vec<&mut GoodputRow> =
        goodput.iter_mut().filter(|row| row.verdict.is_some()).collect();
    let lower = outcomes.iter().filter_map(|of| Some((of.compared?.evidence, Preference::Lower)));
    let higher = goodput.iter().filter_map(|of| Some((of.compared?.evidence, Preference::Higher)));
    let family: Vec<(Evidence, Preference)> = lower.chain(higher).collect();
    let mut verdicts = holm(&family, 1.0 - LEVEL).into_iter();
    for (outcome, verdict) in outcomes.iter_mut().zip(verdicts.by_ref()) {
        outcome.decide(verdict);
    }
    for (row, verdict) in goodput.iter_mut().zip(verdicts) {
        row.verdict = Some(verdict);
        if let Some(comparison) = &mut row.comparison {
            comparison.verdict = Some(verdict);
        }
    }
}

/// A decided comparison at a share.
struct Decided<'a> {
    share_percent: f64,
    /// The flows or queries.
    label: String,
    measure: String,
    unit: &'static str,
    comparison: &'a Comparison,
    verdict: Verdict,
    /// Whether all flows or queries of the label count, not only one size class.
    whole: bool,
}

impl<'a> Decided<'a> {
    fn new(
        share_percent: f64,
        label: String,
        [measure, unit]: [&'static str; 2],
        outcome: &'a Outcome,
    ) -> Option<Self> {
        let (percentile, _) = outcome.judged()?;
        let comparison = outcome.compared.as_ref()?;
        let measure = format!("{percentile} {measure} {label}");
        let verdict = outcome.verdict?;
        Some(Self { share_percent, label, measure, unit, comparison, verdict, whole: true })
    }

    fn of_flows(row: &'a RolloutRow) -> Option<Self> {
        let whole = row.sizes == ALL_SIZES;
        let sizes = if whole { String::new() } else { format!(" of {}", row.sizes) };
        let label = format!("{}{sizes}", row.pair);
        let of = Self::new(row.share_percent, label, ["slowdown of", ""], &row.outcome)?;
        Some(Self { whole, ..of })
    }

    fn of_queries(row: &'a QueryClassRow) -> Option<Self> {
        let label = format!("{} from {} clients", row.group, row.client);
        Self::new(row.share_percent, label, ["completion time of", "ms"], &row.outcome)
    }

    fn of_goodput(row: &'a GoodputRow) -> Option<Self> {
        Some(Self {
            share_percent: row.share_percent,
            label: format!("unlimited {}", row.pair),
            measure: format!("goodput of an unlimited flow of {}", row.pair),
            unit: "Mbit/s",
            comparison: row.compared.as_ref()?,
            verdict: row.verdict?,
            whole: true,
        })
    }

    /// Returns the distance of the ratio from one; infinite without a ratio.
    fn distance(&self) -> f64 {
        self.comparison.ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs())
    }

    fn sentence(&self) -> String {
        let share = format!("{} moved", percent(self.share_percent));
        VerdictSentence {
            verdict: self.verdict,
            comparison: self.comparison,
            names: ["no host moved", &share],
            measure: &self.measure,
            unit: self.unit,
        }
        .to_string()
    }
}

/// Returns the sentences that say who pays, who gains, and from which share on.
pub(super) fn sentence(
    request: &RolloutRequest,
    seeds: usize,
    rows: &[RolloutRow],
    queries: &[QueryClassRow],
    goodput: &[GoodputRow],
) -> String {
    let ends = match request.moves {
        MovedSides::Both => "hosts",
        MovedSides::Senders => "senders",
        MovedSides::Receivers => "receivers",
    };
    let move_of = format!("When {ends} move from {} to {}", request.from, request.to);
    let flows = rows.iter().filter_map(Decided::of_flows);
    let queries = queries.iter().filter_map(Decided::of_queries);
    let all: Vec<Decided<'_>> =
        queries.chain(flows).chain(goodput.iter().filter_map(Decided::of_goodput)).collect();
    if all.is_empty() {
        return format!("{move_of}, nothing is compared: no flow or query is at a share above 0.");
    }
    let clause = |verdict, name: &str| {
        let mut labels: Vec<&str> = Vec::new();
        for of in all.iter().filter(|of| of.verdict == verdict) {
            // Of size classes only those that pay are named.
            if (of.whole || verdict == Verdict::Worse) && !labels.contains(&&*of.label) {
                labels.push(&of.label);
            }
        }
        let shares = |label: &&str| format!("{label} {}", shares(&all, label, verdict));
        let each: Vec<String> = labels.iter().map(shares).collect();
        (!each.is_empty()).then(|| format!("{name}: {}", each.join(", ")))
    };
    let pays = clause(Verdict::Worse, "these pay");
    let gains = clause(Verdict::Better, "these gain");
    let clauses = [
        Some(pays.unwrap_or_else(|| "none is shown to pay".to_owned())),
        Some(gains.unwrap_or_else(|| "none is shown to gain".to_owned())),
        clause(Verdict::Same, "the same"),
        clause(Verdict::Undecided, "undecided"),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    let mut text = format!("{move_of}, {}.", clauses.join("; "));
    for verdict in [Verdict::Worse, Verdict::Better] {
        let of_verdict = all.iter().filter(|of| of.verdict == verdict);
        let farthest = of_verdict.max_by(|a, b| a.distance().total_cmp(&b.distance()));
        if let Some(farthest) = farthest {
            // Writing to a string cannot fail.
            let _ = write!(text, " {}", farthest.sentence());
        }
    }
    if seeds < LEAST_SEEDS {
        text.push_str(" Fewer than five seeds decide only what is equal in each.");
    }
    text
}

/// Names the shares at which a label has the verdict.
fn shares(all: &[Decided<'_>], label: &str, verdict: Verdict) -> String {
    let rows: Vec<&Decided<'_>> = all.iter().filter(|of| of.label == label).collect();
    let chosen: Vec<&&Decided<'_>> = rows.iter().filter(|of| of.verdict == verdict).collect();
    let names: Vec<String> = chosen.iter().map(|of| percent(of.share_percent)).collect();
    let last = &rows[rows.len() - chosen.len()..];
    if chosen.len() == rows.len() && rows.len() > 1 {
        "at every share".to_owned()
    } else if chosen.len() > 1 && last.iter().all(|of| of.verdict == verdict) {
        format!("from {} on", names[0])
    } else {
        format!("at {}", listed(&names))
    }
}

/// Joins names with commas and `and`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Formats a share.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{share:.4}");
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::HostDraw;
    use lowtide_sim::Seed;
    use lowtide_stats::{Observation, Sample, ValueRange, compare_means};

    use super::super::delivered::GoodputOf;
    use super::*;
    use crate::thresholds::RolloutThresholds;
    use Observation::{Complete, CutOff, Failed};

    const TOLERANCE: f64 = 0.1;

    fn sample(flows: impl IntoIterator<Item = Observation>) -> Sample {
        Sample::new(flows, ValueRange::SLOWDOWN).unwrap()
    }

    fn row(sizes: &str, [now, before]: &[Vec<Sample>; 2]) -> RolloutRow {
        let outcome = Outcome::new(now, Some(before), TOLERANCE).unwrap();
        let sizes = sizes.to_owned();
        RolloutRow { share_percent: 50.0, moved_hosts: 4, pair: "old>new", sizes, outcome }
    }

    /// Decides the rows, and returns them with their sentences.
    fn answer(mut rows: Vec<RolloutRow>, mut goodput: Vec<GoodputRow>) -> (Vec<Verdict>, String) {
        let request = RolloutRequest {
            from: "a".into(),
            to: "b".into(),
            hosts: 8,
            moves: MovedSides::Both,
            draw: HostDraw::Random,
            thresholds: RolloutThresholds { tolerance: TOLERANCE },
        };
        decide(&mut rows, &mut [], &mut goodput);
        let seeds = rows.first().and_then(|row| Some(row.outcome.compared?.values[0].seeds));
        let text = sentence(&request, seeds.unwrap_or(5), &rows, &[], &goodput);
        let flows = rows.iter().filter_map(|row| row.outcome.verdict);
        (flows.chain(goodput.iter().filter_map(|row| row.verdict)).collect(), text)
    }

    /// Seeds of log-normal flows, before and after, which share the factor of their seed.
    fn simulated(seed: u64, seeds: u64, flows: u64, ratio: f64) -> [Vec<Sample>; 2] {
        let mut rng = Seed::derive(seed, "who-pays", 0, "test").rng();
        let mut uniform = || (rng.below(1 << 30) + 1) as f64 / f64::from(1 << 30);
        // Box and Muller (1958).
        let mut normal =
            || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let (mut now, mut before) = (Vec::new(), Vec::new());
        for _ in 0..seeds {
            let factor = 100.0 * (0.1 * normal()).exp();
            let mut of = |ratio: f64| {
                sample((0..flows).map(|_| Complete(1.0 + factor * ratio * normal().exp())))
            };
            before.push(of(1.0));
            now.push(of(ratio));
        }
        [now, before]
    }

    #[test]
    fn an_answer_contains_a_false_verdict_in_at_most_5_percent() {
        // Ten pairs of classes: seven without an effect, three with one that is clear or not.
        let ratios = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.6, 1.3, 2.0];
        let (answers, mut wrong, mut found) = (100, 0, 0);
        for i in 0..answers {
            let rows = ratios
                .iter()
                .zip(0..)
                .map(|(ratio, pair)| row(ALL_SIZES, &simulated(i * 100 + pair, 10, 20, *ratio)));
            let (verdicts, _) = answer(rows.collect(), Vec::new());
            let is_false = |(verdict, ratio): (&Verdict, &f64)| match verdict {
                Verdict::Better => *ratio >= 1.0,
                Verdict::Worse => *ratio <= 1.0,
                Verdict::Same => !(1.0 / 1.1..=1.1).contains(ratio),
                Verdict::Undecided => false,
            };
            wrong += usize::from(verdicts.iter().zip(&ratios).any(is_false));
            found += usize::from(verdicts[7] == Verdict::Better);
            found += usize::from(verdicts[9] == Verdict::Worse);
        }
        // scipy.stats.binom.ppf(0.999, 100, 0.05) is 12.
        assert!(wrong <= 12, "{wrong} of {answers}");
        assert!(found > 20, "{found} of {}", 2 * answers);
    }

    #[test]
    fn a_size_class_that_pays_is_named_although_its_pair_gains() {
        let gains = row(ALL_SIZES, &simulated(1, 10, 100, 0.3));
        let pays = row("> 10 MB", &simulated(2, 10, 20, 6.0));
        let (verdicts, text) = answer(vec![gains, pays], Vec::new());
        assert_eq!(verdicts, [Verdict::Better, Verdict::Worse]);
        assert!(text.contains("these pay: old>new of > 10 MB at 50 %"), "{text}");
        assert!(text.contains("these gain: old>new at 50 %."), "{text}");
        let worse = "50 % moved is worse than no host moved in p95 slowdown of old>new of > 10 MB";
        let better = "50 % moved is better than no host moved in p99 slowdown of old>new: ";
        assert!(text.contains(worse) && text.contains(better), "{text}");
    }

    #[test]
    fn more_goodput_is_better_and_is_decided_with_the_others() {
        let some = |values: [f64; 5]| values.map(Some);
        let before = some([100.0, 110.0, 95.0, 105.0, 90.0]);
        let now = some([82.0, 85.0, 80.0, 88.0, 70.0]);
        let row = |now: &[Option<f64>], before: &[Option<f64>]| {
            let compared = compare_means(before, now, ValueRange::NOT_NEGATIVE, TOLERANCE);
            GoodputRow {
                share_percent: 25.0,
                moved_hosts: 2,
                pair: "old>old",
                of: GoodputOf::UnlimitedFlow,
                seeds: 5,
                goodput_mbps: compared.values[1].into(),
                comparison: None,
                verdict: Some(Verdict::Undecided),
                compared: Some(compared),
            }
        };
        let (verdicts, text) = answer(Vec::new(), vec![row(&now, &before)]);
        assert_eq!(verdicts, [Verdict::Worse]);
        // numpy and scipy: r = mean(now) / mean(before); d = now / mean(now) - before /
        // mean(before); exp(log(r) -+ t.ppf(0.975, 4) * sem(d)).
        let wanted = "25 % moved is worse than no host moved in goodput of an unlimited flow of \
                      old>old: 81.0 against 100 Mbit/s, 0.810 times (95 % interval 0.770 to 0.852).";
        assert!(text.contains(wanted), "{text}");
        let (verdicts, _) = answer(Vec::new(), vec![row(&before, &now)]);
        assert_eq!(verdicts, [Verdict::Better]);
        let (verdicts, text) = answer(Vec::new(), vec![row(&now, &now)]);
        assert_eq!(verdicts, [Verdict::Same]);
        assert!(text.contains("the same: unlimited old>old at 25 %"), "{text}");
    }

    #[test]
    fn every_bad_input_has_its_verdict_and_sentence() {
        let seed = |i: u64| sample((1..=30).map(|j| Complete((i + j) as f64)));
        let seeds = |n: u64| (0..n).map(seed).collect::<Vec<_>>();
        let cut: Vec<Sample> = (0..5).map(|_| sample(vec![CutOff(4.0); 30])).collect();
        let failed: Vec<Sample> = (0..5).map(|_| sample(vec![Failed; 30])).collect();
        let two: Vec<Sample> = (2..7).map(|i| sample([Complete(f64::from(i))])).collect();
        let other: Vec<Sample> = seeds(6).split_off(1);
        for (now, before, verdict, wanted) in [
            (seeds(1), seeds(2).split_off(1), Verdict::Undecided, "Fewer than five seeds"),
            (seeds(1), seeds(1), Verdict::Same, "Fewer than five seeds"),
            (seeds(4), seeds(4), Verdict::Same, "the same: old>new at 50 %"),
            (seeds(5), seeds(5), Verdict::Same, "the same: old>new at 50 %"),
            (cut.clone(), seeds(5), Verdict::Undecided, "undecided: old>new at 50 %"),
            (seeds(5), cut, Verdict::Undecided, "undecided: old>new at 50 %"),
            (
                failed.clone(),
                seeds(5),
                Verdict::Worse,
                "of old>new: never against 31.0 (no interval",
            ),
            (failed.clone(), failed, Verdict::Undecided, "undecided: old>new at 50 %"),
            (two, other, Verdict::Undecided, "none is shown to pay; none is shown to gain"),
        ] {
            let (verdicts, text) = answer(vec![row(ALL_SIZES, &[now, before])], Vec::new());
            assert_eq!(verdicts, [verdict], "{text}");
            assert!(text.contains(wanted), "{text}");
        }
        let none: [Vec<Sample>; 2] = [vec![sample([]); 5], vec![sample([]); 5]];
        assert!(Outcome::new(&none[0], Some(&none[1]), TOLERANCE).is_none());
        let (_, text) = answer(Vec::new(), Vec::new());
        assert!(text.contains("nothing is compared"), "{text}");
    }

    #[test]
    fn shares_have_no_trailing_zeros() {
        assert_eq!([0.0, 12.5, 100.0 / 3.0].map(percent), ["0 %", "12.5 %", "33.3333 %"]);
    }
}
