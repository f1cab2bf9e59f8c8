//! Expands a tree to all runs: points of the sweep, compared schemes, seeds.

use std::collections::BTreeSet;
use std::sync::Arc;

use lowtide_rows::ScenarioQuestion;

use crate::bundle_overrides;
use crate::check;
use crate::diagnostics::Diagnostics;
use crate::emit;
use crate::error::{ScenarioError, ScenarioErrors};
use crate::estimate::{CostCause, Estimate};
use crate::files::{FileCache, Files};
use crate::known_names::KnownNames;
use crate::model::{ScenarioModel, SpannedName};
use crate::printable;
use crate::replaced::{self, ReplacedSwitch};
use crate::run::RunSpec;
use crate::run_config::RunConfig;
use crate::sweep;
use crate::tables;
use crate::toml_tree::{SourceText, TomlNode};
use crate::transport_config::HostConfigs;

/// All runs of a scenario.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Name of the scenario.
    pub name: String,
    /// Title of the scenario.
    pub title: String,
    /// Hash of all runs without their seeds, 16 hexadecimal digits; equal experiments have equal
    /// hashes.
    pub hash: String,
    /// Runs by scheme, then point, then seed.
    pub runs: Vec<RunSpec>,
    /// Compared schemes, in the order of the file; one name without a comparison.
    pub schemes: Vec<String>,
    /// The points of the sweep, the last key changing fastest; one empty point without a sweep.
    pub points: Vec<Vec<(String, String)>>,
    /// Switches of schemes that settings replace, without duplicates, by scheme.
    pub replaced: Vec<ReplacedSwitch>,
    /// The question that the results answer first; it is not in the hash.
    pub question: Option<ScenarioQuestion>,
}

impl RunPlan {
    /// Estimates the cost of all runs. Runs that differ only in the seed cost the same. Of runs of
    /// a scheme with equal outcomes, only the first costs time.
    pub fn estimate(&self) -> Estimate {
        let mut total = Estimate::default();
        let mut simulated = BTreeSet::new();
        let mut rest = &self.runs[..];
        while let Some(first) = rest.first() {
            let same =
                rest.iter().take_while(|r| Arc::ptr_eq(&r.run_config, &first.run_config)).count();
            let each = Estimate::of(&first.run_config.setup(first.seed));
            let is_new = simulated.insert((&first.scheme, &first.outcome));
            let all = if is_new { each } else { each.copied() };
            total = total.then(all.times(same as u64));
            rest = &rest[same..];
        }
        total
    }

    /// As [`RunSpec::key_for_cost`], of the first run.
    pub fn key_for_cost(&self, cause: CostCause) -> String {
        self.runs.first().map_or_else(String::new, |run| run.key_for_cost(cause))
    }
}

/// A part of a combined plan: labels of its runs, and their plan.
#[derive(Clone, Debug)]
pub struct PlanPart {
    /// Label of the runs in place of their scheme.
    pub scheme: String,
    /// Label of the runs in place of their point.
    pub point: Vec<(String, String)>,
    /// The runs.
    pub plan: RunPlan,
}

impl RunPlan {
    /// Concatenates several plans. Runs keep their hashes and their order.
    pub fn concat(name: &str, title: &str, parts: Vec<PlanPart>) -> Self {
        let mut whole = blake3::Hasher::new();
        let mut out = Self {
            name: name.to_owned(),
            title: title.to_owned(),
            hash: String::new(),
            runs: Vec::new(),
            schemes: Vec::new(),
            points: Vec::new(),
            // The parts have their own names.
            replaced: Vec::new(),
            question: None,
        };
        for PlanPart { scheme, point, plan } in parts {
            whole.update(plan.hash.as_bytes());
            for text in std::iter::once(&scheme).chain(point.iter().flat_map(|(k, v)| [k, v])) {
                whole.update(text.as_bytes()).update(b"\0");
            }
            let run = |run| RunSpec { scheme: scheme.clone(), point: point.clone(), ..run };
            out.runs.extend(plan.runs.into_iter().map(run));
            if !out.schemes.contains(&scheme) {
                out.schemes.push(scheme);
            }
            if !out.points.contains(&point) {
                out.points.push(point);
            }
        }
        out.hash = short_hash(&whole);
        out
    }
}

/// Most runs of one plan.
const MAX_RUNS: u64 = 1_000_000;

/// Most errors that are reported; more do not help.
const MAX_ERRORS: usize = 20;

pub(crate) fn expand(
    name: &str,
    root: &TomlNode,
    sources: &[SourceText],
    files: &dyn Files,
) -> Result<RunPlan, ScenarioErrors> {
    printable::check(name, root, sources)?;
    let known = KnownNames::of(root);
    let file_cache = FileCache::new(root, files);
    let mut diagnostics = Diagnostics::new(sources);
    let axes = sweep::read(root, &known, &mut diagnostics);
    let points = sweep::points(&axes, &mut diagnostics);
    let mut models: Vec<(Vec<(String, String)>, ScenarioModel)> = Vec::new();
    for point in &points {
        let tree = sweep::at_point(root, point);
        let named = point.iter().map(|(axis, i)| (axis.key.clone(), axis.values[*i].0.clone()));
        if let Some(model) = tables::read(&tree, &known, &file_cache, &mut diagnostics) {
            models.push((named.collect(), model));
        }
        if diagnostics.len() > MAX_ERRORS {
            break;
        }
    }
    let schemes = compared(models.first().map(|(_, model)| model));
    let mut run_configs = Vec::new();
    let mut replacements: Vec<ReplacedSwitch> = Vec::new();
    for (label, named) in &schemes {
        let set = bundle_overrides::read(root, label, &known, &axes, &mut diagnostics);
        for (i, (point, model)) in models.iter().enumerate() {
            if diagnostics.len() > MAX_ERRORS {
                break;
            }
            let own = (!set.is_empty()).then(|| {
                let mut tree = sweep::at_point(root, &points[i]);
                bundle_overrides::apply(&mut tree, &set);
                tables::read(&tree, &known, &file_cache, &mut diagnostics)
            });
            // If it has no model, its errors are already reported.
            let model = match &own {
                None => model,
                Some(Some(own)) => own,
                Some(None) => continue,
            };
            let configs = match HostConfigs::new(model, named.as_ref()) {
                Ok(configs) => configs,
                Err((at, message)) => {
                    diagnostics.add(at, message, None);
                    continue;
                }
            };
            check::check(model, &configs, &mut diagnostics);
            let run_config = RunConfig { model: model.clone(), configs, scheme: label.clone() };
            if diagnostics.is_empty() {
                for found in replaced::of(&run_config, named.as_ref(), &axes) {
                    if !replacements.contains(&found) {
                        replacements.push(found);
                    }
                }
            }
            run_configs.push((point.clone(), Arc::new(run_config)));
        }
    }
    if let Some(errors) = ScenarioErrors::collect(diagnostics.into_errors()) {
        return Err(errors);
    }
    let Some((_, first)) = models.first() else {
        return Err(ScenarioError::plain("this scenario has no runs", None).into());
    };
    let (title, question) = (first.title.clone(), first.question.clone());
    let total = (run_configs.len() as u64).saturating_mul(first.run.seeds);
    if total > MAX_RUNS {
        let message = format!("this scenario has {total} runs, more than {MAX_RUNS}");
        let help = "sweep fewer values, or use fewer seeds".to_owned();
        return Err(ScenarioError::plain(message, Some(help)).into());
    }
    let mut whole = blake3::Hasher::new();
    let mut runs = Vec::new();
    for (point, run_config) in run_configs {
        // The seed is hashed after the text, so that a million seeds do not emit it a million
        // times.
        let physics = blake3::hash(emit::hashed_toml(&run_config, 0).as_bytes());
        whole.update(physics.as_bytes());
        let outcome =
            run_config.outcome_text().map_or(physics, |text| blake3::hash(text.as_bytes()));
        for i in 0..run_config.model.run.seeds {
            let seed = run_config.model.run.first_seed + i;
            let of_seed = |text: &blake3::Hash| {
                let mut hasher = blake3::Hasher::new();
                short_hash(hasher.update(text.as_bytes()).update(&seed.to_le_bytes()))
            };
            runs.push(RunSpec {
                scheme: run_config.scheme.clone(),
                point: point.clone(),
                seed,
                hash: of_seed(&physics),
                outcome: of_seed(&outcome),
                run_config: Arc::clone(&run_config),
            });
        }
    }
    Ok(RunPlan {
        name: name.to_owned(),
        title,
        hash: short_hash(&whole),
        runs,
        schemes: schemes.into_iter().map(|(label, _)| label).collect(),
        points: models.into_iter().map(|(point, _)| point).collect(),
        replaced: replacements,
        question,
    })
}

fn short_hash(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex().as_str()[..16].to_owned()
}

/// Returns the compared schemes with the labels of their runs. Without a comparison the label is
/// the scheme of `[transport]`, or else its profile.
fn compared(model: Option<&ScenarioModel>) -> Vec<(String, Option<SpannedName>)> {
    let Some(model) = model else { return Vec::new() };
    if !model.compare.is_empty() {
        return model.compare.iter().map(|n| (n.name.clone(), Some(n.clone()))).collect();
    }
    let transport = &model.transport;
    let label = transport.scheme.as_ref().or(transport.profile.as_ref());
    vec![(label.map_or_else(String::new, |n| n.name.clone()), None)]
}
