//! Flows and queries: how many, how large, from where to where, when, and how
//! they are written. Knows no transport.

mod asker;
mod deal;
mod flow;
mod source;
pub mod workload;

pub use asker::{Asker, Asks};
pub use flow::{Flow, FlowId};
pub use source::Source;
