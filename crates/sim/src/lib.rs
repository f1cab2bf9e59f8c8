//! The event core: virtual time, total event order, seeds, digests.
//!
//! Contract: a run is a function of its seed and of what the [`World`] does, nothing else. The order
//! of events is total and does not depend on the order in which they were scheduled (see
//! [`Scheduler`]), every random draw comes from a generator of its own entity (see [`Seed`]), and
//! what happened is summed up in a [`Digest`] of observable facts, never of scheduler steps.
//! Integers only. Knows neither TCP nor networks.
#![deny(clippy::float_arithmetic)]

mod digest;
mod draw;
mod entity;
pub mod partition;
mod pending;
mod radix_heap;
mod rng;
mod scheduler;
mod seed;
mod tick_tuner;
mod wheel;
mod world;

pub use digest::Digest;
pub use entity::Entity;
pub use rng::Rng;
pub use scheduler::Scheduler;
pub use seed::Seed;
pub use world::{POLL_EVERY, Stop, World, run};
