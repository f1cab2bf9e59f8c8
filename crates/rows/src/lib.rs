//! The result tables: every column with its name, unit and description, declared once.
//!
//! Contract: a struct of this crate is filled where its values are counted and passed on until
//! `record` writes it; there is no second struct with the same values. Column names follow `ss -ti`
//! and `tcp_info`, with the unit as a suffix. A missing value is null. Every table in a file begins
//! with [`RUN`], [`SCHEME`], the swept keys as text and as number ([`SweptUnit`]), and [`SEED`].

mod catalogue;
mod flow;
mod level;
mod probe;
mod query;
mod question;
mod queue;
mod run;
mod shared_text;
mod swept;
mod table;
mod trace;

pub use catalogue::{CATALOGUE, RUN, SCHEME, SEED, TableDeclaration, table_columns};
pub use flow::{DeploymentClass, EcnCounters, FlowRow, FlowStatus, Role, StallReason, TcpCounters};
pub use level::{Level, LevelWeight};
pub use probe::{DelayRow, ProbeRow, VariableRow};
pub use query::{CollectiveRow, QueryRow};
pub use question::{AskedScheme, ScenarioQuestion};
pub use queue::{
    BufferPoolRow, ClassQueue, ClassRow, LengthStatistics, LevelRow, LinkRow, LossCounters, Queue,
    QueueRow, QueueSampleRow, ServedCounters,
};
pub use run::{EndReason, RunCounts, RunRow};
pub use shared_text::SharedText;
pub use swept::{HostRange, SweptUnit};
pub use table::{Cell, Column, ColumnType, Columns, Row, Value};
pub use trace::{TraceHopRow, TraceSegmentRow, TraceSenderRow};
