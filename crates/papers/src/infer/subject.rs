//! A paper whose open settings are inferred: its experiments, claims, parameters and split.
//!
//! Contract: everything is checked here, before anything runs.

use std::collections::BTreeSet;
use std::path::Path;

use lowtide_input_files::{SETTINGS, read_text};
use lowtide_record::SweepPoint;
use lowtide_scenario::{RunPlan, Scenario};

use super::default_value::default_value;
use super::open::{OpenParameter, OpenSettings};
use super::setting::Setting;
use super::split::{ClaimSide, ClaimSplit, figure_of};
use crate::catalogue::{load_experiments, paper_file};
use crate::check::ExperimentSchema;
use crate::error::PaperError;
use crate::measure::ClaimMeasure;
use crate::{Claim, ClaimError, ClaimKind, Experiment, ExperimentClaims, experiments};

/// Fitted claims for each open parameter, at least.
const CLAIMS_PER_PARAMETER: usize = 3;

/// A claim that the inference measures.
#[derive(Clone, Debug)]
pub(super) struct InferredClaim {
    /// `td-fig7/throughput-k6`.
    pub(super) id: String,
    /// The claim, without its recorded result, which decides nothing here.
    pub(super) claim: Claim,
    pub(super) side: ClaimSide,
    /// Whether a variation of it is on record, so that its result was seen.
    pub(super) varied_before: bool,
}

impl InferredClaim {
    /// Its figure, table or section.
    pub(super) fn figure(&self) -> &str {
        figure_of(&self.claim.source)
    }
}

/// An experiment in the form of the inference.
#[derive(Clone, Debug)]
pub(super) struct InferredExperiment {
    pub(super) experiment: Experiment,
    /// The claims that the form measures.
    pub(super) claims: Vec<InferredClaim>,
    form: Scenario,
}

/// A paper whose open settings are inferred.
#[derive(Clone, Debug)]
pub struct InferenceSubject {
    /// The folder of its experiments, as `td`.
    pub paper: String,
    /// The settings that it leaves open.
    pub open: OpenSettings,
    pub(super) experiments: Vec<InferredExperiment>,
    /// Parameters on which no fitted claim can depend; they stay as the experiments have them.
    pub not_inferable: Vec<OpenParameter>,
    /// Claims that no reduced form measures, with the reason.
    pub unmeasured: Vec<(String, String)>,
}

/// The split of a paper as its file has it, and as the rule extends it to all its claims.
///
/// # Errors
/// A file is wrong.
pub fn split_of(paper: &str) -> Result<(ClaimSplit, ClaimSplit), ClaimError> {
    let file = match paper_file(paper, "split.toml") {
        Some(text) => ClaimSplit::parse(text, &format!("papers/{paper}/split.toml"))?,
        None => ClaimSplit::default(),
    };
    let rows: Vec<Experiment> = experiments().into_iter().filter(|r| r.paper == paper).collect();
    let claims = claims_of(&rows)?;
    let extended = file.clone().extended(paper, claims.iter());
    Ok((file, extended))
}

fn claims_of(rows: &[Experiment]) -> Result<Vec<Claim>, ClaimError> {
    let mut claims = Vec::new();
    for row in rows {
        claims.extend(ExperimentClaims::parse(row.expected, &row.claims_path())?.claims);
    }
    Ok(claims)
}

impl InferenceSubject {
    /// Reads and checks the files of a paper.
    ///
    /// # Errors
    /// The paper has no `open.toml`, a file is wrong, a claim is on neither side, a parameter sets
    /// what an experiment sweeps, or there are too few fitted claims.
    pub fn new(paper: &str) -> Result<Self, PaperError> {
        let file = format!("papers/{paper}/open.toml");
        let text = paper_file(paper, "open.toml").ok_or_else(|| ClaimError {
            file: file.clone(),
            message: "the paper has no list of what it leaves open".to_owned(),
        })?;
        let (split, _) = split_of(paper)?;
        let rows = experiments().into_iter().filter(|row| row.paper == paper).collect();
        Self::of(paper, (&file, text), &split, rows)
    }

    /// As [`Self::new`], for a folder of the user's. Without a `split.toml` its claims are divided
    /// by the rule.
    ///
    /// # Errors
    /// As [`Self::new`], or a file cannot be read.
    pub fn load(folder: &Path) -> Result<Self, PaperError> {
        let rows = load_experiments(folder)?;
        let paper = rows.first().map_or("own", |row| row.paper);
        let file = folder.join("open.toml");
        let name = file.display().to_string();
        let text = read_text(&file, &SETTINGS).map_err(|e| ClaimError {
            file: name.clone(),
            message: format!("cannot read it: {e}; it lists what the paper leaves open"),
        })?;
        let split = folder.join("split.toml");
        let split = if split.exists() {
            let name = split.display().to_string();
            let text = read_text(&split, &SETTINGS).map_err(|e| ClaimError {
                file: name.clone(),
                message: format!("cannot read it: {e}"),
            })?;
            ClaimSplit::parse(&text, &name)?
        } else {
            ClaimSplit::default().extended(paper, claims_of(&rows)?.iter())
        };
        Self::of(paper, (&name, &text), &split, rows)
    }

    fn of(
        paper: &str,
        (file, text): (&str, &str),
        split: &ClaimSplit,
        rows: Vec<Experiment>,
    ) -> Result<Self, PaperError> {
        let refuse = |message: String| ClaimError { file: file.to_owned(), message };
        let open = OpenSettings::parse(text, file)?;
        let named = open.parameters.iter().flat_map(|p| &p.only);
        for row in named.chain(&open.leave_out).chain(open.forms.keys()) {
            if !rows.iter().any(|r| r.name == row) {
                return Err(refuse(format!("there is no experiment `{row}`")).into());
            }
        }
        let mut subject = Self {
            paper: paper.to_owned(),
            open,
            experiments: Vec::new(),
            not_inferable: Vec::new(),
            unmeasured: Vec::new(),
        };
        for row in rows {
            subject.add(row, split)?;
        }
        subject.check_bundles().map_err(refuse)?;
        subject.check_keys().map_err(refuse)?;
        subject.keep_inferable();
        let (fitted, _) = subject.claim_counts();
        let parameters = subject.open.parameters.len();
        if parameters == 0 {
            return Err(refuse("no parameter changes a fitted claim".to_owned()).into());
        }
        if parameters * CLAIMS_PER_PARAMETER >= fitted {
            let message = format!(
                "{parameters} parameters for {fitted} fitted claims; a parameter needs more than \
                 {CLAIMS_PER_PARAMETER} claims"
            );
            return Err(refuse(message).into());
        }
        Ok(subject)
    }

    /// Refuses a key of a bundle that no experiment of its parameter has.
    fn check_bundles(&self) -> Result<(), String> {
        for parameter in &self.open.parameters {
            let alone = OpenSettings::of_parameter(parameter);
            let set: BTreeSet<String> = self
                .experiments
                .iter()
                .flat_map(|e| {
                    let row = &e.experiment;
                    let at = |value| Setting { values: vec![value] };
                    let settings = parameter.extremes().into_iter().map(at);
                    settings.flat_map(|s| s.overrides(&alone, row.name, row.scenario))
                })
                .map(|(key, _)| key)
                .collect();
            if let Some(key) = parameter.keys().into_iter().find(|key| !set.contains(*key)) {
                let name = &parameter.name;
                return Err(format!("parameter `{name}`: no experiment has the bundle of `{key}`"));
            }
        }
        Ok(())
    }

    /// Refuses two parameters that set one key of one experiment.
    fn check_keys(&self) -> Result<(), String> {
        for experiment in &self.experiments {
            let row = experiment.experiment.name;
            let mut known: Vec<(&str, &str)> = Vec::new();
            for parameter in self.open.parameters.iter().filter(|p| p.applies_to(row)) {
                let keys: BTreeSet<&str> = parameter.keys().into_iter().collect();
                for key in keys {
                    let name = parameter.name.as_str();
                    if let Some((_, other)) = known.iter().find(|(k, _)| *k == key) {
                        return Err(format!("`{other}` and `{name}` both set `{key}` of `{row}`"));
                    }
                    known.push((key, name));
                }
            }
        }
        Ok(())
    }

    /// Moves the parameters on which no fitted claim can depend to those that stay as they are:
    /// any value would be as good, and would only blur the claims held back.
    fn keep_inferable(&mut self) {
        let has_fitted = |p: &OpenParameter| {
            let alone = OpenSettings::of_parameter(p);
            // A key of a bundle changes nothing in an experiment without the bundle.
            let changes = |e: &&InferredExperiment| {
                let (row, at) = (&e.experiment, |value| Setting { values: vec![value] });
                let mut settings = p.extremes().into_iter().map(at);
                settings.any(|s| !s.overrides(&alone, row.name, row.scenario).is_empty())
            };
            let of = self.experiments.iter().filter(changes);
            of.flat_map(|e| &e.claims).any(|c| c.side == ClaimSide::Fitted)
        };
        let all = self.open.parameters.clone();
        let (kept, fixed) = all.into_iter().partition(has_fitted);
        self.open.parameters = kept;
        self.not_inferable = fixed;
    }

    fn add(&mut self, row: Experiment, split: &ClaimSplit) -> Result<(), PaperError> {
        let expected = ExperimentClaims::parse(row.expected, &row.claims_path())?;
        let refuse = |message: String| ClaimError { file: row.claims_path(), message };
        let whole = row.scenario()?;
        let full = whole.expand()?;
        let names = ExperimentSchema::new(&full);
        let swept = full.points.first().map_or(&[][..], Vec::as_slice);
        for parameter in self.open.parameters.iter().filter(|p| p.applies_to(row.name)) {
            if let Some(key) =
                parameter.keys().into_iter().find(|key| swept.iter().any(|(k, _)| k == key))
            {
                let name = &parameter.name;
                let message = format!(
                    "parameter `{name}` of open.toml sets `{key}`, which this experiment sweeps; \
                     `only` lists the experiments it applies to"
                );
                return Err(refuse(message).into());
            }
        }
        let own_form = self.open.forms.get(row.name);
        let form = own_form.unwrap_or(&expected.quick);
        for parameter in self.open.parameters.iter().filter(|p| p.applies_to(row.name)) {
            if let Some(key) = parameter.keys().into_iter().find(|key| form.sets(key)) {
                // The default setting would not be that of the experiment.
                let name = &parameter.name;
                let message = format!(
                    "the reduced form sets `{key}`, as parameter `{name}` of open.toml does"
                );
                return Err(refuse(message).into());
            }
        }
        let form = form.apply(whole, swept)?;
        let points = form.expand()?.points;
        let points: Vec<SweepPoint> = points.into_iter().map(SweepPoint).collect();
        let left_out = self.open.leave_out.iter().any(|name| name == row.name);
        let mut claims = Vec::new();
        for claim in &expected.claims {
            names.check(claim).map_err(|e| refuse(format!("claim `{}`: {e}", claim.id)))?;
            let side = split.side(claim).map_err(refuse)?;
            let id = format!("{}/{}", row.id(), claim.id);
            let mut leaves =
                std::iter::once(&claim.measure).chain(&claim.trials).flat_map(ClaimMeasure::leaves);
            // `full-only` says what `[quick]` cannot measure, which a form of the inference may.
            let why = if left_out {
                Some("the experiment is too long for an inference")
            } else if let Some(why) = claim.full_only.as_ref().filter(|_| own_form.is_none()) {
                Some(why.as_str())
            } else {
                (!leaves.all(|leaf| leaf.is_at(&points))).then_some("the form leaves its point out")
            };
            if let Some(why) = why {
                self.unmeasured.push((id, why.to_owned()));
                continue;
            }
            let recorded = expected.vary.iter().filter(|v| !v.recorded.is_empty());
            let varied_before = recorded.flat_map(|v| &v.claims).any(|c| *c == claim.id);
            claims.push(InferredClaim {
                id,
                claim: Claim { recorded: None, ..claim.clone() },
                side,
                varied_before,
            });
        }
        if !claims.is_empty() {
            let experiment = InferredExperiment { experiment: row, claims, form };
            self.check_values(&experiment)?;
            self.experiments.push(experiment);
        }
        Ok(())
    }

    /// Checks the ends of each range and each choice, one parameter at a time.
    fn check_values(&self, experiment: &InferredExperiment) -> Result<(), PaperError> {
        let row = experiment.experiment.name;
        for parameter in self.open.parameters.iter().filter(|p| p.applies_to(row)) {
            let alone = OpenSettings::of_parameter(parameter);
            for value in parameter.extremes() {
                let setting = Setting { values: vec![value.clone()] };
                let refuse = |message: String| ClaimError {
                    file: experiment.experiment.id(),
                    message: format!(
                        "parameter `{}` of open.toml at `{value}`: {message}",
                        parameter.name
                    ),
                };
                let plan = experiment.plan(&alone, &setting, 0);
                let plan = plan.map_err(|e| refuse(e.to_string()))?;
                // A key with a `*` can end a sweep of a matching key.
                if plan.points != experiment.form.expand()?.points {
                    return Err(refuse("it sets what this experiment sweeps".to_owned()).into());
                }
            }
        }
        Ok(())
    }

    /// Numbers of the fitted claims and of those held back.
    pub fn claim_counts(&self) -> (usize, usize) {
        let fitted = self.claims().filter(|c| c.side == ClaimSide::Fitted).count();
        (fitted, self.claims().count() - fitted)
    }

    /// The kind of a claim that is measured.
    pub fn kind_of(&self, id: &str) -> Option<ClaimKind> {
        self.claims().find(|c| c.id == id).map(|c| c.claim.kind)
    }

    /// The value of a parameter in the experiments as they are: a choice, or the distinct values of
    /// a range.
    ///
    /// # Errors
    /// A scenario is wrong.
    pub fn default_of(&self, parameter: &OpenParameter) -> Result<String, PaperError> {
        default_value(parameter, &self.experiments)
    }

    /// Packet-hops of all experiments with one seed, estimated for the experiments as they are.
    ///
    /// # Errors
    /// A scenario is wrong.
    pub fn hops(&self) -> Result<u64, PaperError> {
        let at_default = Setting::defaults();
        let of = |e: &InferredExperiment| Ok(e.plan(&self.open, &at_default, 0)?.estimate().hops);
        self.experiments.iter().map(of).sum()
    }

    /// All claims that are measured, in the order of the experiments.
    pub(super) fn claims(&self) -> impl Iterator<Item = &InferredClaim> {
        self.experiments.iter().flat_map(|e| &e.claims)
    }
}

impl InferredExperiment {
    /// The runs at a setting with one seed; `seed` counts from 0.
    pub(super) fn plan(
        &self,
        open: &OpenSettings,
        setting: &Setting,
        seed: u64,
    ) -> Result<RunPlan, PaperError> {
        let mut form = self.form.clone();
        for (key, value) in setting.overrides(open, self.experiment.name, self.experiment.scenario)
        {
            form = form.with_override(&key, &value)?;
        }
        let form = form.seeds(1)?.with_override("run.first-seed", &(seed + 1).to_string())?;
        Ok(form.expand()?)
    }
}
