//! The end host, and the world that combines hosts, network and traffic.
//!
//! Contract: [`run`] is a pure function of its [`Setup`]: no clock, no files. On several threads
//! ([`run_on`]) the result is identical. Hosts drive [`lowtide_tcp`] endpoints over [`lowtide_net`]
//! and do not see switch internals. Applications are bound to one host and communicate only by
//! packets.

mod app;
mod applications;
mod clocks;
mod datapath;
mod error;
mod event_key;
mod node;
pub mod profile;
mod results;
mod run;
mod setup;
mod sharding;
mod stepped_run;
mod streamed_run;
mod tables;
mod world;

pub use applications::exchange::{Exchange, Request};
pub use applications::query::{Query, QueryCost, response_size};
pub use applications::query_clients::{QueryClient, QueryConnection};
pub use clocks::clock;
pub use clocks::clock::{Clock, ClockSpec};
pub use clocks::noise::{
    DMA_FETCH, DMA_LATE, DMA_TOGETHER, NoiseSpec, STACK_DEVIATION, STACK_LEAST,
};
pub use datapath::bucket::BucketSpec;
pub use datapath::nic::{AggregationSpec, NicSpec};
pub use datapath::stack::{StackDelay, StackJitter, StackSpec};
pub use error::RunError;
pub use results::outcome::{MemoryCounts, Outcome};
pub use results::tcp_counters::tcp_counters;
pub use results::trace::{
    SegmentEvent, SegmentRow, SenderEvents, SenderPhase, SenderRow, Trace, TracedFlow, Trigger,
};
pub use run::run;
pub use setup::{
    Counting, Disturbance, EARLY_SPACING, EndCondition, HostSetup, OpenLoop, ProbePlan, Setup,
};
pub use sharding::{ThreadLimit, ThreadUsage, Threads, run_on};
pub use stepped_run::{EntityName, SteppedRun};
pub use streamed_run::{TracePart, run_streamed};
