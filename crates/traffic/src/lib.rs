//! Flows and queries: number, size, endpoints, start and write pattern. Independent of the
//! transport.

// Lets a file compile unchanged here and in another crate: `use lowtide_traffic::Flow`.
extern crate self as lowtide_traffic;

mod api;
pub mod cdf;
mod check;
mod collective;
pub mod endpoints;
mod entry;
mod error;
mod flow;
mod list;
pub mod open_loop;
pub mod queries;
mod query_client;
pub mod round_robin;
#[cfg(test)]
mod testing;
pub mod text_file;
pub mod workload;
mod write_pattern;
mod write_schedule;

pub use cdf::Cdf;
pub use collective::{CollectiveSpec, Message, RankSpec, Step};
pub use flow::Flow;
pub use query_client::{ArrivalTimes, QueryClientSpec, QuerySchedule};
pub use write_pattern::WritePattern;
pub use write_schedule::{UNLIMITED_BYTES, Write, WriteSchedule};
