//! The sans-IO TCP of lowtide.
//!
//! Contract: deterministic; no I/O, no clock, no threads, no global state, no payload bytes, and no
//! floats that decide. `now` is an argument. Remote input gives an error, never a panic.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;

#[cfg(test)]
extern crate std;

pub mod ack;
pub mod cc;
mod config;
pub mod conformance;
pub mod feedback;
mod params;
pub mod profile;
pub mod scheme;
pub mod switches;
mod value;

pub use config::{
    Config, CutRule, CwrRule, EcnWish, EctClass, FreezeGrowth, InitialWindow, RecoveryRule, Recut,
    RtoMinApplies,
};
pub use params::{Param, Params};
pub use value::{Kind, Value, ValueError};
