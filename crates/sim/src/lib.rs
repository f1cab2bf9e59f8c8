//! The event core: virtual time, total event order, seeds, digests.
//!
//! Contract: a run depends only on its seed and on the [`World`]. The order of events is total and
//! independent of the order of scheduling (see [`Scheduler`]). Every entity draws from its own
//! generator (see [`Seed`]). A [`Digest`] summarises observable facts, never scheduler steps.
//! Integers only. Independent of TCP and networks.
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
