//! packetdrill scripts over lowtide's TCP in virtual time, or over another host.
//!
//! - [`host`]: the host under test, as the interpreter drives it.
//! - [`stack`]: a host with sockets and real bytes over the sans-IO transport.
//! - [`so_flags`]: the settings string (`profile=linux ecn=1 ts=0 iw=10`).
//! - [`script`]: the language, from text to a syntax tree. Unsupported constructs are rejected by
//!   name.
//! - [`run`]: the interpreter.
//!
//! Contract: deterministic, no I/O, no clocks, no threads. Scripts never run a shell. The crate
//! contains no packetdrill code; `docs/howto/packetdrill.md` describes the language.

pub mod command;
pub mod fields;
pub mod host;
pub mod run;
pub mod script;
pub mod so_flags;
pub mod stack;
pub mod view;
