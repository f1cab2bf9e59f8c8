//! One query of a run: its client and its completion time.

use lowtide_rows::QueryRow;
use lowtide_stats::Observation;

use super::outcome::observe;

/// A query that began after the warm-up.
pub(crate) struct TimedQuery {
    /// Its number and that of its query client, equal at every share.
    pub(super) id: [u32; 2],
    pub(super) group: String,
    /// Number of the client's host.
    pub(super) client: u32,
    /// Completion time, ms.
    pub(super) time: Observation,
}

impl TimedQuery {
    /// Reads a query of a run that ended at `ended_ps`; `None` if it began during the warm-up.
    pub(super) fn new(row: &QueryRow, client: u32, ended_ps: u64) -> Option<Self> {
        let age = ended_ps.checked_sub(row.start_ps).filter(|_| row.is_counted())?;
        let time = observe(row.status, row.qct_ps, age, |ps| ps as f64 / 1e9);
        Some(Self { id: [row.query_client, row.query], group: row.group.clone(), client, time })
    }
}
