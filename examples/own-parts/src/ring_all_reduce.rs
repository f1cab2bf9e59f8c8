//! Ring all-reduce: the hosts of a ring sum their data, chunk by chunk.
//!
//! ## Algorithm
//! The N hosts of `from` are a ring in their order. Each has `data` bytes in N chunks, and all end
//! with the sum: N - 1 steps of reduce-scatter, then N - 1 steps of all-gather. In each step each
//! host receives one chunk from its predecessor and adds or stores it, 2 (N - 1) chunks in all. No
//! algorithm receives less per host. When a host has finished a step, it grants its predecessor a
//! credit for the next chunk. So the steps of a host are the queries of a closed loop, and their
//! completion times are those of the steps. `rounds` all-reduces follow each other.
//!
//! ## Source
//! P. Patarasu, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations,
//! Journal of Parallel and Distributed Computing 69 (2), 2009. NCCL grants credits in this way.
//!
//! ## Deviations
//! A step begins when the host has finished its last one. In the original it also waits until the
//! predecessor has finished its own. Both agree if all hosts progress equally; here a slow host
//! delays the others only by the traffic in the network.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ValueKind};
use lowtide_traffic::endpoints::self_traffic_error;
use lowtide_traffic::round_robin::START;
use lowtide_traffic::workload::{
    Arrivals, HostSelection, MAX_QUERIES, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry,
    WorkloadError,
};
use lowtide_traffic::{QueryClientSpec, QuerySchedule, queries};
use lowtide_units::{Bytes, Duration, Instant};

/// Bytes of a credit: a short message.
const CREDIT: Bytes = Bytes::new(64);

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "ring-all-reduce",
    summary: "hosts of a ring that sum their data chunk by chunk, as collective communication does",
    spec: "Patarasu and Yuan 2009",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        Param {
            name: "data",
            kind: ValueKind::SIZE,
            default: Required,
            doc: "Bytes of each host, such as the gradients of a model, in equal chunks.",
            source: "Patarasu and Yuan 2009",
        },
        Param {
            name: "reduce-time",
            kind: ValueKind::TIME,
            default: Is("0 s"),
            doc: "Time from the last byte of a chunk to the credit for the next; the host sums.",
            source: "lowtide",
        },
        Param {
            name: "rounds",
            kind: ValueKind::Count { min: 1, max: MAX_QUERIES },
            default: Is("1"),
            doc: "Number of all-reduces, such as training steps.",
            source: "lowtide",
        },
        START,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let ring = &args.sources;
    if *ring != args.destinations {
        let message = format!("[traffic.{}] is a ring, but `from` and `to` differ", args.name);
        return Err(WorkloadError::at("to", message, "name the same hosts in `from` and `to`"));
    }
    let hosts = ring.len() as u64;
    if hosts < 2 {
        return Err(self_traffic_error(args));
    }
    let chunk = Bytes::new(args.values.bytes("data").as_u64().div_ceil(hosts));
    let steps = args.values.count("rounds").saturating_mul(2 * (hosts - 1));
    let schedule = QuerySchedule::ClosedLoop {
        queries: u32::try_from(steps).unwrap_or(u32::MAX),
        pause: args.values.duration("reduce-time"),
    };
    let mut predecessors = ring.iter().cycle().skip(ring.len() - 1);
    queries::client_per_source(args, |_, host| {
        Ok(QueryClientSpec {
            group: args.group,
            client: host,
            start: Instant::ZERO + args.values.duration("start"),
            servers: predecessors.next().copied().into_iter().collect(),
            fan_out: 1,
            request: CREDIT,
            response_sizes: vec![chunk],
            schedule: schedule.clone(),
            jitter: Duration::ZERO,
            deadline: None,
            persistent: true,
        })
    })
}

#[cfg(test)]
mod tests {
    use lowtide_traffic::workload::HostInfo;
    use lowtide_units::Rate;

    use super::*;

    /// Returns the traffic for these hosts in `from` and `to`.
    fn generate(
        from: &[u32],
        to: &[u32],
        given: &[(&str, &str)],
    ) -> Result<Traffic, WorkloadError> {
        let args = WorkloadArgs {
            sources: from.to_vec(),
            destinations: to.to_vec(),
            ..ENTRY.args(given).unwrap()
        };
        let end = Instant::ZERO + Duration::from_secs(1);
        let rate = Rate::from_gbps(10);
        let host = |i| HostInfo { name: format!("gpu.{i}"), rate, rack: 0 };
        let hosts = (0..10).map(host).collect();
        ENTRY.generate(&args, &WorkloadContext { seed: 1, end, load_end: end, hosts })
    }

    #[test]
    fn each_host_gets_two_n_minus_two_chunks_from_its_predecessor() {
        let ring = [5, 7, 6, 9];
        let given = [("data", "4 MB"), ("reduce-time", "10 us"), ("start", "1 ms")];
        let clients = generate(&ring, &ring, &given).unwrap().query_clients;
        let pairs: Vec<_> = clients.iter().map(|c| (c.client, c.servers.clone())).collect();
        assert_eq!(pairs, [(5, vec![9]), (7, vec![5]), (6, vec![7]), (9, vec![6])]);
        let pause = Duration::from_us(10);
        let schedule = QuerySchedule::ClosedLoop { queries: 6, pause };
        assert!(clients.iter().all(|c| c.schedule == schedule && c.fan_out == 1));
        assert!(clients.iter().all(|c| c.response_sizes == [Bytes::new(1_000_000)]));
        assert!(clients.iter().all(|c| c.start.since_start() == Duration::from_ms(1)));
    }

    #[test]
    fn a_chunk_is_rounded_up_and_rounds_repeat_the_steps() {
        let given = [("data", "10 B"), ("rounds", "5")];
        let clients = generate(&[0, 1, 2], &[0, 1, 2], &given).unwrap().query_clients;
        assert_eq!(clients[0].response_sizes, [Bytes::new(4)]);
        assert_eq!(clients[0].queries(), 20);
    }

    #[test]
    fn no_ring_and_too_many_steps_are_refused() {
        for (from, to, part) in [
            (&[][..], &[][..], "to itself"),
            (&[3], &[3], "to itself"),
            (&[0, 1], &[1, 0], "`from` and `to` differ"),
        ] {
            let error = generate(from, to, &[("data", "1 kB")]).unwrap_err();
            assert_eq!(error.key, Some("to"));
            assert!(error.message.contains(part), "{error}");
        }
        let given = [("data", "1 kB"), ("rounds", "10000000")];
        let error = generate(&[0, 1], &[0, 1], &given).unwrap_err();
        assert!(error.message.contains("more than 10000000 queries"), "{error}");
    }
}
