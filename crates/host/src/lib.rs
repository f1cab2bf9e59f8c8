//! The end host and the world that holds hosts, network and traffic together.
//!
//! Contract: [`run`] is a pure function of its [`Setup`]: no clock, no files, no threads. Hosts drive
//! [`lowtide_tcp`] endpoints over [`lowtide_net`]; they know no switch rules. Applications are bound
//! to one host and talk to each other by packets only.

mod app;
mod error;
mod node;
mod outcome;
mod probe;
mod results;
mod run;
mod setup;
mod trace;
mod world;

pub use error::RunError;
pub use outcome::{
    Counts, EndReason, FlowRecord, FlowStatus, Outcome, ProbeRow, QueueLevel, QueueRecord,
    QueueSample,
};
pub use run::run;
pub use setup::{Disturbance, End, HostSetup, ProbePlan, Setup};
pub use trace::{
    Phase, SegmentEvent, SegmentRow, SenderEvents, SenderRow, Trace, TracedFlow, Trigger,
};
