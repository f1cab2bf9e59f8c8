//! Flows: how many, how large, from where to where, and when. Knows no transport.

mod flow;

pub use flow::{Flow, FlowId};
