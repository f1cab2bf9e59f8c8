//! More seeds for undecided claims, within a budget.
//!
//! Contract: seeds are doubled until no claim is undecided for want of seeds, or the budget is
//! spent. A claim keeps the verdict of the look that decided it. The first look has the usual
//! level of 95 %; the further ones share 5 % of error (Bonferroni), so more looks do not decide by
//! chance.

use super::judge::ClaimResult;
use super::reproduce::ReproduceMode;
use super::verdict::ClaimVerdict;

/// Error of all further looks together.
const ERROR: f64 = 0.05;

/// The further looks after one in the full form with `seeds` seeds, with at most `budget` seeds.
pub fn further_looks(first: ReproduceMode, seeds: u64, budget: u64) -> Vec<ReproduceMode> {
    let mut counts = Vec::new();
    let mut next = seeds;
    while next < budget && next > 0 {
        next = next.saturating_mul(2).min(budget);
        counts.push(next);
    }
    let level = 1.0 - ERROR / counts.len().max(1) as f64;
    let look = |seeds| ReproduceMode { seeds: Some(seeds), further_look: Some(level), ..first };
    counts.into_iter().map(look).collect()
}

/// Whether more seeds could decide the claim: its interval is on an edge of its band.
fn needs_seeds(claim: &ClaimResult) -> bool {
    claim.verdict == ClaimVerdict::Undecided && claim.ci95.is_some()
}

/// Whether a further look could decide one of the claims.
pub fn needs_further_look(claims: &[ClaimResult]) -> bool {
    claims.iter().any(needs_seeds)
}

/// Replaces the claims that need seeds by those of a further look.
pub fn merge_further_look(claims: &mut [ClaimResult], look: Vec<ClaimResult>) {
    for (claim, later) in claims.iter_mut().zip(look) {
        if needs_seeds(claim) {
            *claim = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExperimentClaims;
    use crate::judge::judge_at;
    use crate::verdict::LEVEL;

    #[test]
    fn seeds_double_within_the_budget_and_share_the_error() {
        let looks = further_looks(ReproduceMode::default(), 5, 30);
        let seeds: Vec<_> = looks.iter().map(|look| look.seeds).collect();
        assert_eq!(seeds, [Some(10), Some(20), Some(30)]);
        let level = looks[0].further_look.unwrap();
        assert!((level - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
        assert!(further_looks(ReproduceMode::default(), 5, 5).is_empty());
    }

    #[test]
    fn a_decided_claim_keeps_its_verdict() {
        let text = "paper = \"P\"\ntitle = \"T\"\n[[claim]]\nid = \"a\"\nsays = \"b\"\n\
                    source = \"fig. 1\"\nkind = \"ordering\"\nat-least = 1.0\n\
                    measure = { table = \"flows\", column = \"fct_ps\", reduce = \"mean\" }";
        let claim = &ExperimentClaims::parse(text, "x").unwrap().claims[0];
        let judged = |values: &[f64], level| {
            let values: Vec<_> = values.iter().copied().map(Some).collect();
            judge_at("p", claim, &values, None, (false, level))
        };
        let edge = [1.1, 1.5, 1.3, 0.9];
        let mut claims = [judged(&[2.0, 2.1, 2.2], LEVEL), judged(&edge, LEVEL)];
        assert!(needs_further_look(&claims));
        let more = [1.1, 1.5, 1.3, 0.9, 1.4, 1.3, 1.2, 1.4];
        let look = vec![judged(&[0.1, 0.2, 0.1], LEVEL), judged(&more, LEVEL)];
        merge_further_look(&mut claims, look);
        assert_eq!(claims[0].verdict, ClaimVerdict::Reproduced, "it was decided before");
        assert_eq!(claims[1].verdict, ClaimVerdict::Reproduced);
        assert!(!needs_further_look(&claims));
        assert_eq!(judged(&more, 0.999).verdict, ClaimVerdict::Undecided, "a wider interval");
    }
}
