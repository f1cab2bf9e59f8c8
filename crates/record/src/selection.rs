//! Selection of the runs of a plan that one task makes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Some runs of a plan, by their number in its order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunSelection {
    /// A task of a job array: the runs whose number modulo `of` is `index`.
    Slice {
        /// Index of the task, from zero.
        index: usize,
        /// Number of tasks, greater than `index`.
        of: usize,
    },
    /// Listed runs.
    Listed {
        /// Their numbers, ascending.
        runs: Vec<u32>,
    },
}

impl RunSelection {
    /// Whether the run with this number is selected.
    pub fn contains(&self, run: u32) -> bool {
        match self {
            Self::Slice { index, of } => run as usize % of.max(&1) == *index,
            Self::Listed { runs } => runs.binary_search(&run).is_ok(),
        }
    }
}

impl fmt::Display for RunSelection {
    /// The options of `lowtide run`: `--index 0 --of 8`, `--runs 3,17-19`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice { index, of } => write!(f, "--index {index} --of {of}"),
            Self::Listed { runs } => write!(f, "--runs {}", ranges(runs)),
        }
    }
}

/// Returns ascending numbers as a list of ranges: `3,17-19`.
fn ranges(numbers: &[u32]) -> String {
    let runs: Vec<String> = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .filter_map(|range| match range {
            [] => None,
            [one] => Some(one.to_string()),
            [first, .., last] => Some(format!("{first}-{last}")),
        })
        .collect();
    runs.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_displayed_as_the_options_that_select_it() {
        let slice = RunSelection::Slice { index: 1, of: 3 };
        assert_eq!(slice.to_string(), "--index 1 --of 3");
        let listed = RunSelection::Listed { runs: vec![0, 3, 4, 5, 9, 10] };
        assert_eq!(listed.to_string(), "--runs 0,3-5,9-10");
        let selected = |s: &RunSelection| (0..12).filter(|n| s.contains(*n)).collect::<Vec<_>>();
        assert_eq!(selected(&slice), [1, 4, 7, 10]);
        assert_eq!(selected(&listed), [0, 3, 4, 5, 9, 10]);
    }

    #[test]
    fn a_selection_survives_json() {
        for selection in
            [RunSelection::Slice { index: 1, of: 3 }, RunSelection::Listed { runs: vec![2, 5] }]
        {
            let text = serde_json::to_string(&selection).unwrap();
            assert_eq!(serde_json::from_str::<RunSelection>(&text).unwrap(), selection);
        }
    }
}
