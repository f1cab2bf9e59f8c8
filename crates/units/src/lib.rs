//! Time, rates, sizes, quantiles and probes: the basic types that all other crates share.
//!
//! Contract: integers only, no clocks, no I/O, `no_std` (with `alloc` for the error texts). Nothing
//! here depends on TCP.
#![no_std]

extern crate alloc;

mod bytes;
mod fraction;
mod log_histogram;
mod named_enum;
mod parse;
mod probe;
mod quantile;
mod queue_length;
mod rate;
mod ratio;
mod time;

pub use bytes::Bytes;
pub use fraction::Fraction;
pub use log_histogram::LogHistogram;
pub use parse::{
    ParseUnitError, parse_bytes, parse_duration, parse_fraction, parse_packets, parse_rate,
};
pub use probe::{Probe, Unit};
pub use quantile::Quantile;
pub use queue_length::QueueLength;
pub use rate::Rate;
pub use ratio::Ratio;
pub use time::{Duration, HostStamp, Instant};
