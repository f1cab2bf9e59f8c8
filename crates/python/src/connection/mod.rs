//! One connection from Python, for tests and agents: the caller moves time and carries segments.
//!
//! Contract: equal calls give equal segments. No call panics: a call in the wrong order and a field
//! out of range are a `RequestError`, a segment that TCP rejects is an answer.

mod class;
mod end;
mod fields;
mod info;
mod misuse;
mod segment;
mod values;

pub(crate) use class::Connection;
pub(crate) use info::ConnectionInfo;
pub(crate) use segment::Segment;
