//! One query of a run: its client and the bounds of its completion time.

use lowtide_rows::{FlowStatus, QueryRow};

use super::statistics::Bounded;

/// A query that began after the warm-up.
pub(crate) struct TimedQuery {
    pub(super) group: String,
    /// Number of the client's host.
    pub(super) client: u32,
    /// Completion time, ms.
    pub(super) time: Bounded,
    pub(super) status: FlowStatus,
}

impl TimedQuery {
    /// Reads a query of a run that ended at `ended_ps`; `None` if it began during the warm-up.
    pub(super) fn new(row: &QueryRow, client: u32, ended_ps: u64) -> Option<Self> {
        // Nanoseconds are the parts of a millisecond.
        let scaled = |ps: u64| ps / 1_000;
        let time = match (row.status, row.qct_ps) {
            (FlowStatus::Failed, _) => Bounded { least: u64::MAX, most: u64::MAX },
            (_, Some(qct)) => Bounded { least: scaled(qct), most: scaled(qct) },
            (_, None) => {
                let age = ended_ps.saturating_sub(row.start_ps);
                Bounded { least: scaled(age), most: u64::MAX }
            }
        };
        let query = Self { group: row.group.clone(), client, time, status: row.status };
        (!row.in_warmup).then_some(query)
    }
}
