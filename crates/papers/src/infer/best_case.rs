//! The most claims that one setting has in their bands: whether they can hold jointly at all.

use serde::{Deserialize, Serialize};

use super::result::ScreenedSetting;
use super::split::ClaimSide;
use super::subject::InferredClaim;
use crate::ClaimKind;

/// The most claims of a kind in their bands, with one seed, under one setting. The setting is
/// chosen with knowledge of these claims, so the number is optimistic; it is no bound on verdicts,
/// which have other seeds and need the whole interval in the band.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BestCase {
    /// The side of the claims.
    pub side: ClaimSide,
    /// Their kind; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ClaimKind>,
    /// Number of claims.
    pub claims: usize,
    /// Those in their bands under the setting that has most of this kind there.
    pub jointly: usize,
    /// Those in their bands under at least one setting.
    pub somewhere: usize,
}

impl BestCase {
    /// Name of the kind.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("all", ClaimKind::name)
    }
}

/// The best case of the claims held back by kind, without kinds whose claims all hold jointly.
pub fn best_case_text(of: &[BestCase]) -> String {
    let is_partial =
        |m: &&BestCase| m.side == ClaimSide::HeldBack && m.kind.is_some() && m.jointly < m.claims;
    let list: Vec<String> = of
        .iter()
        .filter(is_partial)
        .map(|m| format!("{} {} of {}", m.kind_name(), m.jointly, m.claims))
        .collect();
    if list.is_empty() {
        return String::new();
    }
    format!(
        "Best case of the claims held back (in band with one seed, each kind at its own best \
         setting): {}.",
        list.join(", ")
    )
}

/// For each side, of all claims and of each kind.
pub(super) fn best_cases(claims: &[&InferredClaim], screened: &[ScreenedSetting]) -> Vec<BestCase> {
    let of: Vec<(ClaimSide, ClaimKind)> = claims.iter().map(|c| (c.side, c.claim.kind)).collect();
    let in_band: Vec<&[u8]> = screened.iter().map(|s| s.in_band.as_bytes()).collect();
    counts(&of, &in_band)
}

/// `in_band` has a row for each setting with a digit for each claim.
fn counts(claims: &[(ClaimSide, ClaimKind)], in_band: &[&[u8]]) -> Vec<BestCase> {
    let mut out = Vec::new();
    for side in [ClaimSide::Fitted, ClaimSide::HeldBack] {
        for kind in std::iter::once(None).chain(ClaimKind::ALL.map(Some)) {
            let is_of = |i: &usize| claims[*i].0 == side && kind.is_none_or(|k| k == claims[*i].1);
            let ids: Vec<usize> = (0..claims.len()).filter(is_of).collect();
            if ids.is_empty() {
                continue;
            }
            let holds = |row: &&[u8], i: usize| row.get(i) == Some(&b'1');
            let number = |row: &&[u8]| ids.iter().filter(|i| holds(row, **i)).count();
            out.push(BestCase {
                side,
                kind,
                claims: ids.len(),
                jointly: in_band.iter().map(number).max().unwrap_or_default(),
                somewhere: ids.iter().filter(|i| in_band.iter().any(|row| holds(row, **i))).count(),
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_that_exclude_each_other_hold_apart() {
        let (held, ordering, ratio) = (ClaimSide::HeldBack, ClaimKind::Ordering, ClaimKind::Ratio);
        let claims = [(held, ordering), (held, ratio), (held, ratio), (ClaimSide::Fitted, ratio)];
        let found = counts(&claims, &[b"1100", b"0010", b"1000"]);
        let found: Vec<_> =
            found.iter().map(|m| (m.kind, m.claims, m.jointly, m.somewhere)).collect();
        assert_eq!(
            found,
            [
                (None, 1, 0, 0),
                (Some(ratio), 1, 0, 0),
                (None, 3, 2, 3),
                (Some(ordering), 1, 1, 1),
                (Some(ratio), 2, 1, 2)
            ]
        );
        let text = best_case_text(&counts(&claims, &[b"1100", b"0010", b"1000"]));
        assert!(text.ends_with("best setting): ratio 1 of 2."), "{text}");
        assert_eq!(best_case_text(&counts(&claims, &[b"1110"])), "");
    }
}
