//! The results of a run: their rows, and what observes the run for them.

mod collect;
pub(crate) mod delay_comparison;
pub(crate) mod ecn_counters;
pub(crate) mod outcome;
pub(crate) mod probe;
pub(crate) mod sender_summary;
mod stall_reason;
pub(crate) mod tcp_counters;
pub(crate) mod trace;

pub(crate) use self::collect::collect;
