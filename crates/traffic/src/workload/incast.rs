//! A client queries many servers at once and all of them respond at once.
//!
//! ## Algorithm
//! Each client of `from` queries all servers of `to` (except itself) for an equal part of `total`,
//! rounded up to a whole byte. The next query follows the last response. DCTCP §4.2.1: 1 MB from n
//! servers, a thousand times, over persistent connections.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{Param, ValueKind};
use lowtide_units::Bytes;

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::queries::{self, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::round_robin::START;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "incast",
    summary: "clients that each query all servers at once for equal parts of a total",
    spec: "DCTCP §4.2.1",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        Param {
            name: "total",
            kind: ValueKind::SIZE,
            default: Is("1 MB"),
            doc: "Bytes of all answers of a query together; each server sends an equal part.",
            source: "DCTCP §4.2.1",
        },
        REQUEST,
        QUERIES,
        THINK,
        START,
        CONNECTIONS,
        JITTER,
        DEADLINE,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let total = args.values.bytes("total").as_u64();
    queries::client_per_source(args, |_, client| {
        let mut spec = queries::query_client(
            args,
            client,
            queries::servers(args, client)?,
            queries::closed_loop(args),
        );
        spec.response_sizes = vec![Bytes::new(total.div_ceil(u64::from(spec.fan_out)).max(1))];
        Ok(spec)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{generate, generate_err};

    #[test]
    fn each_server_sends_its_part_of_the_total() {
        let args = |servers: u32| WorkloadArgs {
            sources: vec![0],
            destinations: (0..=servers).collect(),
            ..ENTRY.args(&[("total", "1 MB")]).unwrap()
        };
        for (n, part) in [(1, 1_000_000), (3, 333_334), (40, 25_000)] {
            let spec = &generate(&ENTRY, &args(n)).query_clients[0];
            assert_eq!(spec.response_sizes, [Bytes::new(part)]);
            assert_eq!(spec.servers, (1..=n).collect::<Vec<_>>());
            assert_eq!(u64::from(spec.fan_out), spec.connections());
        }
        assert_eq!(generate_err(&ENTRY, &args(0)).key, Some("to"));
    }
}
