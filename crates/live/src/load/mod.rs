//! Traffic to try a transport with, over lowtide's TCP or the kernel's: bulk data in one direction per
//! connection, whose checksum both ends compare.
//!
//! Contract: one protocol for both kinds of transport. A client says on each connection what is to happen
//! ([`Request`]); whoever receives the data says at its end what came ([`Verdict`]), and the other compares.

mod both;
mod data;
mod exchange;
mod message;
mod pipe;
mod run;
mod serve;

pub use both::transfer;
pub use data::{Digest, Pattern};
pub use exchange::{Outcome, Patience, Progress, ask, serve_one};
pub use message::{Amount, Request, Verdict, Way};
pub use pipe::{Accept, Pipe};
pub use run::{Flow, Interval, Load, LoadReport, Open, Sample, StreamReport, run};
pub use serve::{ServeLimits, ServePlan, serve};
