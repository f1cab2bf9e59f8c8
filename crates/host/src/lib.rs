//! The end host and the world that holds hosts, network and traffic together.
//!
//! Contract: [`run`] is a pure function of its [`Setup`]: no clock, no files; on several threads
//! ([`run_on`]) it is the same one. Hosts drive
//! [`lowtide_tcp`] endpoints over [`lowtide_net`]; they know no switch rules. Applications are bound
//! to one host and talk to each other by packets only.

mod aggregate;
mod alpha;
mod answer;
mod apart;
mod app;
mod ask;
mod askers;
mod between;
mod bucket;
mod calibration;
pub mod clock;
mod delays;
mod error;
mod exchange;
mod moment;
mod nic;
mod node;
mod noise;
mod outcome;
mod parallel;
mod paths;
mod places;
mod probe;
mod profile;
mod query;
mod results;
mod run;
mod serve;
mod setup;
mod signals;
mod small_queue;
mod stack;
mod steps;
mod timer_tick;
mod trace;
mod transfer;
mod world;
mod writer;

pub use bucket::BucketSpec;
pub use clock::{Clock, ClockSpec};
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
pub use signals::EcnCounters;
pub use stack::{StackDelay, StackJitter, StackSpec};
pub use steps::{EntityName, SteppedRun};
pub use trace::{
    SegmentEvent, SegmentRow, SenderEvents, SenderPhase, SenderRow, Trace, TracedFlow, Trigger,
};
