//! Compares a measured value with the band of its claim.

use lowtide_charts::number;
use lowtide_stats::{Estimate, Interval, PointValue, ShareInterval, seed_mean_at, share_interval};
use serde::Serialize;

#[cfg(test)]
use super::expected::RecordedResult;
use super::expected::{Claim, ClaimKind};
use super::measure::ClaimMeasure;
use super::verdict::{ClaimVerdict, LEVEL};

/// A claim with its verdict; an element of `claims` in the output of `reproduce --json`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ClaimResult {
    /// `od-fig5.1/window`.
    pub id: String,
    /// The paper's statement.
    pub says: String,
    /// The kind of the claim.
    pub kind: ClaimKind,
    /// The paper's value.
    pub reported: Option<f64>,
    /// Place in the paper.
    pub source: String,
    /// The unit of all values.
    pub unit: String,
    /// The band of the claim; null for an open end.
    pub band: [Option<f64>; 2],
    /// Our value: the mean over seeds.
    pub measured: Option<f64>,
    /// Its 95 % interval; null when all seeds agree.
    pub ci95: Option<[f64; 2]>,
    /// Number of seeds.
    pub seeds: usize,
    /// Confidence level of the interval of the verdict: 0.95, or more in a further look.
    pub level: f64,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Reason why it is not `reproduced`; null if it is, or if the reason is unknown.
    pub reason: Option<String>,
    /// Section below `docs/evidence/papers/` about the reason, such as `dx.md#dx-fig15`; null if
    /// there is none.
    pub evidence: Option<String>,
    /// Verdict of the last full run that was reviewed; null if there was none.
    pub recorded: Option<ClaimVerdict>,
    /// Whether it is recorded as `reproduced` and no longer is.
    pub regressed: bool,
    /// Whether a parameter was fitted to it, so that it is not counted.
    pub calibrated: bool,
}

impl ClaimResult {
    /// The band, as text.
    pub fn band_text(&self) -> String {
        match self.band {
            [Some(low), Some(high)] => format!("from {} to {}", number(low), number(high)),
            [Some(low), None] => format!("from {} on", number(low)),
            [None, Some(high)] => format!("up to {}", number(high)),
            [None, None] => "everywhere".to_owned(),
        }
    }
}

/// Judges `claim` by one value per seed; `trials` belongs to a rate.
pub(crate) fn judge(
    row: &str,
    claim: &Claim,
    values: &[Option<f64>],
    trials: Option<&[Option<f64>]>,
    reduced: bool,
) -> ClaimResult {
    judge_at(row, claim, values, trials, (reduced, LEVEL))
}

/// As [`judge`], with a verdict from the interval at another confidence level.
pub(crate) fn judge_at(
    row: &str,
    claim: &Claim,
    values: &[Option<f64>],
    trials: Option<&[Option<f64>]>,
    (reduced, level): (bool, f64),
) -> ClaimResult {
    let found = match trials {
        Some(trials) => evaluate_rate(claim, values, trials, level),
        None => evaluate_value(claim, values, level),
    };
    ClaimResult { level, ..claim_result(row, claim, values.len(), found, reduced) }
}

/// A claim that the reduced form cannot decide.
pub(crate) fn undecided(row: &str, claim: &Claim, seeds: usize, why: &str) -> ClaimResult {
    let verdict = ClaimVerdict::Undecided;
    let found = Evaluation { measured: None, ci95: None, band: claim.band(), verdict, why: None };
    ClaimResult { reason: Some(why.to_owned()), ..claim_result(row, claim, seeds, found, true) }
}

fn claim_result(
    row: &str,
    claim: &Claim,
    seeds: usize,
    found: Evaluation,
    reduced: bool,
) -> ClaimResult {
    let Evaluation { measured, ci95, band, mut verdict, why } = found;
    let mut reason = match verdict {
        ClaimVerdict::Reproduced => None,
        _ => why.or_else(|| claim.reason.clone()),
    };
    let recorded = claim.recorded.map(|r| r.verdict);
    // A small sample may look better or worse than a large one. It never contradicts the full form,
    // except that a reproduced claim is reported as a regression.
    if let Some(full) = recorded.filter(|full| reduced && *full != ClaimVerdict::Reproduced)
        && ![full, ClaimVerdict::Undecided].contains(&verdict)
    {
        verdict = ClaimVerdict::Undecided;
        let known = claim.reason.as_deref().unwrap_or_default();
        reason = Some(format!("the verdict of the full form is `{}`: {known}", full.name()));
    }
    let regressed = recorded == Some(ClaimVerdict::Reproduced)
        && verdict != ClaimVerdict::Reproduced
        && !(reduced && verdict == ClaimVerdict::Undecided);
    ClaimResult {
        id: format!("{row}/{}", claim.id),
        says: claim.says.clone(),
        kind: claim.kind,
        reported: claim.reported,
        source: claim.source.clone(),
        unit: claim.unit.clone(),
        band: band.map(|b| b.is_finite().then_some(b)),
        measured,
        ci95,
        seeds,
        level: LEVEL,
        verdict,
        reason,
        evidence: claim.evidence.clone(),
        recorded,
        regressed,
        calibrated: claim.calibrated,
    }
}

/// A measured value and its verdict.
struct Evaluation {
    measured: Option<f64>,
    ci95: Option<[f64; 2]>,
    band: [f64; 2],
    verdict: ClaimVerdict,
    /// Reason why it cannot be judged.
    why: Option<String>,
}

/// Judges a mean over seeds by Student's t from two seeds on: most experiments have three or five.
fn evaluate_value(claim: &Claim, values: &[Option<f64>], level: f64) -> Evaluation {
    let [usual, judged] =
        [LEVEL, level].map(|level| seed_mean_at(values, claim.measure.range(), level));
    let measured = judged.point.value();
    let (band, verdict) = decide(claim, certain_ends(&judged));
    let ci95 = usual.interval.confidence();
    if matches!(judged.interval, Interval::SeedIndependent) && measured == sides_are_equal(claim) {
        let why = Some("both sides have the same value in every seed".to_owned());
        return Evaluation { measured, ci95, band, verdict: ClaimVerdict::Undecided, why };
    }
    Evaluation { measured, ci95, band, verdict, why: why(&judged) }
}

/// Value of a comparison whose two sides are equal; in every seed, it shows that nothing that the
/// claim is about had an effect, or that the values are too coarse for it.
fn sides_are_equal(claim: &Claim) -> Option<f64> {
    claim.measure.sides()?;
    Some(if matches!(claim.measure, ClaimMeasure::Ratio(_)) { 1.0 } else { 0.0 })
}

/// The ends of an interval; equal results of all seeds are certain.
fn certain_ends(of: &Estimate) -> Option<[f64; 2]> {
    match of.interval {
        Interval::SeedIndependent => of.point.value().map(|value| [value; 2]),
        interval => interval.confidence(),
    }
}

/// Reason why there is no interval, if so.
fn why(of: &Estimate) -> Option<String> {
    match (of.point, of.interval) {
        (PointValue::Missing { reason }, _) => Some(reason.to_string()),
        (_, Interval::Missing { reason }) => Some(reason.to_string()),
        _ => None,
    }
}

/// Returns the band and the verdict of an interval.
fn decide(claim: &Claim, interval: Option<[f64; 2]>) -> ([f64; 2], ClaimVerdict) {
    let mut band = claim.band();
    if let (ClaimKind::Difference, Some([low, high])) = (claim.kind, interval) {
        let (middle, half) = (f64::midpoint(band[0], band[1]), (high - low) / 2.0);
        band = [band[0].min(middle - half), band[1].max(middle + half)];
    }
    let verdict =
        interval.map_or(ClaimVerdict::Undecided, |i| interval_verdict(i, band, claim.direction()));
    (band, verdict)
}

/// Judges a share of events, over all seeds together.
fn evaluate_rate(
    claim: &Claim,
    events: &[Option<f64>],
    trials: &[Option<f64>],
    level: f64,
) -> Evaluation {
    let total = |v: &[Option<f64>]| v.iter().copied().sum::<Option<f64>>();
    let band = claim.band();
    let Some((k, n)) = total(events).zip(total(trials)).filter(|(_, n)| *n > 0.0) else {
        let (verdict, why) = (ClaimVerdict::Undecided, Some("there were no trials".to_owned()));
        return Evaluation { measured: None, ci95: None, band, verdict, why };
    };
    let [usual, judged] = [LEVEL, level].map(|level| {
        let ShareInterval { low, high } = share_interval(k / n, n, level);
        [low, high]
    });
    let verdict = interval_verdict(judged, band, claim.direction());
    Evaluation { measured: Some(k / n), ci95: Some(usual), band, verdict, why: None }
}

fn inside(interval: [f64; 2], band: [f64; 2]) -> bool {
    band[0] <= interval[0] && interval[1] <= band[1]
}

fn interval_verdict(
    interval: [f64; 2],
    band: [f64; 2],
    direction: Option<[f64; 2]>,
) -> ClaimVerdict {
    if inside(interval, band) {
        ClaimVerdict::Reproduced
    } else if interval[1] >= band[0] && interval[0] <= band[1] {
        ClaimVerdict::Undecided
    } else if direction.is_some_and(|d| inside(interval, d)) {
        ClaimVerdict::Direction
    } else {
        ClaimVerdict::NotReproduced
    }
}

/// Verdict on the recorded mean and interval of a claim. `None` without a record, and for a rate of
/// a further look, whose counts are not recorded.
#[cfg(test)]
pub(crate) fn recorded_verdict(claim: &Claim) -> Option<ClaimVerdict> {
    let is_known = |of: &RecordedResult| of.further.is_none() || claim.kind != ClaimKind::Rate;
    let recorded = claim.recorded.filter(is_known)?;
    // A mean without an interval is that of seeds that agree, or of a single seed, which decides
    // nothing.
    let certain = recorded.measured.filter(|_| recorded.verdict != ClaimVerdict::Undecided);
    let interval = recorded.ci95.or(certain.map(|mean| [mean; 2]));
    let interval = match (recorded.further, recorded.measured) {
        (Some(further), Some(mean)) => interval.map(|ends| at_level(ends, mean, further)),
        _ => interval,
    };
    let equal = recorded.ci95.is_none() && recorded.measured == sides_are_equal(claim);
    Some(if equal { ClaimVerdict::Undecided } else { decide(claim, interval).1 })
}

/// Interval around `mean` at the level of a further look, from that at 95 %. One that would have
/// left the range of a share is not symmetric: it is Student's t on the logarithm of the odds.
#[cfg(test)]
fn at_level([low, high]: [f64; 2], mean: f64, look: super::expected::RecordedLook) -> [f64; 2] {
    use statrs::distribution::{ContinuousCDF, StudentsT};
    let t = StudentsT::new(0.0, 1.0, look.seeds as f64 - 1.0).unwrap();
    let of = |level: f64| t.inverse_cdf(f64::midpoint(1.0, level));
    let wider = of(look.level) / of(LEVEL);
    let asymmetry = (low + high - 2.0 * mean).abs() - 1e-4 * mean.abs();
    if asymmetry <= 0.05 * (high - low) {
        return [low, high].map(|end| mean + (end - mean) * wider);
    }
    let logit = |share: f64| (share / (1.0 - share)).ln();
    let end = |end| logit(mean) + (logit(end) - logit(mean)) * wider;
    [low, high].map(|of| 1.0 / (1.0 + (-end(of)).exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentClaims;

    const FCT: &str = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";

    fn claim(rest: &str) -> Claim {
        claim_of(FCT, rest)
    }

    fn claim_of(measure: &str, rest: &str) -> Claim {
        let text = format!(
            "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\nsource = \"fig. 1\"\n\
             measure = {measure}\nreason = \"known\"\n{rest}"
        );
        ExperimentClaims::parse(&text, "x").unwrap().claims.remove(0)
    }

    fn verdict(claim: &Claim, values: &[f64]) -> ClaimVerdict {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        judge("p-fig1", claim, &values, None, false).verdict
    }

    #[test]
    fn the_whole_interval_must_be_inside() {
        let ratio = claim("kind = \"ratio\"\nreported = 4.0");
        assert_eq!(verdict(&ratio, &[4.0, 4.1, 4.05]), ClaimVerdict::Reproduced);
        assert_eq!(verdict(&ratio, &[3.0, 3.2, 2.9]), ClaimVerdict::Undecided);
        assert_eq!(verdict(&ratio, &[2.0, 2.1, 2.05]), ClaimVerdict::Direction);
        assert_eq!(verdict(&ratio, &[0.5, 0.51, 0.5]), ClaimVerdict::NotReproduced);
        assert_eq!(verdict(&ratio, &[4.0; 3]), ClaimVerdict::Reproduced, "seeds agree");
        assert_eq!(verdict(&ratio, &[4.0]), ClaimVerdict::Undecided, "one seed");
    }

    #[test]
    fn a_seed_without_a_value_leaves_it_undecided() {
        let ratio = claim("kind = \"ratio\"\nreported = 4.0");
        let judged = judge("p-fig1", &ratio, &[Some(4.0), None], None, false);
        assert_eq!(judged.verdict, ClaimVerdict::Undecided);
        assert_eq!(judged.reason.as_deref(), Some("1 seed has no value"));
        assert_eq!(judged.id, "p-fig1/a");
    }

    #[test]
    fn the_reason_is_given_only_where_it_is_needed() {
        let zero = claim("kind = \"ordering\"\nat-most = 0.0");
        let of = |v: f64| judge("p-fig1", &zero, &[Some(v); 2], None, false);
        assert_eq!((of(0.0).verdict, of(0.0).reason), (ClaimVerdict::Reproduced, None));
        assert_eq!(
            (of(1.0).verdict, of(1.0).reason),
            (ClaimVerdict::NotReproduced, Some("known".into()))
        );
        assert_eq!(of(1.0).band, [None, Some(0.0)]);
    }

    #[test]
    fn a_run_is_compared_with_the_record() {
        let zero = claim(
            "kind = \"ordering\"\nat-most = 0.5\nrecorded = { verdict = \"reproduced\", measured = 0.0 }",
        );
        let of = |values: &[f64], reduced| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            let judged = judge("p-fig1", &zero, &values, None, reduced);
            (judged.verdict, judged.regressed)
        };
        assert_eq!(of(&[0.0, 0.0], false), (ClaimVerdict::Reproduced, false));
        assert_eq!(of(&[1.0, 1.0], true), (ClaimVerdict::NotReproduced, true));
        assert_eq!(
            of(&[0.0, 1.0], false),
            (ClaimVerdict::Undecided, true),
            "the full form must decide"
        );
        assert_eq!(of(&[0.0, 1.0], true), (ClaimVerdict::Undecided, false));
        let open = undecided("p-fig1", &zero, 2, "too short");
        assert_eq!(
            (open.verdict, open.regressed, open.reason.as_deref()),
            (ClaimVerdict::Undecided, false, Some("too short"))
        );
    }

    #[test]
    fn a_reduced_form_never_contradicts_the_full_one() {
        let zero = claim(
            "kind = \"ordering\"\nat-most = 0.0\nrecorded = { verdict = \"not-reproduced\" }",
        );
        let of = |reduced| judge("p-fig1", &zero, &[Some(0.0); 2], None, reduced);
        assert_eq!((of(true).verdict, of(true).regressed), (ClaimVerdict::Undecided, false));
        assert!(of(true).reason.is_some_and(|r| r.contains("`not-reproduced`: known")));
        assert_eq!(of(false).verdict, ClaimVerdict::Reproduced);
        let right_way =
            claim("kind = \"ratio\"\nreported = 6.0\nrecorded = { verdict = \"direction\" }");
        let of = |reduced| judge("p-fig1", &right_way, &[Some(0.5); 2], None, reduced).verdict;
        assert_eq!((of(true), of(false)), (ClaimVerdict::Undecided, ClaimVerdict::NotReproduced));
    }

    #[test]
    fn a_rate_is_judged_by_its_counts() {
        let rate = claim(
            "kind = \"rate\"\nreported = 0.07\n\
             trials = { table = \"flows\", column = \"fct_ps\", reduce = \"count\" }",
        );
        let of = |k: f64, n: f64| judge("p-fig1", &rate, &[Some(k)], Some(&[Some(n)]), false);
        assert_eq!(of(7.0, 100.0).verdict, ClaimVerdict::Reproduced);
        assert_eq!(of(150.0, 1000.0).verdict, ClaimVerdict::Reproduced, "within a factor of three");
        assert_eq!(of(20.0, 100.0).verdict, ClaimVerdict::Undecided, "up to 29 %, the edge is 21");
        assert_eq!(of(0.0, 1000.0).verdict, ClaimVerdict::NotReproduced);
        assert_eq!(of(0.0, 3.0).verdict, ClaimVerdict::Undecided, "three trials exclude nothing");
        assert_eq!(of(0.0, 0.0).verdict, ClaimVerdict::Undecided);
        let [low, high] = of(7.0, 100.0).ci95.unwrap();
        assert!((low - 0.028_605).abs() < 1e-4 && (high - 0.138_92).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn a_recorded_further_look_has_its_level() {
        let of = |further: &str| {
            let recorded = format!(
                "kind = \"ordering\"\nat-least = 1.05\nrecorded = {{ verdict = \"undecided\", \
                 measured = 1.0614, ci95 = [1.0501, 1.0728]{further} }}"
            );
            recorded_verdict(&claim(&recorded)).unwrap()
        };
        assert_eq!(of(""), ClaimVerdict::Reproduced);
        assert_eq!(of(", further = { seeds = 20, level = 0.975 }"), ClaimVerdict::Undecided);
    }

    #[test]
    fn a_further_look_without_an_interval_is_refused() {
        for further in
            ["seeds = 1, level = 0.975", "seeds = 20, level = 0.9", "seeds = 20, level = 1.0"]
        {
            let text = format!(
                "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\n\
                 source = \"fig. 1\"\nkind = \"ordering\"\nat-least = 1.0\n\
                 measure = {{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }}\n\
                 recorded = {{ verdict = \"reproduced\", further = {{ {further} }} }}"
            );
            let error = ExperimentClaims::parse(&text, "x").unwrap_err().to_string();
            assert!(error.contains("at least two seeds"), "{error}");
        }
    }

    #[test]
    fn an_effect_is_judged_on_the_effect() {
        use ClaimVerdict::{Direction, NotReproduced, Reproduced, Undecided};
        let effect = claim("kind = \"ratio\"\nreported = 1.2\neffect = true");
        let of = |values: &[f64]| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            let judged = judge("p-fig1", &effect, &values, None, false);
            judged.verdict
        };
        assert_eq!(of(&[1.18, 1.22, 1.2]), Reproduced);
        assert_eq!(of(&[1.01, 1.02, 1.015]), Direction, "the order, without size");
        assert_eq!(of(&[0.95, 0.96, 0.955]), NotReproduced, "the other side of one");
        assert_eq!(of(&[1.0; 3]), NotReproduced, "no effect at all");
        assert_eq!(of(&[1.05, 1.15, 1.2]), Undecided, "straddles the edge");
        assert_eq!(of(&[1.2]), Undecided, "one seed");
    }

    #[test]
    fn the_band_of_a_difference_is_never_narrower_than_the_interval() {
        let measure = format!("{{ difference = [{FCT}, {FCT}] }}");
        let near = claim_of(&measure, "kind = \"difference\"\nreported = 0.0\nband = 0.1");
        assert_eq!(verdict(&near, &[0.5, -0.5, 0.4, -0.4]), ClaimVerdict::Reproduced);
        assert_eq!(verdict(&near, &[0.5, 0.5, 0.51, 0.5]), ClaimVerdict::NotReproduced);
    }

    #[test]
    fn a_comparison_of_equal_sides_cannot_tell() {
        use ClaimVerdict::{NotReproduced, Reproduced, Undecided};
        let jain = "{ metric = \"jain\", group = \"g\" }";
        let (max, one) =
            (FCT.replace("mean", "max"), FCT.replace(" }", ", where = { flow = 1 } }"));
        let count = |of: &str| of.replace("mean", "count");
        let ratio = |a: &str, b: &str| format!("{{ ratio = [{a}, {b}] }}");
        let minus = |a: &str, b: &str| format!("{{ difference = [{a}, {b}] }}");
        for (measure, at_least, values, wanted) in [
            (ratio(FCT, jain), 0.98, [1.0; 3], Undecided),
            (ratio(FCT, jain), 1.2, [1.0; 3], Undecided),
            (ratio(FCT, jain), 0.98, [1.0, 1.0, 1.001], Reproduced),
            (ratio(FCT, jain), 0.98, [0.99; 3], Reproduced),
            (minus(FCT, jain), 0.0, [0.0; 3], Undecided),
            (minus(FCT, jain), 0.0, [1.0; 3], Reproduced),
            // The last value is the largest; all of the rows; one measured value.
            (minus(FCT, &max), 0.0, [0.0; 3], Reproduced),
            (ratio(&count(&one), &count(FCT)), 0.9, [1.0; 3], Reproduced),
            (FCT.to_owned(), 0.0, [0.0; 3], Reproduced),
            (FCT.to_owned(), 2.0, [1.0; 3], NotReproduced),
        ] {
            let claim = claim_of(&measure, &format!("kind = \"ordering\"\nat-least = {at_least}"));
            assert_eq!(verdict(&claim, &values), wanted, "{measure} {at_least} {values:?}");
        }
    }

    #[test]
    fn an_interval_is_inside_the_possible_range() {
        // scipy: p = mean(v); half = t.ppf(0.975, 2) * sem(v);
        // expit(logit(p) - half / p / (1 - p)), and + for the upper end.
        let measure = "{ metric = \"jain\", group = \"flows\" }";
        let fair = claim_of(measure, "kind = \"ordering\"\nat-least = 0.99");
        let values = [0.999_517_826_093_418_2, 0.999_999_437_938_517_5, 0.999_999_178_454_300_5];
        let judged = judge("p-fig1", &fair, &values.map(Some), None, false);
        let [low, high] = judged.ci95.unwrap();
        assert!(
            (low - 0.988_432_425_001).abs() < 1e-8 && (high - 0.999_997_779_261).abs() < 1e-8,
            "{low} {high}"
        );
        assert_eq!(judged.verdict, ClaimVerdict::Undecided, "Student's t ends at 0.99915");
        let never = claim("kind = \"ordering\"\nat-most = 0");
        assert_eq!(
            verdict(&never, &[0.0, 1.0]),
            ClaimVerdict::NotReproduced,
            "the mean is positive"
        );
    }

    #[test]
    fn values_that_cannot_be_judged_have_a_reason() {
        let measure = "{ metric = \"timeout_fraction\", group = \"queries\" }";
        let share = claim_of(measure, "kind = \"ordering\"\nat-most = 0.5");
        for (values, why) in [
            (&[][..], "no flow"),
            (&[None, None], "2 seeds have no value"),
            (&[Some(0.1)], "one seed has no interval"),
            (&[Some(0.1), Some(f64::INFINITY)], "a seed has no finite value"),
            (&[Some(0.1), Some(1.1)], "a seed has an impossible value"),
        ] {
            let judged = judge("p-fig1", &share, values, None, false);
            assert_eq!(judged.verdict, ClaimVerdict::Undecided, "{values:?}");
            assert_eq!((judged.reason.as_deref(), judged.ci95), (Some(why), None));
        }
        let same = judge("p-fig1", &share, &[Some(0.2); 2], None, false);
        assert_eq!((same.verdict, same.ci95), (ClaimVerdict::Reproduced, None));
    }
}
