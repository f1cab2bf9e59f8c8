//! What a port says of a packet that comes to it.

/// What became of a packet that came to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EnqueueOutcome {
    /// It takes its place.
    Queued,
    /// It takes its place, and is marked.
    Marked,
    /// It is gone.
    Dropped(DropReason),
}

/// Who dropped a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DropReason {
    /// The buffer had no room.
    BufferFull,
    /// The marker.
    Marker,
    /// Nobody: the line loses packets at random, or is dead.
    Lost,
}
