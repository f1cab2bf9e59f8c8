//! More seeds for claims held back that the seeds of verdicts leave undecided, at the default and
//! at the inferred setting.
//!
//! Contract: seeds are doubled as by `--decide`, and the further looks share its error. Nothing is
//! chosen by their result.

use std::collections::BTreeMap;

use super::evaluate::{InferenceOptions, evaluate_in};
use super::search::{EvaluatedSetting, VERDICT_SEEDS};
use super::split::ClaimSide;
use super::subject::{InferenceSubject, InferredClaim, InferredExperiment};
use crate::error::PaperError;
use crate::further_looks::{look_sizes, needs_seeds};
use crate::judge::{ClaimResult, judge_at};

/// Results of the claims that had a further look.
pub(super) type FurtherResults = BTreeMap<String, ClaimResult>;

/// Looks with more seeds, up to `budget`, until no claim held back is undecided for want of seeds.
pub(super) fn further_results(
    subject: &InferenceSubject,
    evaluated: &EvaluatedSetting,
    (budget, phase): (u64, &str),
    options: &InferenceOptions<'_>,
) -> Result<FurtherResults, PaperError> {
    let mut found = FurtherResults::new();
    let (counts, level) = look_sizes(VERDICT_SEEDS.end - VERDICT_SEEDS.start, budget);
    for seeds in counts {
        let is_undecided = |claim: &&InferredClaim| {
            claim.side == ClaimSide::HeldBack
                && found
                    .get(&claim.id)
                    .map_or_else(|| needs_seeds(&evaluated.judge(claim)), needs_seeds)
        };
        let has_undecided =
            |e: &&InferredExperiment| e.claims.iter().any(|claim| is_undecided(&claim));
        let experiments: Vec<&InferredExperiment> =
            subject.experiments.iter().filter(has_undecided).collect();
        let claims: Vec<&InferredClaim> = subject.claims().filter(is_undecided).collect();
        if experiments.is_empty() {
            break;
        }
        let settings = std::slice::from_ref(&evaluated.setting);
        let range = VERDICT_SEEDS.start..VERDICT_SEEDS.start + seeds;
        let values = evaluate_in(subject, &experiments, settings, range, phase, options)?;
        let Some(values) = values.into_iter().next() else { break };
        for claim in claims {
            let seed_values = values.get(&claim.id).map_or(&[][..], Vec::as_slice);
            let (events, trials): (Vec<_>, Vec<_>) = seed_values.iter().copied().unzip();
            let trials = claim.claim.trials.is_some().then_some(trials);
            let judged = judge_at("", &claim.claim, &events, trials.as_deref(), (false, level));
            found.insert(claim.id.clone(), judged);
        }
    }
    Ok(found)
}
