//! Record and replay of the transport boundary (`--record`): all calls of the endpoint and its
//! connections, with times and results.
//!
//! Contract: all access to the endpoint goes through [`RecordedEndpoint`]. Without a recording this
//! costs a branch per call. A recording is text, one call per line:
//! `TIME-IN-PS CALL ARGUMENTS > RESULT`. It contains no payload. [`replay`] repeats the calls on a
//! fresh endpoint and reports the first result that differs. Calls without effect, whose results
//! follow from the others, are not recorded.

mod call;
mod config;
mod recorded_endpoint;
mod replay;
mod segment;
#[cfg(test)]
mod tests;

pub use call::ConnCall;
pub use recorded_endpoint::RecordedEndpoint;
pub use replay::{ReplayError, ReplaySummary, replay};

/// First line of every recording.
const HEADER: &str = "lowtide-live-recording 1";
