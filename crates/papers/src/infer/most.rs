//! The most claims that one setting has in their bands: a bound on what an inference can reach.

use serde::{Deserialize, Serialize};

use super::result::ScreenedSetting;
use super::split::ClaimSide;
use super::subject::InferredClaim;
use crate::ClaimKind;

/// The most claims of a kind in their bands, with one seed, under one setting. The setting is
/// chosen with knowledge of these claims, so it bounds what any choice among the settings reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MostInBand {
    /// The side of the claims.
    pub side: ClaimSide,
    /// Their kind; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ClaimKind>,
    /// Number of claims.
    pub claims: usize,
    /// Those in their bands under the setting that has most of them there.
    pub together: usize,
    /// Those in their bands under a setting each.
    pub apart: usize,
}

impl MostInBand {
    /// Name of the kind.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("all", ClaimKind::name)
    }
}

/// The bounds of the claims held back, of those kinds whose claims do not all hold together; empty
/// if all do.
pub fn most_text(of: &[MostInBand]) -> String {
    let apart = |m: &&MostInBand| {
        m.side == ClaimSide::HeldBack && m.kind.is_some() && m.together < m.claims
    };
    let list: Vec<String> = of
        .iter()
        .filter(apart)
        .map(|m| format!("{} {} of {}", m.kind_name(), m.together, m.claims))
        .collect();
    if list.is_empty() {
        return String::new();
    }
    format!(
        "No setting that was evaluated has more claims held back in their bands, with one seed, \
         than: {}.",
        list.join(", ")
    )
}

/// For each side, of all claims and of each kind.
pub(super) fn most_in_band(
    claims: &[&InferredClaim],
    screened: &[ScreenedSetting],
) -> Vec<MostInBand> {
    let of: Vec<(ClaimSide, ClaimKind)> = claims.iter().map(|c| (c.side, c.claim.kind)).collect();
    let in_band: Vec<&[u8]> = screened.iter().map(|s| s.in_band.as_bytes()).collect();
    counts(&of, &in_band)
}

/// `in_band` has a row for each setting with a digit for each claim.
fn counts(claims: &[(ClaimSide, ClaimKind)], in_band: &[&[u8]]) -> Vec<MostInBand> {
    let mut out = Vec::new();
    for side in [ClaimSide::Fitted, ClaimSide::HeldBack] {
        for kind in std::iter::once(None).chain(ClaimKind::ALL.map(Some)) {
            let is_of = |i: &usize| claims[*i].0 == side && kind.is_none_or(|k| k == claims[*i].1);
            let ids: Vec<usize> = (0..claims.len()).filter(is_of).collect();
            if ids.is_empty() {
                continue;
            }
            let holds = |row: &&[u8], i: usize| row.get(i) == Some(&b'1');
            let held = |row: &&[u8]| ids.iter().filter(|i| holds(row, **i)).count();
            out.push(MostInBand {
                side,
                kind,
                claims: ids.len(),
                together: in_band.iter().map(held).max().unwrap_or_default(),
                apart: ids.iter().filter(|i| in_band.iter().any(|row| holds(row, **i))).count(),
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
        let found: Vec<_> = found.iter().map(|m| (m.kind, m.claims, m.together, m.apart)).collect();
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
        let text = most_text(&counts(&claims, &[b"1100", b"0010", b"1000"]));
        assert!(text.ends_with("with one seed, than: ratio 1 of 2."), "{text}");
        assert_eq!(most_text(&counts(&claims, &[b"1110"])), "");
    }
}
