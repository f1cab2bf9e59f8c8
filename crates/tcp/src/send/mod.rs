//! The sending side: the effects of ACKs, the next segment to send, its header and its time.

mod ack_processing;
mod header;
mod idle;
mod output;
mod pacing;
mod quota;
pub(crate) mod rate_sample;
pub(crate) mod sender;
mod tso_defer;
