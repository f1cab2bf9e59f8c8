//! Bytes that flows from one host to another delivered in one run, and their goodput.

use lowtide_lab::DeliveredBytes;
use lowtide_rows::{FlowRow, Role};
use serde::Serialize;

lowtide_units::named_enum! {
    /// Flows whose goodput a row has.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum GoodputOf ALL {
        /// All flows of the pair together, also answers of queries.
        Pair = "pair",
        /// One flow of the pair without a size: the mean of these.
        UnlimitedFlow = "unlimited-flow",
    }
}

/// Flows from one host to another in one run.
#[derive(Clone, Copy, Default)]
pub(super) struct HostPairFlows {
    all: DeliveredBytes,
    /// Sum of the goodput of unlimited flows, Mbit/s, and their number.
    unlimited: (f64, usize),
}

impl HostPairFlows {
    /// Adds a flow of a run that ended at `ended_ps`.
    pub(super) fn add(&mut self, row: &FlowRow, warmup_ps: u64, ended_ps: u64) {
        let delivered = DeliveredBytes::of_flow(row, warmup_ps, ended_ps);
        self.all = self.all.merge(delivered);
        if row.role == Role::Flow
            && row.size_bytes.is_none()
            && let Some(mbps) = delivered.mbps()
        {
            self.unlimited = (self.unlimited.0 + mbps, self.unlimited.1 + 1);
        }
    }

    /// Returns both together.
    pub(super) fn merge(self, more: Self) -> Self {
        let unlimited = (self.unlimited.0 + more.unlimited.0, self.unlimited.1 + more.unlimited.1);
        Self { all: self.all.merge(more.all), unlimited }
    }

    /// Returns the goodput, Mbit/s; `None` without such flows.
    pub(super) fn mbps(self, of: GoodputOf) -> Option<f64> {
        let (sum, flows) = self.unlimited;
        match of {
            GoodputOf::Pair => self.all.mbps(),
            GoodputOf::UnlimitedFlow => (flows > 0).then(|| sum / flows as f64),
        }
    }
}
