//! Rules for a file of claims as a whole: a datum has one claim, each band has a source, and each
//! reason is short.
//!
//! Contract: claims on one datum are found by their measures. Unit, direction of a comparison and
//! kind of a claim do not distinguish data.

use super::measure::{ClaimMeasure, RowsMeasure};
use super::{Claim, ClaimError, ClaimKind, ExperimentClaims};

/// Longest reason, in words.
const REASON_WORDS: usize = 20;

impl ExperimentClaims {
    /// Returns what is wrong in `file` besides the form of single claims, which parsing checks.
    pub fn audit(&self, file: &str) -> Vec<ClaimError> {
        let data: Vec<String> = self.claims.iter().map(datum).collect();
        let claim_on = |datum: &String| {
            let first = data.iter().position(|known| known == datum)?;
            Some(self.claims[first].id.as_str())
        };
        let mut found = Vec::new();
        for (claim, datum) in self.claims.iter().zip(&data) {
            let twin = claim_on(datum).filter(|first| *first != claim.id).map(|first| {
                format!("it is judged from the measures of `{first}`: keep the harder of the two")
            });
            // A comparison follows from its values if each has a claim.
            let derived = claim.measure.sides().and_then(|[a, b]| {
                let (a, b) = (claim_on(&key(a))?, claim_on(&key(b))?);
                let fault = "remove the claim on the baseline alone";
                Some(format!("it follows from `{a}` and `{b}`: {fault}"))
            });
            let faults = [twin, derived, claim.reason_fault(), claim.band_fault()];
            found.extend(faults.into_iter().flatten().map(|fault| ClaimError {
                file: file.to_owned(),
                message: format!("claim `{}`: {fault}", claim.id),
            }));
        }
        found
    }
}

impl Claim {
    fn reason_fault(&self) -> Option<String> {
        let words = self.reason.as_ref()?.split_whitespace().count();
        let fault = "move the rest to its `evidence`";
        (words == 0 || words > REASON_WORDS)
            .then(|| format!("its `reason` has {words} words of at most {REASON_WORDS}: {fault}"))
    }

    fn band_fault(&self) -> Option<String> {
        let is_chosen = |bound: &f64| ![0.0, 1.0].contains(bound);
        let chosen = self.kind == ClaimKind::Difference
            || self.at_least.iter().chain(&self.at_most).any(is_chosen);
        let fault =
            "its band has no source: add `band-source`, the paper's words or `ours: ` and why";
        let source = self.band_source.as_deref().unwrap_or_default().trim();
        (chosen && source.is_empty()).then(|| fault.to_owned())
    }
}

/// The measures of a claim. A rate is the ratio of events and trials.
fn datum(claim: &Claim) -> String {
    claim.trials.as_ref().map_or_else(|| key(&claim.measure), |n| both(&claim.measure, n))
}

fn both(a: &ClaimMeasure, b: &ClaimMeasure) -> String {
    let (a, b) = (key(a), key(b));
    format!("{} against {}", a.as_str().min(&b), a.as_str().max(&b))
}

/// Text that is equal for measures of one datum.
fn key(measure: &ClaimMeasure) -> String {
    match measure {
        ClaimMeasure::Ratio(pair) | ClaimMeasure::Difference(pair) => both(&pair[0], &pair[1]),
        ClaimMeasure::Sum(parts) => parts.iter().map(key).collect::<Vec<_>>().join(" plus "),
        ClaimMeasure::Rows(rows) => {
            format!("{:?}", RowsMeasure { per: 1.0, plus: 0.0, ..rows.clone() })
        }
        leaf => format!("{leaf:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(claims: &[&str]) -> Vec<String> {
        let claim = |(n, rest): (usize, &&str)| {
            format!("[[claim]]\nid = \"{n}\"\nsays = \"b\"\nsource = \"fig. 1\"\n{rest}\n")
        };
        let claims: String = claims.iter().enumerate().map(claim).collect();
        let text = format!("paper = \"P\"\ntitle = \"T\"\n{claims}");
        let file = ExperimentClaims::parse(&text, "x").unwrap();
        file.audit("papers/p/x").iter().map(ToString::to_string).collect()
    }

    const A: &str = "{ metric = \"jain\", group = \"g\", scheme = \"a\" }";
    const B: &str = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\", per = 1e9 }";

    fn ratio(a: &str, b: &str) -> String {
        format!("kind = \"ratio\"\nreported = 4.0\nmeasure = {{ ratio = [{a}, {b}] }}")
    }

    fn order(measure: &str) -> String {
        format!("kind = \"ordering\"\nat-least = 1\nmeasure = {measure}")
    }

    #[test]
    fn two_claims_on_one_datum_are_refused() {
        let forward = ratio(A, B);
        let inverse = order(&format!("{{ ratio = [{B}, {A}] }}"));
        let less = order(&format!("{{ difference = [{A}, {}] }}", B.replace("1e9", "1e3")));
        let rates = |of: &str| ratio(&format!("{{ rates = \"{of}\", group = \"g\" }}"), B);
        for (first, second) in [
            (&forward, &forward),
            (&forward, &inverse),
            (&forward, &less),
            (&rates("variation"), &rates("variation")),
            (&order(A), &format!("kind = \"simulation\"\nreported = 3\nmeasure = {A}")),
        ] {
            let start = "papers/p/x: claim `1`: it is judged from the measures of `0`";
            let found = faults(&[first, second]);
            assert!(found.len() == 1 && found[0].starts_with(start), "{found:?}");
        }
        for other in [order(A), ratio(A, A), rates("jain")] {
            assert!(faults(&[&forward, &other]).is_empty(), "{other}");
        }
        let found = faults(&[&forward, &order(A), &order(B)]);
        assert!(
            found.len() == 1 && found[0].contains("`0`: it follows from `1` and `2`"),
            "{found:?}"
        );
    }

    #[test]
    fn a_band_needs_its_source_and_a_reason_is_short() {
        let chosen = order(A).replace("at-least = 1", "at-least = 0.98");
        let near = format!(
            "kind = \"difference\"\nreported = 0\nband = 1\nmeasure = {{ difference = [{A}, {B}] }}"
        );
        for claim in [&chosen, &near] {
            assert!(faults(&[claim])[0].contains("its band has no source"));
            assert!(faults(&[&format!("{claim}\nband-source = \"ours: why\"")]).is_empty());
        }
        for (words, wrong) in [(0, true), (20, false), (21, true)] {
            let reason = format!("{}\nreason = \"{}\"", order(A), "word ".repeat(words));
            assert_eq!(!faults(&[&reason]).is_empty(), wrong, "{words}");
        }
    }
}
