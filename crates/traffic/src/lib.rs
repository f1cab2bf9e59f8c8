//! Flows and queries: number, size, endpoints, start and write pattern. Independent of the
//! transport.

mod api;
pub mod cdf;
mod error;
mod flow;
mod list;
mod param;
mod queries;
mod query_client;
mod round_robin;
#[cfg(test)]
mod testing;
pub mod text_file;
pub mod workload;
mod write_pattern;
mod write_schedule;

pub use cdf::Cdf;
pub use flow::{Flow, FlowId};
pub use query_client::{QueryClientSpec, QuerySchedule};
pub use write_pattern::WritePattern;
pub use write_schedule::{UNLIMITED_BYTES, Write, WriteSchedule};
