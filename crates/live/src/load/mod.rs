//! Traffic to try a transport with, over lowtide's TCP or the kernel's: bulk data in one direction per
//! connection, whose checksum both ends compare.
//!
//! Contract: one protocol for both kinds of transport. A client says on each connection what is to happen
//! ([`TransferRequest`]); whoever receives the data says at its end what came ([`Verdict`]), and the other compares.

mod byte_stream;
mod digest;
mod exchange;
mod protocol;
mod run;
mod serve;
mod transfer;

pub use byte_stream::{Accept, ByteStream};
pub use digest::{Digest, Pattern};
pub use exchange::{Progress, ServerTimeouts, TransferOutcome, run_client, serve_connection};
pub use protocol::{Amount, DataDigest, TransferDirection, TransferRequest};
pub use run::{
    FlowSample, LoadFlow, LoadInterval, LoadPlan, LoadReport, OpenFn, StreamReport, run,
};
pub use serve::{ServeLimits, ServePlan, serve};
pub use transfer::transfer;
