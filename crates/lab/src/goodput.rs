//! Goodput: payload bytes that reached applications after the warm-up, over the time for them.

use lowtide_rows::FlowRow;

/// Bytes that flows delivered after the warm-up. Their time is from the first open, or the end of
/// the warm-up, to the last delivery, or the end of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeliveredBytes {
    bytes: u64,
    /// The time, picoseconds; `None` without a flow that could deliver bytes that count.
    span: Option<(u64, u64)>,
}

impl DeliveredBytes {
    /// Returns those of a flow of a run that ended at `ended_ps`.
    pub fn of_flow(flow: &FlowRow, warmup_ps: u64, ended_ps: u64) -> Self {
        let (from, to) = (flow.start_ps.max(warmup_ps), flow.delivered_ps.unwrap_or(ended_ps));
        let span = (from < to).then_some((from, to));
        Self { bytes: flow.delivered_after_warmup_bytes, span }
    }

    /// Returns those of both sets of flows together.
    #[must_use]
    pub fn merge(self, more: Self) -> Self {
        let span = match (self.span, more.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
        Self { bytes: self.bytes + more.bytes, span }
    }

    /// Returns the goodput, Mbit/s.
    pub fn mbps(self) -> Option<f64> {
        self.span.map(|(from, to)| self.bytes as f64 * 8e6 / (to - from) as f64)
    }
}
