//! Segments of one capture and their counterparts in the other.

use std::collections::BTreeMap;

use super::observations::{Direction, Identity, Observation};

/// The segments of one direction at both points. Indices are those of the captures.
#[derive(Clone, Default, Debug)]
pub(super) struct Matches {
    /// Segments at both points, in the order of capture 1.
    pub(super) both: Vec<(usize, usize)>,
    /// Segments of each capture without a counterpart.
    pub(super) alone: [Vec<usize>; 2],
    /// Copies that look alike and of which one capture has more.
    pub(super) alike: u64,
}

impl Matches {
    /// Matches by number, length, flags, timestamps and identification; copies that are equal in
    /// all of them from the last one backwards.
    pub(super) fn of(directions: [&Direction; 2]) -> Self {
        // Either capture may lack the identification: a tunnel or a translation changes it.
        let identified = directions.map(|d| d.segments.iter().any(Observation::is_identified));
        let both_identified = identified == [true; 2]
            && Self::by(directions, true).both.len() * 2 > Self::by(directions, false).both.len();
        Self::by(directions, both_identified)
    }

    fn by([first, second]: [&Direction; 2], identified: bool) -> Self {
        let key = |o: &Observation| -> Identity {
            if identified { o.identity } else { o.identity.without_identification() }
        };
        let mut waiting: BTreeMap<Identity, Vec<usize>> = BTreeMap::new();
        for (i, segment) in second.segments.iter().enumerate() {
            waiting.entry(key(segment)).or_default().push(i);
        }
        let mut counts: BTreeMap<Identity, u32> = BTreeMap::new();
        for segment in &first.segments {
            *counts.entry(key(segment)).or_default() += 1;
        }
        let mut out = Self::default();
        for (identity, count) in &counts {
            let others = waiting.get(identity).map_or(0, Vec::len) as u32;
            if *count != others && others > 0 && (*count > 1 || others > 1) {
                out.alike += u64::from(count.abs_diff(others));
            }
        }
        // From the end: of equal copies the earlier ones are those that were sent again.
        for (i, segment) in first.segments.iter().enumerate().rev() {
            match waiting.get_mut(&key(segment)).and_then(Vec::pop) {
                Some(j) => out.both.push((i, j)),
                None => out.alone[0].push(i),
            }
        }
        out.both.reverse();
        out.alone[0].reverse();
        out.alone[1] = waiting.into_values().flatten().collect();
        out.alone[1].sort_unstable();
        out
    }
}
