//! Selection of runs and flows of a directory.

use lowtide_record::{Manifest, ManifestRun, RunKey, SweepPoint};
use lowtide_rows::{FlowRow, Role};
use lowtide_schema::NotSimulated;

use crate::error::LabError;

/// Selection of a flow. By default: every scheme, the last point, the first seed.
#[derive(Clone, Debug, Default)]
pub struct FlowSelector {
    /// Number of the flow, or its group and index in it: `7`, `short.2`.
    pub flow: String,
    /// The scheme.
    pub scheme: Option<String>,
    /// The seed.
    pub seed: Option<u64>,
    /// Swept keys and their values.
    pub point: Vec<(String, String)>,
}

fn refuse(message: String, known: &[String]) -> LabError {
    let help = match known {
        [] => None,
        known => Some(format!("there are {}", known.join(", "))),
    };
    LabError::NotFound { message, help }
}

/// Returns each value once, in order of first occurrence.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

impl FlowSelector {
    /// Returns the selected runs, one per scheme.
    pub(super) fn runs<'m>(
        &self,
        manifest: &'m Manifest,
    ) -> Result<Vec<&'m ManifestRun>, LabError> {
        self.select(&manifest.runs, |run| &run.key)
    }

    /// Returns the selected runs among `runs`, which are in the order of a plan; one per scheme.
    pub(crate) fn select<'r, T>(
        &self,
        runs: &'r [T],
        key: impl Fn(&T) -> &RunKey,
    ) -> Result<Vec<&'r T>, LabError> {
        let schemes = distinct(runs.iter().map(|r| key(r).scheme.clone()));
        if let Some(scheme) = self.scheme.as_ref().filter(|s| !schemes.contains(s)) {
            let message = NotSimulated::find(scheme).map_or_else(
                || format!("no scheme `{scheme}` was run"),
                |absent| absent.sentence.to_owned(),
            );
            return Err(refuse(message, &schemes));
        }
        let seeds = distinct(runs.iter().map(|r| key(r).seed));
        let seed = self.seed.or_else(|| seeds.first().copied()).unwrap_or_default();
        if !seeds.contains(&seed) {
            let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
            return Err(refuse(format!("no run has the seed {seed}"), &seeds));
        }
        let points = distinct(runs.iter().map(|r| &key(r).point));
        let at = |p: &&&SweepPoint| self.point.iter().all(|(k, v)| p.get(k) == Some(v.as_str()));
        let Some(point) = points.iter().rfind(at) else {
            let asked: Vec<String> = self.point.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let known: Vec<String> = points.iter().map(ToString::to_string).collect();
            return Err(refuse(format!("no run is at {}", asked.join(", ")), &known));
        };
        let wanted = |r: &&T| {
            let key = key(r);
            key.seed == seed
                && key.point == **point
                && self.scheme.as_ref().is_none_or(|s| key.scheme == *s)
        };
        Ok(runs.iter().filter(wanted).collect())
    }

    /// Returns the selected flow among the flows of a run.
    pub(super) fn flow(&self, flows: Vec<FlowRow>) -> Result<FlowRow, LabError> {
        // A connection without queries has no row, so numbers may be missing.
        if let Ok(number) = self.flow.parse::<u32>()
            && let Some(row) = flows.iter().find(|f| f.flow == number)
        {
            return Ok(row.clone());
        }
        let groups: Vec<(String, u32)> = flows
            .chunk_by(|a, b| a.group == b.group)
            .filter_map(|c| Some((c.first()?.group.to_string(), c.len() as u32)))
            .collect();
        let numbers = lowtide_scenario::resolve_flows(&self.flow, &groups)
            .map_err(|(message, help)| LabError::NotFound { message, help })?;
        if numbers.len() != 1 {
            let (group, first) = (&self.flow, numbers.start);
            let answers = flows.get(first as usize).is_some_and(|f| f.role == Role::Answers);
            let kind =
                if answers { "connections, over which its queries are answered" } else { "flows" };
            let message = format!("`{group}` has {} {kind}", numbers.len());
            let help = format!(
                "name one by its place or its number: the first is `{group}.0`, or `{first}`"
            );
            return Err(LabError::NotFound { message, help: Some(help) });
        }
        let found = flows.into_iter().nth(numbers.start as usize);
        found.ok_or_else(|| refuse(format!("flow {} has no row in the tables", self.flow), &[]))
    }
}
