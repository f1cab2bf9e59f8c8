//! Claims that no setting reproduces, and pairs that no setting reproduces together.

use serde::{Deserialize, Serialize};

/// Share of the settings in which each claim of a pair must hold.
const HOLDS: f64 = 0.1;

/// Number of settings in which chance alone would let both hold, at least.
const EXPECTED: f64 = 3.0;

/// Two claims that hold in many settings each, and in none together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Contradiction {
    /// The claims.
    pub claims: [String; 2],
    /// Settings in which each holds.
    pub settings: [usize; 2],
    /// Settings in which both would hold if they were independent.
    pub expected: f64,
}

/// Pairs of claims that hold under no setting together, although by chance they would under
/// several; the most surprising first. `holds` has a row for each claim, with a cell for each
/// setting.
pub(super) fn contradictions(claims: &[&str], holds: &[Vec<bool>]) -> Vec<Contradiction> {
    let settings = holds.first().map_or(0, Vec::len);
    let counts: Vec<usize> =
        holds.iter().map(|row| row.iter().filter(|held| **held).count()).collect();
    let mut out = Vec::new();
    for a in 0..holds.len() {
        for b in a + 1..holds.len() {
            let least = counts[a].min(counts[b]) as f64;
            let expected = counts[a] as f64 * counts[b] as f64 / settings.max(1) as f64;
            let together = holds[a].iter().zip(&holds[b]).any(|(x, y)| *x && *y);
            if !together && least >= HOLDS * settings as f64 && expected >= EXPECTED {
                out.push(Contradiction {
                    claims: [claims[a].to_owned(), claims[b].to_owned()],
                    settings: [counts[a], counts[b]],
                    expected,
                });
            }
        }
    }
    out.sort_by(|x, y| y.expected.total_cmp(&x.expected));
    out
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
        let found = contradictions(&["a", "b", "c", "d"], &holds);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].claims, ["a", "b"]);
        assert_eq!(found[0].settings, [12, 8]);
        assert!((found[0].expected - 4.8).abs() < 1e-12);
    }
}
