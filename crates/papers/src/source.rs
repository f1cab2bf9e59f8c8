//! Data that claims are evaluated on: the runs of a directory and their tables.

use std::collections::BTreeMap;

use lowtide_record::RunDir;

use lowtide_lab::RunFacts;

/// Contents of a run directory.
#[derive(Clone, Copy)]
pub(crate) struct RunData<'a> {
    pub(crate) dir: &'a RunDir,
    pub(crate) runs: &'a [RunFacts],
    pub(crate) seeds: &'a [u64],
}

impl<'a> RunData<'a> {
    /// Returns the run of each seed of one scheme at one point; `what` names the measure in errors.
    pub(crate) fn run_of_each_seed(
        self,
        what: &str,
        scheme: Option<&str>,
        at: &BTreeMap<String, String>,
    ) -> Result<Vec<&'a RunFacts>, String> {
        let picked = |run: &&RunFacts| {
            scheme.is_none_or(|s| *s == run.key.scheme)
                && at.iter().all(|(key, value)| run.key.point.get(key) == Some(value))
        };
        let runs: Vec<&RunFacts> = self.runs.iter().filter(picked).collect();
        let one = |seed: &u64| {
            let mut found = runs.iter().filter(|r| r.key.seed == *seed);
            match (found.next(), found.next()) {
                (Some(run), None) => Ok(*run),
                (None, _) => Err(format!("no run matches {what}")),
                _ => Err(format!("{what} needs a scheme and a point")),
            }
        };
        self.seeds.iter().map(one).collect()
    }
}
