//! Runs scenarios, computes statistics, writes figures and the report.
//!
//! Contract: input is a plan, output a run directory. All reported values follow from the tables in
//! that directory, at any number of threads. An interval needs several seeds, and no statistic
//! silently omits a flow that did not complete.

mod backend;
pub mod bench;
mod budget;
mod collectives;
pub mod compare;
mod delay_target;
mod demands;
pub mod diff;
mod error;
mod facts;
mod findings;
pub mod flow;
mod goodput;
mod headline;
mod ideal;
mod merge;
mod naming;
mod network_figures;
mod offered_load;
mod outputs;
mod part;
mod paths;
mod plan_check;
mod plots;
mod program;
mod queries;
mod queues;
mod report;
mod rerender;
mod results;
mod results_json;
mod samples;
mod schedule;
mod session;
mod settings;
mod sharing;
mod shown_estimate;
mod signals;
mod srtt;
mod stored;
mod subject;
pub mod summary;
mod tails;
pub mod theory;
mod times;
mod transport_facts;
mod transports;
mod unstored_run;
mod warmup;

pub use backend::{Backend, CompletedRun, UnsupportedSetup};
pub use budget::{ResourceLimits, TooLarge, admit, format_bytes};
pub use collectives::CollectiveFacts;
pub use error::LabError;
pub use facts::{GroupFacts, NetworkDrops, RunFacts, paired};
pub use findings::{NEVER_MARKED, NONE_COUNTED, RunFinding, SHORT_WARMUP, UNFINISHED, WRONG_IDEAL};
pub use goodput::DeliveredBytes;
pub use headline::{Headline, SchemeComparison};
pub use merge::{merge, merged, part_runs};
pub use naming::point_text;
pub use outputs::{charts, figures};
pub use part::{PartOutcome, execute_part, part_text};
pub use plan_check::{PlanCheck, TierCheck};
pub use plots::{Sweep, axis_position};
pub use program::program_digest;
pub use queries::QueryFacts;
pub use queues::{ArrivalQueueStats, BufferPoolFacts, QueueClassFacts, QueueFacts};
pub use report::partition_settings;
pub use rerender::rerender_report;
pub use results::Results;
pub use results_json::ResultsJson;
pub use schedule::{OnThread, RunProgress};
pub use session::{ExecuteOptions, default_dir, default_dir_for_backend};
pub use session::{execute, execute_as, simulate, simulate_within};
pub use shown_estimate::{ShownComparison, ShownEstimate, beside_interval, interval_text};
pub use signals::SignalFacts;
pub use srtt::Srtt;
pub use stored::{CompletedExperiment, OutputWriter, load, load_open, rerender_as, verify};
pub use subject::MetricSubject;
pub use summary::SummaryRow;
pub use tails::{FlowSet, PERCENTILES, TailMetric, TailRow};
pub use times::{CompletionTimes, SizeClassFacts};
pub use transport_facts::TransportFacts;
pub use transports::{Mismatch, Transports};
pub use warmup::Transient;

/// Version of the tool.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
