//! Flows: how many, how large, from where to where, and when. Knows no transport.

mod flow;
pub mod workload;

pub use flow::{Flow, FlowId};
