//! The outcome of an enqueue at a port.

/// The outcome of a packet that arrives at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnqueueOutcome {
    /// It was enqueued.
    Queued,
    /// It was enqueued and marked.
    Marked,
    /// It was dropped.
    Dropped(DropReason),
}

/// The reason for a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DropReason {
    /// The buffer was full.
    BufferFull,
    /// The marker dropped it.
    Marker,
    /// Random loss, or the link is down.
    Lost,
}
