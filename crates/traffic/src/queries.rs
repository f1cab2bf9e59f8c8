//! Parameters and helpers common to all query workloads.

use lowtide_units::{Bytes, Duration, Instant};

use crate::api::{Traffic, WorkloadArgs, WorkloadContext};
use crate::cdf::CdfKind;
use crate::error::{MAX_CONNECTIONS, MAX_QUERIES, WorkloadError};
use crate::param::{WorkloadParam, WorkloadParamKind};
use crate::{QueryClientSpec, QuerySchedule};

/// `request`.
pub(crate) const REQUEST: WorkloadParam = WorkloadParam {
    name: "request",
    kind: WorkloadParamKind::Size,
    default: Some("1600 B"),
    doc: "Bytes of a request to one server; the default is DCTCP §2.2's.",
};

/// `answer`, which is required.
pub(crate) const ANSWER: WorkloadParam = WorkloadParam {
    name: "answer",
    kind: WorkloadParamKind::Distribution(CdfKind::Size),
    default: None,
    doc: "Bytes of each server's answer: one size, or a distribution drawn once per query (100,000 draws at most, then reused in order).",
};

/// `queries`.
pub(crate) const QUERIES: WorkloadParam = WorkloadParam {
    name: "queries",
    kind: WorkloadParamKind::Count { min: 1, max: MAX_QUERIES },
    default: Some("1000"),
    doc: "Queries of each client; open-loop clients stop earlier when the run ends.",
};

/// `think`.
pub(crate) const THINK: WorkloadParam = WorkloadParam {
    name: "think",
    kind: WorkloadParamKind::Time,
    default: Some("0 s"),
    doc: "Closed loop: time from the last byte of a query's last answer to the next query.",
};

/// `connections`.
pub(crate) const CONNECTIONS: WorkloadParam = WorkloadParam {
    name: "connections",
    kind: WorkloadParamKind::Choice(&["persistent", "per-request"]),
    default: Some("persistent"),
    doc: "`persistent` connections stay open from query to query; with `per-request` each request opens a new one.",
};

/// `jitter`.
pub(crate) const JITTER: WorkloadParam = WorkloadParam {
    name: "jitter",
    kind: WorkloadParamKind::Time,
    default: Some("0 s"),
    doc: "Each request of a query leaves up to this much later, uniformly (DCTCP §2.3.2).",
};

/// `deadline`.
pub(crate) const DEADLINE: WorkloadParam = WorkloadParam {
    name: "deadline",
    kind: WorkloadParamKind::Optional(&WorkloadParamKind::Time),
    default: Some("off"),
    doc: "A query that takes longer misses its deadline but still runs to completion.",
};

/// Returns the servers of a client: all destinations except itself.
pub(crate) fn servers(args: &WorkloadArgs, client: u32) -> Result<Vec<u32>, WorkloadError> {
    let servers: Vec<u32> = args.destinations.iter().copied().filter(|s| *s != client).collect();
    if servers.is_empty() { Err(crate::round_robin::self_traffic_error(args)) } else { Ok(servers) }
}

/// Returns a query client with these parameters that queries all of its servers.
pub(crate) fn query_client(args: &WorkloadArgs, client: u32, servers: Vec<u32>) -> QueryClientSpec {
    QueryClientSpec {
        group: args.group,
        client,
        start: Instant::ZERO + args.time("start"),
        fan_out: u32::try_from(servers.len()).unwrap_or(u32::MAX),
        servers,
        request: args.size("request").unwrap_or(Bytes::new(1)),
        response_sizes: vec![Bytes::new(1)],
        schedule: closed_loop(args),
        jitter: args.time("jitter"),
        deadline: args.time_or_off("deadline"),
        persistent: args.choice("connections") != Some("per-request"),
    }
}

/// Returns the closed loop that `queries` and `think` describe.
pub(crate) fn closed_loop(args: &WorkloadArgs) -> QuerySchedule {
    let queries = u32::try_from(args.count("queries").max(1)).unwrap_or(u32::MAX);
    QuerySchedule::ClosedLoop { queries, pause: args.time("think") }
}

/// Most response sizes drawn for one client; later queries reuse them from the first.
const MAX_RESPONSE_SIZES: u64 = 100_000;

/// Draws the response sizes of the `i`-th client from the distribution under `key`: one per query,
/// or a single one if the distribution is constant.
pub(crate) fn draw_response_sizes(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
    key: &'static str,
    schedule: &QuerySchedule,
) -> Result<Vec<Bytes>, WorkloadError> {
    let (cdf, mut rng) = (args.require_cdf(key)?, args.rng(ctx, i, key));
    let queries = match schedule {
        QuerySchedule::ClosedLoop { queries, .. } => u64::from(*queries),
        QuerySchedule::OpenLoop(times) => times.len() as u64,
    };
    let different = if cdf.is_fixed() { 1 } else { queries.clamp(1, MAX_RESPONSE_SIZES) };
    Ok((0..different).map(|_| cdf.draw_size(&mut rng)).collect())
}

/// Makes a query client for each source; stops once they exceed a limit of the group.
pub(crate) fn client_per_source(
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

/// Returns arrival times from `start` to the end of the run, at most `most`, each a gap after the
/// previous one. The first is one gap after the start.
pub(crate) fn arrival_times(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    most: u64,
    mut gap: impl FnMut() -> Duration,
) -> Result<Vec<Instant>, WorkloadError> {
    let mut at = Instant::ZERO + args.time("start");
    let mut times = Vec::new();
    while (times.len() as u64) < most {
        at += gap();
        if at >= ctx.end {
            break;
        }
        if times.len() as u64 == MAX_QUERIES {
            return Err(WorkloadError::above_limit(&args.name, "queries or flows", MAX_QUERIES));
        }
        times.push(at);
    }
    Ok(times)
}
