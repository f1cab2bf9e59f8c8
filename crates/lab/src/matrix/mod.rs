//! Mixed deployment: what happens when the two ends of a connection, or its neighbours, run
//! different stacks.
//!
//! Contract: a question becomes one plan of ordinary runs, which are scheduled, kept and continued like
//! any other. Everything that is answered follows from the tables in the directory and from the
//! thresholds, so that other thresholds judge the same runs anew without running anything.

mod again;
mod answer;
mod ask;
mod cell;
mod ends;
mod maps;
mod mechanism;
mod page;
mod pairs;
mod question;
pub mod share;
mod sheet;
mod thresholds;
mod verdict;

pub(crate) use again::rerender;
pub use answer::{MatrixResult, PairRow};
pub use cell::{BottleneckStats, FlowStats, MatrixCell};
pub use ends::{EndpointStack, EquivalentScheme, registered};
pub use mechanism::{Mechanism, VerdictEvidence};
pub use page::findings;
pub use pairs::{PairMatrix, execute};
pub use thresholds::{BUILT_IN_THRESHOLDS, Thresholds};
pub use verdict::{PairFinding, Verdict, judge};
