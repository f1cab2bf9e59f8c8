//! The existing names that are nearest to a mistyped one.

use alloc::string::String;
use alloc::vec::Vec;

/// At most three of `names`, nearest first, that a person may have meant by `wrong`.
pub(super) fn nearest(wrong: &str, names: Vec<String>) -> Vec<String> {
    let limit = (wrong.len() / 3).max(2);
    let mut scored: Vec<(usize, String)> = names
        .into_iter()
        .map(|name| {
            // A parameter written without its owner, or the owner alone, is a likely slip.
            let part = name.split('.').any(|part| part == wrong);
            (if part { 1 } else { distance(wrong, &name) }, name)
        })
        .filter(|(d, _)| *d <= limit)
        .collect();
    scored.sort();
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Levenshtein distance in bytes; the names are ASCII.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
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
    }
}
