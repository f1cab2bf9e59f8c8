//! The transport boundary on tape: every call into the endpoint and its connections, with its time and its
//! answer, and the same calls again on a fresh endpoint.
//!
//! Contract: [`RecordedEndpoint`] is the only way to the endpoint. Without a tape it costs a branch per call. A tape is
//! text, a line per call, `TIME-IN-PS CALL ARGUMENTS > ANSWER`; it holds no payload. [`replay`] makes the calls
//! of a tape and says where an answer differs. What of the boundary has no effect and no answer that the others
//! do not show is not on it.

mod call;
mod config;
mod recorded_endpoint;
mod replay;
mod segment;
#[cfg(test)]
mod tests;

pub(crate) use recorded_endpoint::RecordedEndpoint;
pub use replay::{ReplayError, ReplaySummary, replay};

/// The first line of every tape.
const HEADER: &str = "lowtide-live-tape 1";
