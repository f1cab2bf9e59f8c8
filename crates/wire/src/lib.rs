//! IP and TCP headers and options, to and from bytes.
//!
//! Contract: no sockets, no state, no allocation on parse, `no_std`. Malformed input gives an error,
//! never a panic. The [`Segment`] is a plain value of fixed size that carries the payload as a length
//! only: the simulator moves segments and no bytes, a real-packet driver keeps the bytes beside it.
#![no_std]

#[cfg(test)]
extern crate std;

mod ecn;
mod flags;
mod options;
mod segment;
mod seq;

pub use ecn::Ecn;
pub use flags::Flags;
pub use options::{Experimental, Options, SackBlocks, Timestamps};
pub use segment::{RxMeta, Segment};
pub use seq::SeqNum;
