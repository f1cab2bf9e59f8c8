//! Runs scenarios, computes statistics, writes figures and the report.
//!
//! Contract: a plan goes in, a run directory comes out. Everything that is reported follows from the
//! tables in that directory; the number of threads changes nothing. An interval needs several seeds,
//! and a flow that did not complete never leaves a statistic in silence.

pub mod bench;
pub mod claims;
mod error;
mod facts;
mod figure;
pub mod flow;
mod interval;
pub mod matrix;
mod plots;
mod present;
mod remake;
mod report;
mod results;
mod schedule;
mod session;
mod settings;
mod signals;
mod summary;

pub use error::LabError;
pub use facts::{GroupFacts, QueueFacts, RunFacts, Seen, Times};
pub use interval::OverSeeds;
pub use remake::report;
pub use results::{Envelope, Results};
pub use schedule::Progress;
pub use session::{Finished, Options, default_dir, execute, load, simulate};
pub use signals::SignalFacts;
pub use summary::SummaryRow;

/// Version of the tool.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
