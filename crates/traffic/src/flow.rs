//! One transfer.

use lowtide_units::{Bytes, Instant};

use crate::WritePattern;

/// One transfer from a client, which opens the connection and sends, to a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Index into the names of the traffic groups.
    pub group: u16,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Bytes to send; `None` sends until the end of the run (a long-lived flow).
    pub size: Option<Bytes>,
    /// Time at which the application opens the connection, before any start jitter.
    pub start: Instant,
    /// Pattern of the application's writes.
    pub write_pattern: WritePattern,
}
