//! Facts of collectives: step times per traffic group, and the ranks that end last.
//!
//! Contract: an iteration counts if all ranks began it after the warm-up. One that the end of the
//! run cut off is in the sample with its age.

use std::collections::BTreeMap;
use std::sync::Arc;

use lowtide_rows::CollectiveRow;
use lowtide_stats::Sample;
use serde::Serialize;

use crate::samples::{PS_PER_MS, Timed, times_ms};
use crate::times::CompletionTimes;

/// The iterations of one collective in one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CollectiveFacts {
    /// The traffic group.
    pub name: String,
    /// Ranks that began an iteration.
    pub ranks: usize,
    /// Number of counted iterations.
    pub iterations: usize,
    /// Of these, iterations censored by the end of the run.
    pub unfinished: usize,
    /// Step time of an iteration: the longest from start to end of a rank.
    pub step_ms: CompletionTimes,
    /// Mean time from the first rank's end of an iteration to the last rank's.
    pub end_spread_ms: Option<f64>,
    /// Host of the rank that ended most iterations as the last one; null if no rank did alone.
    pub last_host: Option<String>,
    /// Iterations that it ended as the last one.
    pub last_iterations: usize,
    /// The step times, milliseconds.
    #[serde(skip)]
    pub(crate) sample: Arc<Sample>,
}

/// Returns the collectives of a run.
pub(crate) fn facts(rows: &[CollectiveRow], ended_ps: u64) -> Vec<CollectiveFacts> {
    let mut groups: Vec<(&str, BTreeMap<u32, Vec<&CollectiveRow>>)> = Vec::new();
    for row in rows {
        if groups.last().is_none_or(|(name, _)| *name != row.group) {
            groups.push((&row.group, BTreeMap::new()));
        }
        if let Some((_, iterations)) = groups.last_mut() {
            iterations.entry(row.iteration).or_default().push(row);
        }
    }
    groups.into_iter().map(|(name, iterations)| of_group(name, &iterations, ended_ps)).collect()
}

fn of_group(
    name: &str,
    iterations: &BTreeMap<u32, Vec<&CollectiveRow>>,
    ended_ps: u64,
) -> CollectiveFacts {
    let ranks = iterations.values().map(Vec::len).max().unwrap_or_default();
    let (mut timed, mut spreads_ps, mut last) = (Vec::new(), 0, BTreeMap::<u32, usize>::new());
    for of_ranks in iterations.values().filter(|ranks| ranks.iter().all(|row| row.counted)) {
        let start = of_ranks.iter().map(|row| row.start_ps).min().unwrap_or_default();
        let ends: Vec<u64> = of_ranks.iter().filter_map(|row| row.end_ps).collect();
        let end = ends.iter().copied().max().filter(|_| ends.len() == ranks);
        timed.push(Timed {
            took_ps: of_ranks.iter().filter_map(|row| row.step_ps).max().filter(|_| end.is_some()),
            age_ps: ended_ps.saturating_sub(start),
            failed: false,
        });
        let Some(end) = end else { continue };
        spreads_ps += end - ends.iter().copied().min().unwrap_or(end);
        let at_end: Vec<u32> =
            of_ranks.iter().filter(|row| row.end_ps == Some(end)).map(|row| row.rank).collect();
        if let [alone] = at_end[..] {
            *last.entry(alone).or_default() += 1;
        }
    }
    let unfinished = timed.iter().filter(|step| step.took_ps.is_none()).count();
    let complete = timed.len() - unfinished;
    let most = last.iter().max_by_key(|(rank, times)| (**times, u32::MAX - **rank));
    let host = |rank: u32| {
        let row = iterations.values().flatten().find(|row| row.rank == rank)?;
        Some(row.host.clone())
    };
    let iterations = timed.len();
    let sample = times_ms(timed.into_iter());
    CollectiveFacts {
        name: name.to_owned(),
        ranks,
        iterations,
        unfinished,
        step_ms: CompletionTimes::new(&sample),
        end_spread_ms: (complete > 0)
            .then(|| spreads_ps as f64 / complete as f64 / PS_PER_MS as f64),
        last_host: most.and_then(|(rank, _)| host(*rank)),
        last_iterations: most.map_or(0, |(_, times)| *times),
        sample: Arc::new(sample),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: u32, iteration: u32, start_ms: u64, end_ms: Option<u64>) -> CollectiveRow {
        let end_ps = end_ms.map(|ms| ms * PS_PER_MS);
        CollectiveRow {
            group: "train".into(),
            rank,
            host: format!("servers.{rank}"),
            iteration,
            start_ps: start_ms * PS_PER_MS,
            end_ps,
            step_ps: end_ps.map(|end| end - start_ms * PS_PER_MS),
            counted: iteration > 0,
        }
    }

    #[test]
    fn a_step_takes_as_long_as_that_of_the_slowest_rank() {
        let mut rows = Vec::new();
        for (rank, late) in [(0, 0), (1, 2)] {
            rows.push(row(rank, 0, 0, Some(50)));
            rows.push(row(rank, 1, 50 + late, Some(60 + late)));
            rows.push(row(rank, 2, 62, Some(70 + 2 * late)));
            // The second rank has not begun when the run ends.
            rows.extend((rank == 0).then(|| row(0, 3, 80, None)));
        }
        let found = facts(&rows, 100 * PS_PER_MS);
        let [train] = found.as_slice() else { panic!("one group: {found:?}") };
        assert_eq!((train.ranks, train.iterations, train.unfinished), (2, 3, 1));
        assert_eq!((train.step_ms.p50, train.step_ms.mean), (Some(12.0), None));
        assert_eq!(train.step_ms.mean_at_least, Some(14.0));
        assert_eq!(train.end_spread_ms, Some(3.0));
        assert_eq!((train.last_host.as_deref(), train.last_iterations), (Some("servers.1"), 2));
        assert!(facts(&[], 1).is_empty());
    }
}
