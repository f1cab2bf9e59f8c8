//! The manifest's list of runs that were not simulated, because another run of their scheme has an
//! equal outcome.

use lowtide_record::{ManifestRun, SharedRuns};
use lowtide_scenario::{RunPlan, SharingReason};

/// Returns the entry of each scheme with such runs.
pub(crate) fn entries(plan: &RunPlan, runs: &[ManifestRun]) -> Vec<SharedRuns> {
    let entry = |shared: lowtide_scenario::SharedRuns| {
        let own = || runs.iter().filter(|run| run.key.scheme == shared.scheme);
        let copied = own().filter(|run| run.shared_from.is_some()).count();
        (copied > 0).then(|| SharedRuns {
            scheme: shared.scheme.clone(),
            runs: own().count(),
            simulated: own().count() - copied,
            keys: shared.keys.clone(),
            reason: match shared.reason {
                SharingReason::EqualSettings => "its settings are equal at all points",
                SharingReason::NoEct => "no packet is ECN-capable",
            }
            .to_owned(),
        })
    };
    plan.shared().into_iter().filter_map(entry).collect()
}
