//! Every host queries every other at once.
//!
//! ## Algorithm
//! Each host of `from` queries all hosts of `to` except itself, once each, all from the same time
//! on. DCTCP §4.2.1 (fig. 20): 41 hosts each request 25 KB from the 40 others.

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::queries::{self, ANSWER, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::round_robin::START;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "all-to-all",
    summary: "hosts that all query each other at once",
    spec: "DCTCP §4.2.1 (fig. 20)",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[ANSWER, REQUEST, QUERIES, THINK, START, CONNECTIONS, JITTER, DEADLINE],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    queries::client_per_source(args, |i, client| {
        let mut spec = queries::query_client(
            args,
            client,
            queries::servers(args, client)?,
            queries::closed_loop(args),
        );
        spec.response_sizes = queries::draw_response_sizes(args, ctx, i, "answer", &spec.schedule)?;
        Ok(spec)
    })
}

#[cfg(test)]
mod tests {
    use lowtide_units::Bytes;

    use super::*;
    use crate::testing::generate;

    #[test]
    fn each_of_41_hosts_queries_the_40_others() {
        let size = Bytes::new(25_000);
        let hosts: Vec<u32> = (0..41).collect();
        let args = WorkloadArgs {
            sources: hosts.clone(),
            destinations: hosts,
            ..ENTRY.args(&[("answer", "25 kB")]).unwrap()
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
