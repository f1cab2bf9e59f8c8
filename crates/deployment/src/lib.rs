//! Mixed deployment: endpoints of a connection, or its neighbours, with different stacks.
//!
//! Contract: a request becomes one plan of ordinary runs, which are scheduled, kept and resumed as
//! any other. All results follow from the tables in the directory and from the thresholds. Other
//! thresholds can thus judge existing runs without running anything.

mod cell;
mod endpoint_stack;
mod estimate;
mod html_page;
mod maps;
mod mechanism;
mod page;
mod pairs;
mod request;
mod rerender;
mod result;
pub mod rollout;
mod run;
mod text_table;
mod thresholds;
mod verdict;

pub use cell::{BottleneckStats, FlowStats, Intervals, MatrixCell};
pub use endpoint_stack::{EndpointStack, EquivalentScheme, registered};
pub use mechanism::{Mechanism, VerdictEvidence};
pub use page::findings;
pub use pairs::{PairMatrix, execute};
pub use rerender::{charts, rerender_report};
pub use result::{MatrixResult, PairRow};
pub use text_table::TextTable;
pub use thresholds::{BUILT_IN_THRESHOLDS, RolloutThresholds, Thresholds};
pub use verdict::{PairFinding, PairVerdict, judge};
