//! Claims that no setting reproduces, and pairs that no setting reproduces together.

use serde::{Deserialize, Serialize};

/// Share of the draws in which each claim of a pair must hold.
const HOLDS: f64 = 0.1;
/// Probability that chance alone leaves any pair of a paper without a common draw, at most.
const CHANCE: f64 = 0.05;

/// Two claims that hold in many draws each, and in no evaluation together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Contradiction {
    /// The claims.
    pub claims: [String; 2],
    /// Draws in which each holds.
    pub settings: [usize; 2],
    /// Draws in which both would hold if they were independent.
    pub expected: f64,
    /// Probability that independent claims have no draw in common.
    pub p: f64,
}

/// Pairs of claims that hold in no draw together, although by chance they would in several; the
/// most surprising first. The level is divided by the number of pairs (Bonferroni). `holds` has a
/// row for each claim, with a cell for each draw; `elsewhere` tells whether both claims hold in
/// another evaluation.
pub(super) fn contradictions(
    claims: &[&str],
    holds: &[Vec<bool>],
    elsewhere: impl Fn(usize, usize) -> bool,
) -> Vec<Contradiction> {
    let draws = holds.first().map_or(0, Vec::len);
    let count = |row: &Vec<bool>| row.iter().filter(|held| **held).count();
    let is_often = |(_, n): &(usize, usize)| *n > 0 && *n as f64 >= HOLDS * draws as f64;
    let often: Vec<(usize, usize)> = holds.iter().map(count).enumerate().filter(is_often).collect();
    let pairs = (often.len() * often.len().saturating_sub(1) / 2) as f64;
    let mut out = Vec::new();
    for (i, (a, of_a)) in often.iter().enumerate() {
        for (b, of_b) in &often[i + 1..] {
            let together = holds[*a].iter().zip(&holds[*b]).any(|(x, y)| *x && *y);
            let p = none_together(draws, *of_a, *of_b);
            if !together && p * pairs <= CHANCE && !elsewhere(*a, *b) {
                out.push(Contradiction {
                    claims: [claims[*a].to_owned(), claims[*b].to_owned()],
                    settings: [*of_a, *of_b],
                    expected: *of_a as f64 * *of_b as f64 / draws as f64,
                    p,
                });
            }
        }
    }
    out.sort_by(|x, y| x.p.total_cmp(&y.p));
    out
}

/// Probability that `a` and `b` of `n` draws, chosen independently, have none in common
/// (hypergeometric).
fn none_together(n: usize, a: usize, b: usize) -> f64 {
    (0..b).map(|i| (n - a).saturating_sub(i) as f64 / (n - i) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_excludes_each_other_is_found() {
        let row = |text: &str| text.chars().map(|c| c == '1').collect::<Vec<_>>();
        let holds = [
            row("11111111000000001111"),
            row("00000000111111110000"),
            row("10101010101010101010"),
            row("00000000000000000001"),
        ];
        let found = contradictions(&["a", "b", "c", "d"], &holds, |_, _| false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].claims, ["a", "b"]);
        assert_eq!(found[0].settings, [12, 8]);
        assert!((found[0].expected - 4.8).abs() < 1e-12);
        // One of the 125970 ways to choose 8 of 20.
        assert!((found[0].p * 125_970.0 - 1.0).abs() < 1e-9);
        assert!(contradictions(&["a", "b", "c", "d"], &holds, |_, _| true).is_empty());
    }

    #[test]
    fn few_draws_in_common_by_chance_are_no_contradiction() {
        let row = |text: &str| text.chars().map(|c| c == '1').collect::<Vec<_>>();
        let holds = [row("1110000000"), row("0001110000")];
        assert!(contradictions(&["a", "b"], &holds, |_, _| false).is_empty());
        assert!((none_together(10, 3, 3) - 35.0 / 120.0).abs() < 1e-12);
        assert!(none_together(10, 6, 5).abs() < 1e-12);
    }
}
