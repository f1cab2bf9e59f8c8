//! Flows and queries: how many, how large, from where to where, when, and how
//! they are written. Knows no transport.

mod api;
mod ask;
mod asker;
pub mod cdf;
mod deal;
mod flow;
mod list;
mod param;
mod refusal;
mod source;
pub mod table;
#[cfg(test)]
mod testing;
pub mod workload;

pub use asker::{QueryClientSpec, QuerySchedule};
pub use cdf::Cdf;
pub use flow::{Flow, FlowId};
pub use source::WritePattern;
