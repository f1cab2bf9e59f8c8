//! Compares a measured value with the band of its claim.

use lowtide_charts::number;
use lowtide_lab::OverSeeds;
use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF};

#[cfg(test)]
use super::expected::RecordedResult;
use super::expected::{Claim, ClaimKind};
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
        None => evaluate_value(claim, &OverSeeds::new(values), level),
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
        _ => why.map(str::to_owned).or_else(|| claim.reason.clone()),
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
        recorded,
        regressed,
        calibrated: claim.calibrated,
    }
}

/// A measured value and its verdict.
#[derive(Clone, Copy)]
struct Evaluation {
    measured: Option<f64>,
    ci95: Option<[f64; 2]>,
    band: [f64; 2],
    verdict: ClaimVerdict,
    /// Reason why it cannot be judged.
    why: Option<&'static str>,
}

fn evaluate_value(claim: &Claim, over: &OverSeeds, level: f64) -> Evaluation {
    let mut band = claim.band();
    // The interval at the usual level is stored, and not computed again.
    let at_level = if level == LEVEL { over.ci95 } else { over.interval(level) };
    if let (ClaimKind::Difference, Some([low, high])) = (claim.kind, at_level) {
        let (middle, half) = (f64::midpoint(band[0], band[1]), (high - low) / 2.0);
        band = [band[0].min(middle - half), band[1].max(middle + half)];
    }
    let interval = at_level.or_else(|| over.mean.filter(|_| over.seed_independent).map(|m| [m; 2]));
    let within = |band| {
        interval.map_or(ClaimVerdict::Undecided, |i| interval_verdict(i, band, claim.direction()))
    };
    let why = match interval {
        Some(_) => None,
        None if over.mean.is_some() => Some("one seed has no interval"),
        None => Some("not every seed has a value"),
    };
    Evaluation { measured: over.mean, ci95: over.ci95, band, verdict: within(band), why }
}

/// Verdict on the recorded mean and interval of a claim. `None` without a record, and for a rate of
/// a further look, whose counts are not recorded.
#[cfg(test)]
pub(crate) fn recorded_verdict(claim: &Claim) -> Option<ClaimVerdict> {
    let is_known = |of: &RecordedResult| of.further.is_none() || claim.kind != ClaimKind::Rate;
    let recorded = claim.recorded.filter(is_known)?;
    // A mean without an interval is that of seeds that agree, or of a single seed, which decides
    // nothing.
    let seed_independent = recorded.ci95.is_none() && recorded.verdict != ClaimVerdict::Undecided;
    let found = evaluate_value(
        claim,
        &OverSeeds {
            mean: recorded.measured,
            ci95: recorded.ci95,
            seed_independent,
            seeds: recorded.further.map_or(0, |further| further.seeds),
            ..OverSeeds::default()
        },
        recorded.further.map_or(LEVEL, |further| further.level),
    );
    Some(found.verdict)
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
    match total(events).zip(total(trials)).filter(|(_, n)| *n > 0.0) {
        Some((k, n)) => {
            let verdict = interval_verdict(clopper_pearson(k, n, level), band, claim.direction());
            let measured = Some(k / n);
            let ci95 = Some(clopper_pearson(k, n, LEVEL));
            Evaluation { measured, ci95, band, verdict, why: None }
        }
        None => Evaluation {
            measured: None,
            ci95: None,
            band,
            verdict: ClaimVerdict::Undecided,
            why: Some("there were no trials"),
        },
    }
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

/// The Clopper-Pearson interval of `k` in `n` at a confidence level.
fn clopper_pearson(k: f64, n: f64, level: f64) -> [f64; 2] {
    let tail = (1.0 - level) / 2.0;
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |d| d.inverse_cdf(p));
    let low = if k > 0.0 { quantile(k, n - k + 1.0, tail) } else { 0.0 };
    let high = if k < n { quantile(k + 1.0, n - k, 1.0 - tail) } else { 1.0 };
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentClaims;

    fn claim(rest: &str) -> Claim {
        let text = format!(
            "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\nsource = \"fig. 1\"\n\
             measure = {{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }}\n\
             reason = \"known\"\n{rest}"
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
        assert_eq!(judged.reason.as_deref(), Some("not every seed has a value"));
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
            "kind = \"ordering\"\nat-most = 0.0\nrecorded = { verdict = \"reproduced\", measured = 0.0 }",
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
        let [low, high] = clopper_pearson(7.0, 100.0, LEVEL);
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
        let near = claim("kind = \"difference\"\nreported = 0.0\nband = 0.1");
        assert_eq!(verdict(&near, &[0.5, -0.5, 0.4, -0.4]), ClaimVerdict::Reproduced);
        assert_eq!(verdict(&near, &[0.5, 0.5, 0.51, 0.5]), ClaimVerdict::NotReproduced);
    }
}
