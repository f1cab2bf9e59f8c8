//! Every host asks every other at once.
//!
//! ## What it does
//! Each host of `from` asks all hosts of `to` but itself for one answer of each, all from the same
//! moment on: DCTCP §4.2.1 (fig. 20) has 41 hosts that each ask 25 KB of the 40 others.

use super::{HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError};
use crate::queries::{self, ANSWER, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::round_robin::START;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "all-to-all",
    summary: "hosts that all ask each other at once",
    host_selection: HostSelection::FromTo,
    params: &[ANSWER, REQUEST, QUERIES, THINK, START, CONNECTIONS, JITTER, DEADLINE],
    traffic,
};

fn traffic(args: &WorkloadArgs, site: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    queries::client_per_source(args, |i, client| {
        let mut asker = queries::query_client(args, client, queries::servers(args, client)?);
        asker.response_sizes =
            queries::draw_response_sizes(args, site, i, "answer", &asker.schedule)?;
        Ok(asker)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::Bytes;

    use super::*;
    use crate::Cdf;
    use crate::testing::generate;
    use crate::workload::WorkloadParamValue;

    #[test]
    fn each_of_41_hosts_asks_the_40_others() {
        let size = Bytes::new(25_000);
        let hosts: Vec<u32> = (0..41).collect();
        let args = WorkloadArgs {
            sources: hosts.clone(),
            destinations: hosts,
            values: vec![("answer", WorkloadParamValue::Distribution(Arc::new(Cdf::fixed(size))))],
            ..WorkloadArgs::default()
        };
        let made = generate(&ENTRY, &args);
        assert_eq!((made.query_clients.len(), made.connections()), (41, 41 * 40));
        assert!(
            made.query_clients.iter().all(|a| a.fan_out == 40 && !a.servers.contains(&a.client))
        );
        assert!(
            made.query_clients
                .iter()
                .all(|a| a.response_sizes == [size] && a.start == made.query_clients[0].start)
        );
    }
}
