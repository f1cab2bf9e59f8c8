//! Rules for a file of claims as a whole: a datum has one claim, each band has a source, and each
//! reason is short.
//!
//! Contract: claims on one datum are found by their measures. Unit, direction of a comparison and
//! kind of a claim do not distinguish data.

use super::measure::{ClaimMeasure, RowsMeasure};
use super::rates::{RatesMeasure, RatesStatistic};
use super::{Claim, ClaimError, ClaimKind, ExperimentClaims};

/// Longest reason, in words.
const REASON_WORDS: usize = 20;

impl ExperimentClaims {
    /// Returns what is wrong in `file` besides the form of single claims, which parsing checks.
    pub fn audit(&self, file: &str) -> Vec<ClaimError> {
        let data: Vec<String> = self.claims.iter().map(datum).collect();
        let mut found = Vec::new();
        for (i, claim) in self.claims.iter().enumerate() {
            let earlier = data.iter().take(i).position(|known| data.get(i) == Some(known));
            let same = earlier.map(|twin| {
                format!(
                    "it is judged from the measures of `{}`: keep the harder of the two",
                    self.claims[twin].id
                )
            });
            let faults = [
                same,
                self.sides_have_claims(&data, claim),
                claim.reason_fault(),
                claim.band_fault(),
                claim.evidence_fault(),
            ];
            found.extend(faults.into_iter().flatten().map(|fault| ClaimError {
                file: file.to_owned(),
                message: format!("claim `{}`: {fault}", claim.id),
            }));
        }
        found
    }

    /// A comparison of two values follows from them if each has a claim of its own.
    fn sides_have_claims(&self, data: &[String], claim: &Claim) -> Option<String> {
        let of = |side: &ClaimMeasure| {
            let alone = data.iter().position(|known| *known == key(side))?;
            Some(self.claims[alone].id.as_str())
        };
        let [a, b] = claim.measure.sides()?;
        let (a, b) = (of(a)?, of(b)?);
        Some(format!("it follows from `{a}` and `{b}`: remove the claim on the baseline alone"))
    }
}

impl Claim {
    fn reason_fault(&self) -> Option<String> {
        let words = self.reason.as_ref()?.split_whitespace().count();
        (words == 0 || words > REASON_WORDS).then(|| {
            format!(
                "its `reason` has {words} words of at most {REASON_WORDS}: move the rest to its \
                 `evidence`"
            )
        })
    }

    fn band_fault(&self) -> Option<String> {
        let is_chosen = |bound: f64| bound.abs() > 0.0 && (bound - 1.0).abs() > 0.0;
        let chosen = self.kind == ClaimKind::Difference
            || [self.at_least, self.at_most].into_iter().flatten().any(is_chosen);
        let absent = self.band_source.as_ref().is_none_or(|source| source.trim().is_empty());
        (chosen && absent).then(|| {
            "its band has no source: add `band-source`, the paper's words or `ours: ` and why"
                .into()
        })
    }

    fn evidence_fault(&self) -> Option<String> {
        let (page, section) = self.evidence.as_ref()?.split_once(".md#").unwrap_or_default();
        (page.is_empty() || section.is_empty()).then(|| {
            "its `evidence` is no section of docs/evidence/papers, such as `dx.md#dx-fig15`".into()
        })
    }
}

/// What a claim is judged from. A rate is the ratio of events and trials.
fn datum(claim: &Claim) -> String {
    match &claim.trials {
        Some(trials) => both(&claim.measure, trials),
        None => key(&claim.measure),
    }
}

fn both(a: &ClaimMeasure, b: &ClaimMeasure) -> String {
    let mut keys = [key(a), key(b)];
    keys.sort();
    keys.join(" against ")
}

/// Text that is equal for measures of one datum.
fn key(measure: &ClaimMeasure) -> String {
    match measure {
        ClaimMeasure::Ratio(pair) | ClaimMeasure::Difference(pair) => both(&pair[0], &pair[1]),
        ClaimMeasure::Sum(parts) => {
            let mut keys: Vec<String> = parts.iter().map(key).collect();
            keys.sort();
            keys.join(" plus ")
        }
        ClaimMeasure::Rows(rows) => {
            format!("{:?}", RowsMeasure { per: 1.0, plus: 0.0, ..rows.clone() })
        }
        ClaimMeasure::Rates(rates) if rates.rates == RatesStatistic::Variance => {
            // The variance is the square of the variation.
            format!("{:?}", RatesMeasure { rates: RatesStatistic::Variation, ..rates.clone() })
        }
        ClaimMeasure::Rates(rates) => format!("{rates:?}"),
        ClaimMeasure::Metric(metric) => format!("{metric:?}"),
        ClaimMeasure::Windows(windows) => format!("{windows:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(claims: &[(&str, &str)]) -> Vec<String> {
        let claim = |(id, rest): &(&str, &str)| {
            format!("[[claim]]\nid = \"{id}\"\nsays = \"b\"\nsource = \"fig. 1\"\n{rest}\n")
        };
        let claims: String = claims.iter().map(claim).collect();
        let text = format!("paper = \"P\"\ntitle = \"T\"\n{claims}");
        let file = ExperimentClaims::parse(&text, "x").unwrap();
        file.audit("papers/p/x").iter().map(ToString::to_string).collect()
    }

    const A: &str =
        "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\", where = { scheme = \"a\" } }";
    const B: &str = "{ table = \"flows\", column = \"fct_ps\", reduce = \"mean\", where = { scheme = \"b\" }, per = 1e9 }";

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
        let rates = |statistic: &str| {
            let one = |scheme: &str| {
                format!("{{ rates = \"{statistic}\", group = \"g\", scheme = \"{scheme}\" }}")
            };
            ratio(&one("a"), &one("b"))
        };
        for (first, second) in [
            (&forward, &forward),
            (&forward, &inverse),
            (&forward, &less),
            (&rates("variance"), &rates("variation")),
            (&order(A), &format!("kind = \"simulation\"\nreported = 3\nmeasure = {A}")),
        ] {
            let found = faults(&[("one", first), ("two", second)]);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("papers/p/x: claim `two`: "), "{found:?}");
            assert!(found[0].contains("measures of `one`"), "{found:?}");
        }
        for other in [order(A), ratio(A, A), rates("jain")] {
            assert!(faults(&[("one", &forward), ("two", &other)]).is_empty(), "{other}");
        }
    }

    #[test]
    fn a_ratio_of_two_values_with_claims_is_refused() {
        let found = faults(&[("r", &ratio(A, B)), ("a", &order(A)), ("b", &order(B))]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("claim `r`: it follows from `a` and `b`"), "{found:?}");
    }

    #[test]
    fn a_band_needs_its_source_and_a_reason_is_short() {
        let chosen = order(A).replace("at-least = 1", "at-least = 0.98");
        let near = format!(
            "kind = \"difference\"\nreported = 0\nband = 1\nmeasure = {{ difference = [{A}, {B}] }}"
        );
        for claim in [&chosen, &near] {
            assert!(faults(&[("one", claim)])[0].contains("its band has no source"));
            assert!(
                faults(&[("one", &format!("{claim}\nband-source = \"ours: why\""))]).is_empty()
            );
        }
        for (words, wrong) in [(0, true), (20, false), (21, true)] {
            let reason = format!("{}\nreason = \"{}\"", order(A), "word ".repeat(words));
            assert_eq!(!faults(&[("one", &reason)]).is_empty(), wrong, "{words}");
        }
        let of = |evidence: &str| {
            faults(&[("one", &format!("{}\nevidence = \"{evidence}\"", order(A)))])
        };
        assert!(of("dx.md#dx-fig15").is_empty());
        assert!(of("dx.md")[0].contains("`evidence` is no section"));
    }
}
