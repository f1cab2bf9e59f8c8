//! packetdrill scripts over lowtide's TCP, in virtual time.
//!
//! - [`stack`]: a host with sockets and real bytes over the sans-IO transport. The interpreter and the
//!   shared object for the stock program both drive it.
//! - [`flags`]: the settings string (`profile=linux ecn=1 ts=0 iw=10`).
//! - [`script`]: the language, from text to a syntax tree. What is not supported is refused by name.
//! - [`run`]: the interpreter.
//!
//! Contract: deterministic, no I/O, no clocks, no threads. Scripts never run a shell. Nothing of
//! packetdrill itself is in here; the language is described in `docs/packetdrill.md`.

mod command;
pub mod fields;
pub mod run;
pub mod script;
pub mod so_flags;
pub mod stack;
