//! The parts of TCP that users choose by name: congestion controls ([`cc`]), acknowledgement
//! policies ([`ack`]) and ECN feedback decoders ([`feedback`]).
//!
//! `lowtide-tcp` re-exports the three modules; programs use them from there.
//!
//! Contract: decisions on windows, ACKs and echoes from the samples that a connection passes in; no
//! segments, timers or connection state. `no_std` with `alloc`, no floats.
#![no_std]
#![deny(clippy::float_arithmetic)]

extern crate alloc;
// Lets a file compile unchanged here and in another crate: `use lowtide_tcp::cc::CcEntry`.
extern crate self as lowtide_tcp;

#[cfg(test)]
extern crate std;

pub mod ack;
pub mod cc;
pub mod feedback;

#[doc(hidden)]
pub use lowtide_schema::{DefaultValue, Param, Value, ValueKind, Values};
