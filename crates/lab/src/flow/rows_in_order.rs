//! The rows of the three tables of a trace in order of time.

use lowtide_record::TraceTables;
use lowtide_rows::{TraceHopRow, TraceSegmentRow, TraceSenderRow};

/// A row of a trace.
pub(super) enum TraceRow<'a> {
    Segment(&'a TraceSegmentRow),
    Sender(&'a TraceSenderRow),
    Hop(&'a TraceHopRow),
}

/// Visits all rows by time. At one time segments precede senders, and senders precede hops.
pub(super) fn rows_in_order(part: &TraceTables, mut visit: impl FnMut(TraceRow<'_>)) {
    let mut segments = part.segments.iter().peekable();
    let mut senders = part.senders.iter().peekable();
    let mut hops = part.hops.iter().peekable();
    loop {
        let at = |time: Option<u64>| time.unwrap_or(u64::MAX);
        let segment = at(segments.peek().map(|r| r.time_ps));
        let sender = at(senders.peek().map(|r| r.time_ps));
        let hop = at(hops.peek().map(|r| r.time_ps));
        let first = segment.min(sender).min(hop);
        let row = if first == segment {
            segments.next().map(TraceRow::Segment)
        } else if first == sender {
            senders.next().map(TraceRow::Sender)
        } else {
            hops.next().map(TraceRow::Hop)
        };
        // Nothing happens at the last instant of the clock.
        let Some(row) = row else { return };
        visit(row);
    }
}
