//! Runs of one scheme with equal outcomes: a session simulates them once.
//!
//! Contract: two runs have one outcome hash only if every setting that can affect their tables is
//! equal. The hash is taken of the resolved scenario and the seed. Settings are left out only by
//! these rules:
//! - A resolved scenario has no parameter of a module that is not chosen (`transport_config`), so
//!   runs of a scheme that has no swept parameter have equal texts.
//! - If no host requests ECN, no packet is ECN-capable: ECT needs a negotiated connection, and only
//!   a SYN that requests ECN starts the negotiation (`lowtide_tcp`, `ecn.rs`). Then a marker that
//!   forwards such packets acts like any other of its kind
//!   ([`lowtide_net::MarkSpec::without_ect`]). A host that moves in a deployment counts as both.

use std::collections::{BTreeMap, BTreeSet};

use crate::emit;
use crate::model::{MarkTable, ScenarioModel};
use crate::plan::RunPlan;
use crate::run::RunSpec;
use crate::run_config::RunConfig;

/// Runs of a scheme of which several have equal outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedRuns {
    /// The scheme.
    pub scheme: String,
    /// Its runs.
    pub runs: u64,
    /// Number of different outcomes, which is less.
    pub outcomes: u64,
    /// Swept keys that affect no run of the scheme; empty if only some of their values are
    /// equivalent.
    pub keys: Vec<String>,
    /// The reason.
    pub reason: SharingReason,
}

/// The reason why runs have equal outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharingReason {
    /// Their resolved settings are equal.
    EqualSettings,
    /// Their settings differ in markers, and no packet is ECN-capable.
    NoEct,
}

impl RunConfig {
    /// Emits the text of the settings that can affect the outcome; `None` if that is the whole text
    /// of the run.
    pub(crate) fn outcome_text(&self) -> Option<String> {
        let mut configs = self.configs.groups.iter().chain(&self.configs.moved);
        if configs.any(|config| config.ecn.requests_ecn()) {
            return None;
        }
        let mut model = self.model.clone();
        for mark in marks(&mut model) {
            mark.spec = mark.spec.without_ect();
        }
        Some(emit::text(&model, self, 0))
    }
}

/// Returns all markers of a scenario.
fn marks(model: &mut ScenarioModel) -> impl Iterator<Item = &mut MarkTable> {
    let switch = &mut model.switch;
    let ports = std::iter::once(&mut switch.all).chain(&mut switch.overrides);
    ports
        .map(|port| &mut port.mark)
        .chain(switch.classes.iter_mut().filter_map(|class| class.mark.as_mut()))
        .chain(model.pipes.iter_mut().filter_map(|pipe| pipe.mark.as_mut()))
}

impl RunPlan {
    /// Returns the schemes of which several runs have equal outcomes, in the order of the plan.
    pub fn shared(&self) -> Vec<SharedRuns> {
        self.schemes.iter().filter_map(|scheme| self.shared_of(scheme)).collect()
    }

    fn shared_of(&self, scheme: &str) -> Option<SharedRuns> {
        let runs: Vec<&RunSpec> = self.runs.iter().filter(|run| run.scheme == scheme).collect();
        let count = |of: fn(&RunSpec) -> &str| {
            runs.iter().map(|run| of(run)).collect::<BTreeSet<&str>>().len()
        };
        let outcomes = count(|run| &run.outcome);
        if outcomes == runs.len() {
            return None;
        }
        let settings = count(|run| &run.hash);
        let swept = runs.first().map_or(&[][..], |run| &run.point);
        let keys = swept.iter().map(|(key, _)| key).filter(|key| has_no_effect(&runs, key));
        Some(SharedRuns {
            scheme: scheme.to_owned(),
            runs: runs.len() as u64,
            outcomes: outcomes as u64,
            keys: keys.cloned().collect(),
            reason: if outcomes == settings {
                SharingReason::EqualSettings
            } else {
                SharingReason::NoEct
            },
        })
    }
}

/// Returns whether runs that differ in the swept key `key` only have equal outcomes, and some do.
fn has_no_effect(runs: &[&RunSpec], key: &str) -> bool {
    let mut outcomes: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        let others: Vec<_> = run.point.iter().filter(|(k, _)| k != key).collect();
        outcomes.entry((run.seed, others)).or_default().insert(&run.outcome);
    }
    outcomes.len() < runs.len() && outcomes.values().all(|of| of.len() == 1)
}
