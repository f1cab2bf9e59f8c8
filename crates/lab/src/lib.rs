//! Runs scenarios, computes statistics, writes figures and the report.
//!
//! Contract: a plan goes in, a run directory comes out. Everything that is reported follows from the
//! tables in that directory; the number of threads changes nothing. An interval needs several seeds,
//! and a flow that did not complete never leaves a statistic in silence.

pub mod advice;
mod backend;
pub mod bench;
pub mod capture;
pub mod claims;
pub mod compare;
pub mod diff;
mod error;
mod facts;
mod figure;
mod findings;
pub mod flow;
mod ideal;
mod interval;
pub mod matrix;
mod paths;
mod plots;
mod present;
mod queries;
mod queues;
mod rates;
mod remake;
mod report;
mod results;
mod schedule;
mod session;
mod settings;
mod signals;
mod srtt;
mod subject;
mod summary;
pub mod theory;
mod times;
mod transports;

pub use backend::{Backend, Made, Refusal};
pub use error::LabError;
pub use facts::{GroupFacts, RunFacts};
pub use findings::{Finding, NEVER_MARKED, UNFINISHED};
pub use interval::OverSeeds;
pub use queries::QueryFacts;
pub use queues::{MemoryFacts, QueueClassFacts, QueueFacts, Seen};
pub use remake::report;
pub use results::{Envelope, Results};
pub use schedule::Progress;
pub use session::{Finished, Options, Task, Tasked, default_dir, default_dir_of};
pub use session::{execute, execute_task, load, simulate};
pub use signals::SignalFacts;
pub use srtt::Srtt;
pub use subject::Subject;
pub use summary::SummaryRow;
pub use times::{ClassFacts, Slowdown, Times};
pub use transports::{Mismatch, TransportFacts, Transports, planned_label};

/// Version of the tool.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
