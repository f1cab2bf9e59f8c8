//! The error of a name that does not exist, with the nearest existing names.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::not_simulated::NotSimulated;

/// A name that nothing has.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UnknownName {
    /// The kind of thing that was named: `scheme`, `switch`.
    pub what: &'static str,
    /// The name as written.
    pub name: String,
    /// The nearest names that exist, best first; may be empty.
    pub nearest: Vec<String>,
}

impl UnknownName {
    /// The error for `name`, which is none of `names`.
    pub fn new(what: &'static str, name: &str, names: Vec<String>) -> Self {
        Self { what, name: name.to_string(), nearest: nearest(name, names) }
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(absent) = NotSimulated::find(&self.name) {
            return f.write_str(absent.sentence);
        }
        write!(f, "there is no {} `{}`", self.what, self.name)?;
        if self.nearest.is_empty() {
            return Ok(());
        }
        write!(f, "; did you mean `{}`?", self.nearest.join("` or `"))
    }
}

impl core::error::Error for UnknownName {}

/// Returns at most three of `names`, nearest first, that may be meant by `wrong`. A third of the
/// longer name may differ, or one letter of a shorter one.
fn nearest(wrong: &str, names: Vec<String>) -> Vec<String> {
    let mut scored: Vec<(usize, String)> = names
        .into_iter()
        .map(|name| {
            // A parameter without its owner, or the owner alone, is a likely error.
            let part = name.split('.').any(|part| part == wrong);
            (if part { 1 } else { distance(wrong, &name) }, name)
        })
        .filter(|(d, name)| {
            let longest = wrong.len().max(name.len());
            *d < longest && *d <= (longest / 3).max(1)
        })
        .collect();
    scored.sort();
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Edit distance from `a` to `b` in bytes (the names are ASCII): insertions, deletions,
/// replacements and exchanges of two neighbours, none of them edited again (optimal string
/// alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut best = (row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("window-floor", "window-floor"), 0);
        assert_eq!(distance("window_floor", "window-floor"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("dctpc", "dctcp"), 1);
        assert_eq!(distance("abcd", "badc"), 2);
    }

    #[test]
    fn a_name_that_is_not_near_is_not_suggested() {
        let names = || ["cwr", "ecn", "ack", "window-floor"].map(String::from).to_vec();
        assert_eq!(nearest("bbr", names()), Vec::<String>::new());
        assert_eq!(nearest("ecm", names()), ["ecn"]);
        assert_eq!(nearest("x", names()), Vec::<String>::new());
        assert_eq!(nearest("window_flor", names()), ["window-floor"]);
    }
}
