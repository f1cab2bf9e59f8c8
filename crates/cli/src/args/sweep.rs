//! Arguments of `merge`, and the list of runs of `run --runs`.

use std::path::PathBuf;

use clap::Args;
use lowtide_record::RunSelection;

pub(super) const MERGE_EXAMPLES: &str = "\
A part is the directory of `lowtide run ... --part DIR`. The parts must have all runs of one
scenario, made by this program; several parts may have the same run. OUT appears when it is
complete; the parts stay. docs/howto/sweeps.md has scripts for job arrays.

Examples:
  lowtide run leaf-spine --seeds 10 --index 0 --of 2 --part a       on one machine
  lowtide run leaf-spine --seeds 10 --index 1 --of 2 --part b       on another
  lowtide merge out a b";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Run directory to write
    pub(crate) out: PathBuf,
    /// Parts, written by `lowtide run ... --part DIR`
    #[arg(required = true, value_name = "PART")]
    pub(crate) parts: Vec<PathBuf>,
}

/// Parses a list of numbers and ranges: `3,17-19`.
pub(super) fn run_list(text: &str) -> Result<RunSelection, String> {
    let wrong = || "expected numbers and ranges of runs, like `3,17-19`".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let mut runs = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if last < first || last - first >= MAX_RUNS {
            return Err(wrong());
        }
        runs.extend(first..=last);
    }
    runs.sort_unstable();
    runs.dedup();
    Ok(RunSelection::Listed { runs })
}

/// Most runs of a plan.
const MAX_RUNS: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_runs_has_numbers_and_ranges() {
        let listed = |runs: &[u32]| Ok(RunSelection::Listed { runs: runs.to_vec() });
        assert_eq!(run_list("3"), listed(&[3]));
        assert_eq!(run_list("17-19, 3,18"), listed(&[3, 17, 18, 19]));
        for wrong in ["", "x", "3,", "5-3", "-1", "0-4000000000", "1-2-3"] {
            assert!(run_list(wrong).is_err(), "{wrong}");
        }
    }
}
