//! The end host and the world that holds hosts, network and traffic together.
//!
//! Drives [`lowtide_tcp`] endpoints over [`lowtide_net`]; knows no files and no switch rules.

mod outcome;
mod setup;

pub use outcome::{
    Counts, EndReason, FlowRecord, FlowStatus, Outcome, ProbeRow, QueueLevel, QueueRecord,
    QueueSample,
};
pub use setup::{Disturbance, End, HostSetup, ProbePlan, Setup};
