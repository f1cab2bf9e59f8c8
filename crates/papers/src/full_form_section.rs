//! Verdicts of the full forms at the inferred setting, on the page of a paper.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use lowtide_charts::number;

use super::infer::{
    ClaimSide, FULL_FORM_RECORD, FullFormRecord, FullFormVerdict, InferenceRecord, split_of,
};
use super::{Claim, ClaimError, ClaimKind, ClaimVerdict, ExperimentClaims, RecordedResult};
use crate::experiments;

/// A claim held back, with both results.
struct HeldBack<'a> {
    id: String,
    claim: Claim,
    inferred: &'a FullFormVerdict,
}

/// The section; empty if no full form is recorded.
pub(super) fn full_form_section(
    paper: &str,
    record: &InferenceRecord,
) -> Result<String, ClaimError> {
    let Some(full) = FullFormRecord::of_paper(paper, record)? else { return Ok(String::new()) };
    let mut claims = Vec::new();
    let mut known = BTreeSet::new();
    let (split, _) = split_of(paper)?;
    for row in experiments().into_iter().filter(|row| row.paper == paper) {
        for claim in ExperimentClaims::parse(row.expected, &row.claims_path())?.claims {
            let id = format!("{}/{}", row.id(), claim.id);
            let refuse = |message| ClaimError { file: row.claims_path(), message };
            known.insert(id.clone());
            let Some(inferred) = full.claim.iter().find(|c| c.id == id) else { continue };
            if split.side(&claim).map_err(refuse)? == ClaimSide::HeldBack {
                claims.push(HeldBack { id, claim, inferred });
            }
        }
    }
    if let Some(id) = full.unknown_claim(&known) {
        let message = format!("the paper has no claim `{id}`; record the full forms again");
        return Err(ClaimError { file: format!("papers/{paper}/{FULL_FORM_RECORD}"), message });
    }
    Ok(section(paper, &claims))
}

fn section(paper: &str, claims: &[HeldBack<'_>]) -> String {
    let mut out = format!(
        "\n## Full forms at the inferred setting\n\
         `lowtide papers reproduce {paper} --inferred`: claims held back, in the full form. The \
         verdicts with the defaults are the recorded ones, which can have more seeds.\n\n\
         | held back | claims | defaults | inferred |\n|---|---|---|---|\n"
    );
    let kinds = std::iter::once(None).chain(ClaimKind::ALL.map(Some));
    for kind in kinds {
        let of = || claims.iter().filter(|c| kind.is_none_or(|kind| c.claim.kind == kind));
        if of().next().is_none() {
            continue;
        }
        let is = ClaimVerdict::Reproduced;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            kind.map_or("all", ClaimKind::name),
            of().count(),
            of().filter(|c| c.claim.recorded.is_some_and(|r| r.verdict == is)).count(),
            of().filter(|c| c.inferred.verdict == is).count(),
        );
    }
    out.push_str("\n| claim | kind | paper | defaults | inferred |\n|---|---|---|---|---|\n");
    for HeldBack { id, claim, inferred } in claims {
        let recorded = claim
            .recorded
            .map(|RecordedResult { verdict, measured, ci95, .. }| (verdict, measured, ci95));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| `{id}` | {} | {} | {} | {} |",
            claim.kind.name(),
            claim.reported.map_or_else(|| "order".to_owned(), number),
            recorded.map_or_else(|| "open".to_owned(), text),
            text((inferred.verdict, inferred.measured, inferred.ci95)),
        );
    }
    out
}

/// As text: `1.2 (1.1 to 1.3) reproduced`.
fn text((verdict, measured, ci95): (ClaimVerdict, Option<f64>, Option<[f64; 2]>)) -> String {
    let value = measured.map_or_else(String::new, |m| format!("{} ", number(m)));
    let range =
        ci95.map_or_else(String::new, |[a, b]| format!("({} to {}) ", number(a), number(b)));
    format!("{value}{range}{}", verdict.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_counted_by_kind_with_both_settings() {
        let file = "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\n\
                    source = \"fig. 1\"\nkind = \"ordering\"\nat-least = 1.0\nreason = \"r\"\n\
                    recorded = { verdict = \"not-reproduced\", measured = 0.5 }\n\
                    measure = { table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";
        let claim = ExperimentClaims::parse(file, "x").unwrap().claims.remove(0);
        let inferred = FullFormVerdict {
            id: "p-fig1/a".to_owned(),
            verdict: ClaimVerdict::Reproduced,
            measured: Some(1.5),
            ci95: Some([1.25, 1.75]),
        };
        let of = HeldBack { id: inferred.id.clone(), claim, inferred: &inferred };
        let text = section("p", &[of]);
        assert!(text.contains("| all | 1 | 0 | 1 |\n| ordering | 1 | 0 | 1 |\n"), "{text}");
        let row = "| `p-fig1/a` | ordering | order | 0.5 not-reproduced | 1.5 (1.25 to 1.75) reproduced |";
        assert!(text.contains(row), "{text}");
    }
}
