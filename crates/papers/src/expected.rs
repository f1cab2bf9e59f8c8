//! A file of claims: the paper's results of one experiment, and the measures that reproduce them.

use serde::Deserialize;
use toml::Table;

use super::check::ExperimentSchema;
use super::effect::{effect, effect_band};
use super::figure::PaperFigure;
use super::measure::ClaimMeasure;
use super::vary::VarySpec;
use super::verdict::{ClaimVerdict, LEVEL};
use super::{ClaimError, QuickConfig};

lowtide_units::named_enum! {
    /// Kind of a claim, which determines its band.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, serde::Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ClaimKind ALL {
        /// An order, or zero against many: within the bounds of the claim.
        Ordering = "ordering",
        /// A factor between two values: 25 % around the reported value. With `effect` also within
        /// 50 % of the reported effect.
        Ratio = "ratio",
        /// A value from a simulation: 15 % around the reported value.
        Simulation = "simulation",
        /// A value from a testbed: 30 % around the reported value.
        Testbed = "testbed",
        /// A share of events: a third to three times the reported value. Its interval is that of
        /// Clopper and Pearson, over the events of all seeds.
        Rate = "rate",
        /// A difference: the stated band on both sides, at least as wide as our interval.
        Difference = "difference",
    }
}

/// One claim of a paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Its identifier in the experiment.
    pub id: String,
    /// The paper's statement, in one sentence.
    pub says: String,
    /// Its kind, which determines the band.
    pub kind: ClaimKind,
    /// Place in the paper.
    pub source: String,
    /// The unit of the reported and the measured value.
    #[serde(default)]
    pub unit: String,
    /// The paper's value; an ordering may have none.
    #[serde(default)]
    pub reported: Option<f64>,
    /// The measure.
    pub measure: ClaimMeasure,
    /// For a [`Kind::Rate`]: the number of trials, of which `measure` counts the events.
    #[serde(default)]
    pub trials: Option<ClaimMeasure>,
    /// For a [`Kind::Ordering`]: the lower bound.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// For a [`Kind::Ordering`]: the upper bound.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// For a [`Kind::Difference`]: half the width of its band.
    #[serde(default)]
    pub band: Option<f64>,
    /// For a [`ClaimKind::Ratio`]: the paper reports it as an effect, which is judged, not only the
    /// ratio.
    #[serde(default)]
    pub effect: bool,
    /// Range in which at least the order is the paper's, for an absolute value outside its band.
    #[serde(default)]
    pub direction: Option<ClaimRange>,
    /// Origin of a bound or of a difference's band that is not zero or one: the paper's words, or
    /// `ours: ` and the cause.
    #[serde(default)]
    pub band_source: Option<String>,
    /// Established cause, if it is not reproduced, in at most 20 words.
    #[serde(default)]
    pub reason: Option<String>,
    /// Section below `docs/evidence/papers/` with the evidence of the reason: `dx.md#dx-fig15`.
    #[serde(default)]
    pub evidence: Option<String>,
    /// Reason why the reduced form cannot judge it, if so.
    #[serde(default)]
    pub full_only: Option<String>,
    /// Result of the last full run that was reviewed. No run writes it.
    #[serde(default)]
    pub recorded: Option<RecordedResult>,
    /// A free parameter was fitted to it, so it is not counted.
    #[serde(default)]
    pub calibrated: bool,
}

/// Result of a full run, recorded to detect changes in later runs.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResult {
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The measured value.
    #[serde(default)]
    pub measured: Option<f64>,
    /// Its interval.
    #[serde(default)]
    pub ci95: Option<[f64; 2]>,
    /// For a further look, whose verdict has a wider interval than `ci95`.
    #[serde(default)]
    pub further: Option<RecordedLook>,
}

/// The further look that gave a recorded verdict.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedLook {
    /// Number of seeds.
    pub seeds: usize,
    /// Confidence level of the interval of the verdict.
    pub level: f64,
}

impl RecordedLook {
    /// Whether an interval follows from it that is wider than the usual one.
    fn is_valid(self) -> bool {
        self.seeds >= 2 && self.level > LEVEL && self.level < 1.0
    }
}

/// A half-open range or an interval.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClaimRange {
    /// Lower bound, inclusive.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// Upper bound, inclusive.
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// A file of claims.
#[derive(Clone, PartialEq, Debug)]
pub struct ExperimentClaims {
    /// The paper's name.
    pub paper: String,
    /// Title of the experiment.
    pub title: String,
    /// Other rows of the paper that this experiment covers, such as `fig4.2`.
    pub also: Vec<String>,
    /// The free parameter of the whole paper that was fitted to this experiment; its claims are not
    /// counted.
    pub calibration: Option<String>,
    /// The reduced form.
    pub quick: QuickConfig,
    /// The claims, in the order of the file.
    pub claims: Vec<Claim>,
    /// The paper's figures to draw.
    pub figures: Vec<PaperFigure>,
    /// Settings that the paper leaves open, to be varied.
    pub vary: Vec<VarySpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    paper: String,
    title: String,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    calibration: Option<String>,
    #[serde(default)]
    quick: Table,
    claim: Vec<Claim>,
    #[serde(default)]
    figure: Vec<PaperFigure>,
    #[serde(default)]
    vary: Vec<VarySpec>,
}

impl ExperimentClaims {
    /// Parses a file; `name` identifies it in errors.
    pub fn parse(text: &str, name: &str) -> Result<Self, ClaimError> {
        let fail = |message: String| ClaimError { file: name.to_owned(), message };
        let file: File = toml::from_str(text).map_err(|e| fail(e.to_string()))?;
        for (i, claim) in file.claim.iter().enumerate() {
            let wrong = claim.inconsistency().or_else(|| {
                let twice = file.claim[..i].iter().any(|c| c.id == claim.id);
                twice.then_some("there are two claims of this name")
            });
            if let Some(wrong) = wrong {
                return Err(fail(format!("claim `{}`: {wrong}", claim.id)));
            }
        }
        if file.calibration.is_some()
            && let Some(claim) = file.claim.iter().find(|c| !c.calibrated)
        {
            let id = &claim.id;
            let wrong =
                "a parameter was fitted to this experiment, so it needs `calibrated = true`";
            return Err(fail(format!("claim `{id}`: {wrong}")));
        }
        let ids: Vec<&str> = file.claim.iter().map(|c| c.id.as_str()).collect();
        for (i, vary) in file.vary.iter().enumerate() {
            let twice = file.vary[..i].iter().any(|v| v.id == vary.id);
            let wrong = vary.inconsistency(&ids);
            if let Some(wrong) =
                wrong.or_else(|| twice.then(|| "there are two of this name".into()))
            {
                return Err(fail(format!("[[vary]] `{}`: {wrong}", vary.id)));
            }
        }
        Ok(Self {
            paper: file.paper,
            title: file.title,
            also: file.also,
            calibration: file.calibration,
            quick: QuickConfig::parse(&file.quick).map_err(|e| fail(format!("[quick]: {e}")))?,
            claims: file.claim,
            figures: file.figure,
            vary: file.vary,
        })
    }
}

impl Claim {
    /// Returns the contradiction with the kind of the claim, if any.
    fn inconsistency(&self) -> Option<&'static str> {
        let bounds = self.at_least.is_some() || self.at_most.is_some();
        let ordering = self.kind == ClaimKind::Ordering;
        if ordering && !bounds {
            Some("an ordering needs `at-least` or `at-most`")
        } else if !ordering && bounds {
            Some(
                "`at-least` and `at-most` are for orderings; `direction` takes them for the others",
            )
        } else if !ordering && self.reported.is_none() {
            Some("it needs what the paper reports, `reported`")
        } else if (self.kind == ClaimKind::Rate) != self.trials.is_some() {
            Some("`trials` belongs to a rate, and a rate needs it")
        } else if (self.kind == ClaimKind::Difference) != self.band.is_some() {
            Some("`band` belongs to a difference, and a difference needs it")
        } else if ordering && self.direction.is_some() {
            Some("an ordering has no `direction`")
        } else if self.recorded.is_some_and(|r| r.verdict != ClaimVerdict::Reproduced)
            && self.reason.is_none()
        {
            Some("it is recorded as not reproduced, and needs a `reason`")
        } else if self.recorded.and_then(|r| r.further).is_some_and(|look| !look.is_valid()) {
            Some("`further` has at least two seeds, and a level between 0.95 and 1")
        } else {
            self.effect_inconsistency()
        }
    }

    /// Returns why `effect` of the claim is wrong, if it is.
    fn effect_inconsistency(&self) -> Option<&'static str> {
        let reported = self.reported.unwrap_or_default();
        let [low, high] = self.ratio_band();
        let differs = effect(reported).abs() > 0.0;
        if self.kind != ClaimKind::Ratio {
            self.effect.then_some("`effect` belongs to a ratio, and this is none")
        } else if self.effect && (reported <= 0.0 || !differs) {
            Some("an effect needs a `reported` ratio above zero that is not one")
        } else if !self.effect && differs && low <= 1.0 && 1.0 <= high {
            Some(
                "its band contains one, so that it holds without an effect; it needs `effect = true`",
            )
        } else {
            None
        }
    }

    /// The recorded verdict.
    pub(super) fn verdict(&self) -> Option<ClaimVerdict> {
        self.recorded.map(|recorded| recorded.verdict)
    }

    /// Checks that the claim can be measured in an experiment.
    pub(super) fn check(&self, names: &ExperimentSchema<'_>) -> Result<(), String> {
        names.check(&self.unit, &self.measure, self.trials.as_ref())
    }

    /// Reported value plus and minus a share of it.
    fn around(&self, share: f64) -> [f64; 2] {
        let reported = self.reported.unwrap_or_default();
        let width = (reported * share).abs();
        [reported - width, reported + width]
    }

    /// Band of a ratio that is not judged on its effect.
    pub(super) fn ratio_band(&self) -> [f64; 2] {
        self.around(0.25)
    }

    /// The band of the claim; for a rate, the band without its interval.
    pub fn band(&self) -> [f64; 2] {
        let reported = self.reported.unwrap_or_default();
        match self.kind {
            ClaimKind::Ordering => {
                [self.at_least.unwrap_or(f64::NEG_INFINITY), self.at_most.unwrap_or(f64::INFINITY)]
            }
            ClaimKind::Ratio if self.effect => effect_band(reported, self.ratio_band()),
            ClaimKind::Ratio => self.ratio_band(),
            ClaimKind::Simulation => self.around(0.15),
            ClaimKind::Testbed => self.around(0.30),
            ClaimKind::Rate => [reported / 3.0, reported * 3.0],
            ClaimKind::Difference => {
                let half = self.band.unwrap_or_default();
                [reported - half, reported + half]
            }
        }
    }

    /// Range in which at least the direction is the paper's; `None` if the claim has no direction.
    pub fn direction(&self) -> Option<[f64; 2]> {
        let reported = self.reported?;
        // A value of one is no effect, in either direction.
        let (below, above) =
            if self.effect { (1.0_f64.next_down(), 1.0_f64.next_up()) } else { (1.0, 1.0) };
        match (self.kind, self.direction) {
            (ClaimKind::Ordering, _) => None,
            (_, Some(b)) => {
                Some([b.at_least.unwrap_or(f64::NEG_INFINITY), b.at_most.unwrap_or(f64::INFINITY)])
            }
            (ClaimKind::Ratio, None) if reported > 1.0 => Some([above, f64::INFINITY]),
            (ClaimKind::Ratio, None) if reported < 1.0 => Some([0.0, below]),
            (ClaimKind::Difference, None) if reported > 0.0 => Some([0.0, f64::INFINITY]),
            (ClaimKind::Difference, None) if reported < 0.0 => Some([f64::NEG_INFINITY, 0.0]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(rest: &str) -> Result<ExperimentClaims, ClaimError> {
        let text = format!(
            "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\nsource = \"fig. 1\"\n\
             measure = {{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }}\n{rest}"
        );
        ExperimentClaims::parse(&text, "x")
    }

    #[test]
    fn each_kind_has_its_band() {
        let band = |rest: &str| claim(rest).unwrap().claims[0].band().map(Some);
        assert_eq!(band("kind = \"ratio\"\nreported = 4.0"), [Some(3.0), Some(5.0)]);
        let effect = band("kind = \"ratio\"\nreported = 1.5\neffect = true");
        assert_eq!(effect, [Some(1.25), Some(1.75)]);
        assert_eq!(band("kind = \"simulation\"\nreported = 100.0"), [Some(85.0), Some(115.0)]);
        assert_eq!(band("kind = \"testbed\"\nreported = 100.0"), [Some(70.0), Some(130.0)]);
        assert_eq!(
            band("kind = \"difference\"\nreported = -1.0\nband = 0.5"),
            [Some(-1.5), Some(-0.5)]
        );
        assert_eq!(
            band("kind = \"ordering\"\nat-most = 2.0"),
            [Some(f64::NEG_INFINITY), Some(2.0)]
        );
    }

    #[test]
    fn the_direction_is_that_of_the_reported_value() {
        let direction = |rest: &str| claim(rest).unwrap().claims[0].direction();
        assert_eq!(direction("kind = \"ratio\"\nreported = 2.4"), Some([1.0, f64::INFINITY]));
        assert_eq!(direction("kind = \"ratio\"\nreported = 0.5"), Some([0.0, 1.0]));
        assert_eq!(direction("kind = \"testbed\"\nreported = 5.0"), None);
        let given = "kind = \"testbed\"\nreported = 5.0\ndirection = { at-most = 8.0 }";
        assert_eq!(direction(given), Some([f64::NEG_INFINITY, 8.0]));
        assert_eq!(direction("kind = \"ordering\"\nat-most = 2.0"), None);
    }

    #[test]
    fn a_claim_that_contradicts_its_kind_is_rejected() {
        for (rest, says) in [
            ("kind = \"ordering\"", "needs `at-least`"),
            ("kind = \"ratio\"", "needs what the paper reports"),
            ("kind = \"ratio\"\nreported = 1.0\nat-most = 1.0", "are for orderings"),
            ("kind = \"rate\"\nreported = 1.0", "`trials`"),
            ("kind = \"difference\"\nreported = 1.0", "`band`"),
            ("kind = \"testbed\"\nreported = 2.0\neffect = true", "belongs to a ratio"),
            ("kind = \"ordering\"\nat-least = 1.0\neffect = true", "belongs to a ratio"),
            ("kind = \"ratio\"\nreported = 1.0\neffect = true", "that is not one"),
            ("kind = \"ratio\"\nreported = -2.0\neffect = true", "above zero"),
            ("kind = \"ratio\"\nreported = 1.2", "needs `effect = true`"),
            ("kind = \"guess\"\nreported = 1.0", "unknown variant"),
            ("kind = \"ratio\"\nreported = 1.0\nverdict = \"reproduced\"", "unknown field"),
        ] {
            let error = claim(rest).unwrap_err().to_string();
            assert!(error.contains(says), "{rest}: {error}");
        }
    }
    #[test]
    fn claims_used_for_calibration_do_not_count() {
        let file = |calibrated: &str| {
            let text = format!(
                "paper = \"P\"\ntitle = \"T\"\ncalibration = \"g\"\n[[claim]]\nid = \"a\"\nsays = \"s\"\n\
                 kind = \"ratio\"\nsource = \"fig. 1\"\nreported = 1.0\n{calibrated}\
                 measure = {{ metric = \"utilisation\", queue = \"q\" }}\n"
            );
            ExperimentClaims::parse(&text, "p/t")
        };
        let error = file("").unwrap_err().to_string();
        assert!(error.contains("claim `a`") && error.contains("`calibrated = true`"), "{error}");
        assert_eq!(file("calibrated = true\n").unwrap().calibration.as_deref(), Some("g"));
    }
}
