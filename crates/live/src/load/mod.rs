//! Load generator over lowtide's TCP or the kernel's: bulk data in one direction per connection,
//! with a checksum that both ends compare.
//!
//! Contract: one protocol for both TCPs. On each connection the client sends a [`TransferRequest`].
//! At the end the server reports a [`DataDigest`] of the data, and the client compares it with its
//! own.

mod byte_stream;
mod digest;
mod exchange;
mod protocol;
mod run;
mod serve;
mod transfer;

pub use byte_stream::{Accept, ByteStream};
pub use digest::{Digest, Pattern};
pub use exchange::{Progress, TransferOutcome, run_client, serve_connection};
pub use protocol::{Amount, DataDigest, TransferDirection, TransferRequest};
pub use run::{
    FlowSample, LoadFlow, LoadInterval, LoadPlan, LoadReport, OpenFn, StreamReport, run,
};
pub use serve::{ServeLimits, ServePlan, serve};
pub use transfer::transfer;
