//! The time of a flow by the limit of its sender.

use lowtide_rows::TraceSenderRow;
use serde::Serialize;

/// Name of the time before the sender has a limit.
pub(super) const HANDSHAKE: &str = "handshake";

/// A part of the total by the sender's limit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LimitShare {
    /// `handshake`, and after that `application`, `cwnd`, `receive-window`, `send-buffer` or
    /// `host-queue`.
    pub by: String,
    /// Duration, picoseconds.
    pub time_ps: u64,
}

/// Sums the time from the start of a flow to its last data.
#[derive(Clone, Debug)]
pub(super) struct LimitTimes {
    sums: Vec<LimitShare>,
    /// Time up to which the sums are complete.
    summed: u64,
    /// Limits and their first times since then; the first was in effect then.
    since: Vec<(u64, String)>,
}

impl LimitTimes {
    pub(super) fn new(start: u64) -> Self {
        let since = vec![(start, HANDSHAKE.to_owned())];
        Self { sums: Vec::new(), summed: start, since }
    }

    pub(super) fn sender(&mut self, row: &TraceSenderRow) {
        let by = if row.phase == HANDSHAKE { HANDSHAKE } else { row.limited_by.as_str() };
        if self.since.last().is_none_or(|(_, last)| last != by) {
            self.since.push((row.time_ps, by.to_owned()));
        }
    }

    /// Sums the time up to `end`.
    pub(super) fn sum_until(&mut self, end: u64) {
        let in_effect = self.since.partition_point(|(from, _)| *from < end).max(1);
        for i in 0..in_effect {
            let (from, by) = &self.since[i];
            let to = self.since.get(i + 1).map_or(end, |(next, _)| *next).min(end);
            let time_ps = to.saturating_sub(self.summed.max(*from));
            match self.sums.iter_mut().find(|limit| limit.by == *by) {
                _ if time_ps == 0 => {}
                Some(limit) => limit.time_ps += time_ps,
                None => self.sums.push(LimitShare { by: by.clone(), time_ps }),
            }
        }
        self.since.drain(..in_effect - 1);
        self.summed = self.summed.max(end);
    }

    /// Returns the sums, the longest first.
    pub(super) fn finish(mut self) -> Vec<LimitShare> {
        self.sums.sort_by_key(|limit| std::cmp::Reverse(limit.time_ps));
        self.sums
    }
}
