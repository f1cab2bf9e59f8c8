//! Requests and responses between pairs, in a closed loop.
//!
//! ## Algorithm
//! Client `i` (the `i`-th of `from`) queries one server (the `i`-th of `to`, round robin, never
//! itself), receives a response, thinks, and queries again. DCTCP §4.2.2: 20 KB a thousand times
//! over a persistent connection while two long flows keep the queue full.

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::endpoints::{nth_other, self_traffic_error};
use crate::queries::{self, ANSWER, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::round_robin::START;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "requests",
    summary: "clients that each query one server, closed loop",
    spec: "DCTCP §4.2.2",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[ANSWER, REQUEST, QUERIES, THINK, START, CONNECTIONS, JITTER, DEADLINE],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    queries::client_per_source(args, |i, client| {
        let server = nth_other(&args.destinations, i, client);
        let server = server.ok_or_else(|| self_traffic_error(args))?;
        let mut spec =
            queries::query_client(args, client, vec![server], queries::closed_loop(args));
        spec.response_sizes = queries::draw_response_sizes(args, ctx, i, "answer", &spec.schedule)?;
        Ok(spec)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_schema::Value;
    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::testing::{generate, generate_err};
    use crate::{Cdf, QuerySchedule};

    fn args() -> WorkloadArgs {
        WorkloadArgs {
            sources: vec![0, 1, 2],
            destinations: vec![8, 1],
            ..ENTRY.args(&[("answer", "20 kB"), ("request", "100 B"), ("think", "1 ms")]).unwrap()
        }
    }

    #[test]
    fn each_client_has_one_server_and_none_queries_itself() {
        let clients = generate(&ENTRY, &args()).query_clients;
        let pairs: Vec<_> = clients.iter().map(|a| (a.client, a.servers.clone())).collect();
        assert_eq!(pairs, [(0, vec![8]), (1, vec![8]), (2, vec![8])]);
        assert_eq!(
            clients[0].schedule,
            QuerySchedule::ClosedLoop { queries: 1_000, pause: Duration::from_ms(1) }
        );
        assert_eq!(
            (clients[0].fan_out, clients[0].persistent, clients[0].deadline),
            (1, true, None)
        );
        assert_eq!(clients[0].response_sizes, [Bytes::new(20_000)]);
        let alone = WorkloadArgs { sources: vec![3], destinations: vec![3], ..args() };
        assert_eq!(generate_err(&ENTRY, &alone).key, Some("to"));
    }

    #[test]
    fn drawn_answers_are_one_per_query_and_differ_by_client() {
        let mut args = args();
        let cdf = Cdf::named("web-search-1.6mb").unwrap();
        args.distributions.insert("answer", Arc::new(cdf));
        let clients = generate(&ENTRY, &args).query_clients;
        assert_eq!(clients[0].response_sizes.len(), 1_000);
        assert_ne!(clients[0].response_sizes, clients[1].response_sizes);
    }

    #[test]
    fn fresh_connections_beyond_the_limit_are_rejected() {
        let mut args = args();
        args.values.set("queries", Value::Count(2_000_000));
        assert_eq!(generate(&ENTRY, &args).connections(), 3);
        args.values.set("connections", Value::Name("per-request"));
        let refusal = generate_err(&ENTRY, &args);
        assert!(refusal.message.contains("more than 4000000 connections"), "{refusal}");
    }
}
