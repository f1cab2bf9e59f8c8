//! The list of claims in which a datum could have several, judged then and now.
//!
//! Contract: `papers/old-claims.toml` has the list and its verdicts, which never change, and what
//! became of claims that were removed since. The verdict of today is that of the claim or of the
//! one that replaces it; a claim that is gone or was calibrated since is not reproduced.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::paper_page::PAGES;
use super::verdict::ClaimVerdict;
use super::{Claim, ClaimError, ClaimKind};

/// The file, for errors.
const FILE: &str = "papers/old-claims.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OldClaims {
    /// Day of the verdicts.
    date: String,
    /// By page, kind and verdict.
    claims: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<String>>>>,
    /// Claims that were removed since.
    gone: BTreeMap<String, Removal>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Removal {
    /// The claim that is judged instead.
    #[serde(default)]
    by: Option<String>,
    /// Reason of the removal.
    why: String,
}

impl OldClaims {
    fn read() -> Result<Self, ClaimError> {
        toml::from_str(include_str!("../../../papers/old-claims.toml"))
            .map_err(|e| ClaimError { file: FILE.to_owned(), message: e.to_string() })
    }

    /// Whether the claim, or the one that replaces it, is reproduced in today's files.
    fn is_reproduced(&self, id: &str, today: &BTreeMap<String, &Claim>) -> bool {
        let by = self.gone.get(id).and_then(|removal| removal.by.as_deref());
        let claim = today.get(id).or_else(|| today.get(by?));
        claim.is_some_and(|c| !c.calibrated && c.verdict() == Some(ClaimVerdict::Reproduced))
    }
}

/// The section of the scorecard, with the claims of `today` by identifier.
pub(super) fn old_claims(today: &BTreeMap<String, &Claim>) -> Result<String, ClaimError> {
    let old = OldClaims::read()?;
    let mut rows = String::new();
    let mut all = [0; 3];
    for page in &PAGES {
        for kind in ClaimKind::ALL {
            let Some(claims) = old.claims.get(page.name).and_then(|kinds| kinds.get(kind.name()))
            else {
                continue;
            };
            let ids = || claims.values().flatten();
            let then = claims.get(ClaimVerdict::Reproduced.name()).map_or(0, Vec::len);
            let now = ids().filter(|id| old.is_reproduced(id, today)).count();
            let counts = [ids().count(), then, now];
            // Writing to a string cannot fail.
            let _ = writeln!(rows, "| {} | {} | {} |", page.name, kind.name(), cells(counts));
            all = [0, 1, 2].map(|i| all[i] + counts[i]);
        }
    }
    let [count, then, _] = all;
    let mut out = format!(
        "\n## The old list\nUntil {date} a datum could have several claims. Of that list of {count} claims {then} reproduced on that day; the column is frozen. `now` has the verdict of the same claim today, or of the claim that replaces it. A claim that was removed without replacement, or calibrated since, counts as not reproduced.\n\n\
         | paper | kind | claims | reproduced on {date} | now | share now |\n|{}\n{rows}| all | | {} |\n",
        "---|".repeat(6),
        cells(all),
        date = old.date,
    );
    if !old.gone.is_empty() {
        out.push_str("\nRemoved claims:\n\n| claim | replaced by | reason |\n|---|---|---|\n");
    }
    for (id, Removal { by, why }) in &old.gone {
        let by = by.as_ref().map_or_else(String::new, |by| format!("`{by}`"));
        let _ = writeln!(out, "| `{id}` | {by} | {why} |");
    }
    Ok(out)
}

/// Claims, reproduced then and now, and the share of these as cells.
fn cells([count, then, now]: [usize; 3]) -> String {
    format!("{count} | {then} | {now} | {}", share(now, count))
}

/// A share in per cent.
pub(super) fn share(part: usize, whole: usize) -> String {
    if whole == 0 { String::new() } else { format!("{:.0} %", 100.0 * part as f64 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, ExperimentClaims, experiments};

    #[test]
    fn each_claim_of_the_old_list_is_judged_or_was_removed_for_a_reason() {
        let of_row = |row: Experiment| {
            let file = ExperimentClaims::parse(row.expected, "").unwrap();
            file.claims.into_iter().map(move |claim| format!("{}/{}", row.id(), claim.id))
        };
        let today: Vec<String> = experiments().into_iter().flat_map(of_row).collect();
        let old = OldClaims::read().unwrap();
        let kinds = old.claims.values().flat_map(BTreeMap::values);
        let ids: Vec<&String> = kinds.flat_map(BTreeMap::values).flatten().collect();
        assert_eq!(ids.len(), 444);
        let lost: Vec<_> =
            ids.iter().filter(|id| !today.contains(id) && !old.gone.contains_key(**id)).collect();
        assert!(lost.is_empty(), "{FILE}: [gone] lacks {lost:#?}");
        for (id, removal) in &old.gone {
            assert!(ids.contains(&id) && !today.contains(id), "{id} is not gone from the list");
            assert!(!removal.why.is_empty(), "{id}: why");
            assert!(removal.by.as_ref().is_none_or(|by| today.contains(by)), "{id}: `by`");
        }
    }
}
