//! Parameters and helpers common to all query workloads.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{DistributionOf, Param, ValueKind};
use lowtide_units::{Bytes, Instant};

use crate::api::{Traffic, WorkloadArgs, WorkloadContext};
use crate::endpoints::self_traffic_error;
use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
use crate::{QueryClientSpec, QuerySchedule};

/// `request`.
pub const REQUEST: Param = Param {
    name: "request",
    kind: ValueKind::SIZE,
    default: Is("1600 B"),
    doc: "Bytes of a request to one server; the default is DCTCP §2.2's.",
    source: "DCTCP §2.2",
};

/// `answer`, which is required.
pub const ANSWER: Param = Param {
    name: "answer",
    kind: ValueKind::Distribution(DistributionOf::Size),
    default: Required,
    doc: "Bytes of each server's answer: one size, or a distribution drawn once per query (100,000 draws at most, then reused in order).",
    source: "DCTCP §4.2",
};

/// `queries`.
pub const QUERIES: Param = Param {
    name: "queries",
    kind: ValueKind::Count { min: 1, max: MAX_QUERIES },
    default: Is("1000"),
    doc: "Queries of each client; open-loop clients stop earlier when the run ends.",
    source: "DCTCP §4.2.1",
};

/// `think`.
pub const THINK: Param = Param {
    name: "think",
    kind: ValueKind::TIME,
    default: Is("0 s"),
    doc: "Closed loop: time from the last byte of a query's last answer to the next query.",
    source: "lowtide",
};

/// `connections`.
pub const CONNECTIONS: Param = Param {
    name: "connections",
    kind: ValueKind::Choice(&["persistent", "per-request"]),
    default: Is("persistent"),
    doc: "`persistent` connections stay open from query to query; with `per-request` each request opens a new one.",
    source: "DCTCP §4.2.1",
};

/// `jitter`.
pub const JITTER: Param = Param {
    name: "jitter",
    kind: ValueKind::TIME,
    default: Is("0 s"),
    doc: "Each request of a query leaves up to this much later, uniformly (DCTCP §2.3.2).",
    source: "DCTCP §2.3.2",
};

/// `deadline`.
pub const DEADLINE: Param = Param {
    name: "deadline",
    kind: ValueKind::Or { kind: &ValueKind::TIME, word: "off" },
    default: Is("off"),
    doc: "A query that takes longer misses its deadline but still runs to completion.",
    source: "DCTCP §2.1",
};

/// Returns the servers of a client: all destinations except itself.
///
/// # Errors
/// There is no other host.
pub fn servers(args: &WorkloadArgs, client: u32) -> Result<Vec<u32>, WorkloadError> {
    let servers: Vec<u32> = args.destinations.iter().copied().filter(|s| *s != client).collect();
    if servers.is_empty() { Err(self_traffic_error(args)) } else { Ok(servers) }
}

/// Returns a query client that queries all of `servers`, each for one byte; the caller sets
/// `response_sizes`, and `fan_out` if it is less. The workload declares [`START`], [`REQUEST`],
/// [`JITTER`], [`DEADLINE`] and [`CONNECTIONS`].
///
/// [`START`]: crate::round_robin::START
pub fn query_client(
    args: &WorkloadArgs,
    client: u32,
    servers: Vec<u32>,
    schedule: QuerySchedule,
) -> QueryClientSpec {
    QueryClientSpec {
        group: args.group,
        client,
        start: Instant::ZERO + args.values.duration("start"),
        fan_out: u32::try_from(servers.len()).unwrap_or(u32::MAX),
        servers,
        request: args.values.bytes("request"),
        response_sizes: vec![Bytes::new(1)],
        schedule,
        jitter: args.values.duration("jitter"),
        deadline: args.values.find_duration("deadline"),
        persistent: args.values.name("connections") != "per-request",
    }
}

/// Returns the closed loop that [`QUERIES`] and [`THINK`] describe.
pub fn closed_loop(args: &WorkloadArgs) -> QuerySchedule {
    let queries = u32::try_from(args.values.count("queries")).unwrap_or(u32::MAX);
    QuerySchedule::ClosedLoop { queries, pause: args.values.duration("think") }
}

/// Most response sizes drawn for one client; later queries reuse them from the first.
const MAX_RESPONSE_SIZES: u64 = 100_000;

/// Draws the response sizes of the `i`-th client from the distribution under `key`: one per query,
/// or a single one if the distribution is constant.
///
/// # Errors
/// The workload has no distribution under `key`.
pub fn draw_response_sizes(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
    key: &'static str,
    schedule: &QuerySchedule,
) -> Result<Vec<Bytes>, WorkloadError> {
    let (cdf, mut rng) = (args.distribution(key)?, args.rng(ctx, i, key));
    let queries = schedule.queries() as u64;
    let different = if cdf.is_fixed() { 1 } else { queries.clamp(1, MAX_RESPONSE_SIZES) };
    Ok((0..different).map(|_| cdf.draw_size(&mut rng)).collect())
}

/// Makes a query client for each source: `make` gets its index and the host. Stops once the clients
/// exceed a limit of the group.
///
/// # Errors
/// The first error of `make`, or a limit.
pub fn client_per_source(
    args: &WorkloadArgs,
    mut make: impl FnMut(u64, u32) -> Result<QueryClientSpec, WorkloadError>,
) -> Result<Traffic, WorkloadError> {
    let mut traffic = Traffic::default();
    let (mut connections, mut queries) = (0_u64, 0_u64);
    for (i, client) in (0..).zip(&args.sources) {
        let spec = make(i, *client)?;
        connections = connections.saturating_add(spec.connections());
        queries = queries.saturating_add(spec.queries());
        traffic.query_clients.push(spec);
        if connections > MAX_CONNECTIONS || queries > MAX_QUERIES {
            traffic.check_limits(args)?;
        }
    }
    Ok(traffic)
}
