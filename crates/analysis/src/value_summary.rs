//! Summary of many values in a report.

use lowtide_units::{LogHistogram, Quantile};
use serde::Serialize;

/// Summary of many values. A quantile that needs more values than there are is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct ValueSummary {
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) p50: Option<u64>,
    pub(super) p99: Option<u64>,
    pub(super) max: u64,
}

impl ValueSummary {
    /// Summarises the values, if there are any.
    pub(super) fn of(values: &LogHistogram) -> Option<Self> {
        Some(Self {
            count: values.count(),
            min: values.min()?,
            p50: values.quantile(Quantile::P50),
            p99: values.quantile(Quantile::P99),
            max: values.max(),
        })
    }
}
