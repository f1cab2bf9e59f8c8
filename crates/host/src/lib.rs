//! The end host, and the world that combines hosts, network and traffic.
//!
//! Contract: [`run`] is a pure function of its [`Setup`]: no clock, no files. On several threads
//! ([`run_on`]) the result is identical. Hosts drive [`lowtide_tcp`] endpoints over [`lowtide_net`]
//! and do not see switch internals. Applications are bound to one host and communicate only by
//! packets.

mod aggregate;
mod alpha;
mod app;
mod bucket;
mod calibration;
pub mod clock;
mod cross_shard;
mod datapath;
mod delay_comparison;
mod drive;
mod ecn_counters;
mod error;
mod event_key;
mod exchange;
mod nic;
mod node;
mod noise;
mod outcome;
mod parallel;
mod probe;
mod profile;
mod query;
mod query_client;
mod query_clients;
mod query_server;
mod results;
mod run;
mod setup;
mod shard;
mod stack;
mod stepped_run;
mod tables;
mod timer_tick;
mod timestamp_points;
mod trace;
mod transfer;
mod tsq;
mod world;
mod writer;

pub use bucket::BucketSpec;
pub use clock::{Clock, ClockSpec};
pub use ecn_counters::EcnCounters;
pub use error::RunError;
pub use nic::{AggregationSpec, NicSpec};
pub use noise::{DMA_FETCH, DMA_LATE, DMA_TOGETHER, NoiseSpec, STACK_DEVIATION, STACK_LEAST};
pub use outcome::{
    BufferPoolRecord, ClassRecord, DelayRow, EndReason, FlowRecord, FlowStatus, Outcome, ProbeRow,
    QueryRecord, QueueLevel, QueueRecord, QueueSample, RunCounts, StallReason,
};
pub use parallel::{ThreadLimit, ThreadUsage, Threads, run_on};
pub use profile::{HOST_PROFILES, HostProfile, find_host_profile};
pub use run::run;
pub use setup::{Disturbance, EndCondition, HostSetup, ProbePlan, Setup};
pub use stack::{StackDelay, StackJitter, StackSpec};
pub use stepped_run::{EntityName, SteppedRun};
pub use trace::{
    SegmentEvent, SegmentRow, SenderEvents, SenderPhase, SenderRow, Trace, TracedFlow, Trigger,
};
