//! The time budget of a flow, from the rows of its sender: the states of `lowtide analyze`, of
//! which the simulator knows the send buffer and the host's queue too.

use lowtide_analysis::{State, TimeBudget};
use lowtide_rows::TraceSenderRow;

/// Sums the time from the start of a flow to its last data.
#[derive(Clone, Debug)]
pub(super) struct SenderBudget {
    pub(super) budget: TimeBudget,
    /// Time up to which the budget is complete, picoseconds.
    summed: u64,
    /// States and their first times since then; the first was in effect then.
    since: Vec<(u64, State)>,
    /// Time of the last row.
    last: u64,
}

impl SenderBudget {
    pub(super) fn new(start: u64) -> Self {
        let since = vec![(start, State::Handshake)];
        Self { budget: TimeBudget::default(), summed: start, since, last: start }
    }

    pub(super) fn sender(&mut self, row: &TraceSenderRow) {
        if matches!(row.trigger.as_str(), "rto" | "loss-probe") && row.phase != "handshake" {
            self.since.push((self.last, State::Timeout));
        }
        let state = state_of(row);
        if self.since.last().is_none_or(|(_, last)| *last != state) {
            self.since.push((row.time_ps, state));
        }
        self.last = row.time_ps;
    }

    /// Sums the time up to `end`.
    pub(super) fn sum_until(&mut self, end: u64) {
        let in_effect = self.since.partition_point(|(from, _)| *from < end).max(1);
        for i in 0..in_effect {
            let (from, state) = self.since[i];
            let to = self.since.get(i + 1).map_or(end, |(next, _)| *next).min(end);
            // Both ends are rounded, so that the nanoseconds sum to those of the flow.
            let ns = (to / 1_000).saturating_sub(self.summed.max(from) / 1_000);
            self.budget.add(state, &[], ns);
        }
        self.since.drain(..in_effect - 1);
        self.summed = self.summed.max(end);
    }
}

fn state_of(row: &TraceSenderRow) -> State {
    match (row.phase.as_str(), row.limited_by.as_str()) {
        ("handshake", _) => State::Handshake,
        ("recovery" | "timeout", _) => State::Recovery,
        (_, "receive-window") if row.snd_wnd_bytes == 0 => State::ZeroWindow,
        (_, "receive-window") => State::ReceiveWindow,
        (_, "application") => State::NoData,
        (_, "send-buffer") => State::SendBuffer,
        (_, "host-queue") => State::HostQueue,
        _ => State::SenderWindow,
    }
}
