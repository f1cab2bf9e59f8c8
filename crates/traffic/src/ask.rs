//! What all workloads of queries share: how large, how often, over which connections.

use lowtide_sim::Rng;
use lowtide_units::{Bytes, Duration, Instant};

use crate::cdf::{Cdf, Measure};
use crate::workload::{Args, MOST_QUERIES, Param, ParamKind, Refusal, Site};
use crate::{Asker, Asks};

/// `request`.
pub(crate) const REQUEST: Param = Param {
    name: "request",
    kind: ParamKind::Size,
    default: Some("1600 B"),
    doc: "Bytes of a request to one server; the default is DCTCP §2.2's.",
};

/// `answer`, which must be given.
pub(crate) const ANSWER: Param = Param {
    name: "answer",
    kind: ParamKind::Distribution(Measure::Size),
    default: None,
    doc: "Bytes of the answer of each server: one size, or a distribution from which each query draws one.",
};

/// `queries`.
pub(crate) const QUERIES: Param = Param {
    name: "queries",
    kind: ParamKind::Count { min: 1, max: MOST_QUERIES },
    default: Some("1000"),
    doc: "How many queries each client asks; open-loop clients stop earlier when the run ends.",
};

/// `think`.
pub(crate) const THINK: Param = Param {
    name: "think",
    kind: ParamKind::Time,
    default: Some("0 s"),
    doc: "Closed loop: time from the last byte of a query's last answer to the next query.",
};

/// `connections`.
pub(crate) const CONNECTIONS: Param = Param {
    name: "connections",
    kind: ParamKind::Choice(&["standing", "fresh"]),
    default: Some("standing"),
    doc: "Connections stay open from query to query, or each request opens one of its own.",
};

/// `jitter`.
pub(crate) const JITTER: Param = Param {
    name: "jitter",
    kind: ParamKind::Time,
    default: Some("0 s"),
    doc: "Each request of a query leaves up to this much later, uniformly (DCTCP §2.3.2).",
};

/// `deadline`.
pub(crate) const DEADLINE: Param = Param {
    name: "deadline",
    kind: ParamKind::Optional(&ParamKind::Time),
    default: Some("off"),
    doc: "A query that takes longer has missed it; it goes on all the same.",
};

/// The servers of a client: the destinations but itself.
pub(crate) fn servers(args: &Args, client: u32) -> Result<Vec<u32>, Refusal> {
    let servers: Vec<u32> = args.destinations.iter().copied().filter(|s| *s != client).collect();
    if servers.is_empty() { Err(crate::deal::to_itself(args)) } else { Ok(servers) }
}

/// The asker that most of these parameters describe: one that asks all of its servers.
pub(crate) fn asker(args: &Args, client: u32, servers: Vec<u32>) -> Asker {
    Asker {
        group: args.group,
        client,
        start: Instant::ZERO + args.time("start"),
        fan_out: u32::try_from(servers.len()).unwrap_or(u32::MAX),
        servers,
        request: args.size("request").unwrap_or(Bytes::new(1)),
        answers: vec![Bytes::new(1)],
        asks: closed(args),
        jitter: args.time("jitter"),
        deadline: args.time_or_off("deadline"),
        standing: args.choice("connections") != Some("fresh"),
    }
}

/// Closed loop, as `queries` and `think` say.
pub(crate) fn closed(args: &Args) -> Asks {
    let queries = u32::try_from(args.count("queries").max(1)).unwrap_or(u32::MAX);
    Asks::Closed { queries, pause: args.time("think") }
}

/// The answers of so many queries: as many as that, or one when all are alike.
pub(crate) fn answers(cdf: &Cdf, queries: u64, rng: &mut Rng) -> Vec<Bytes> {
    let different = if cdf.is_fixed() { 1 } else { queries.clamp(1, MOST_QUERIES) };
    (0..different).map(|_| cdf.size(rng)).collect()
}

/// Times from `start` to the end of the run, each a gap after the one before, `most` at most. The first
/// comes one gap after the start.
pub(crate) fn times(
    args: &Args,
    site: &Site,
    most: u64,
    mut gap: impl FnMut() -> Duration,
) -> Result<Vec<Instant>, Refusal> {
    let mut at = Instant::ZERO + args.time("start");
    let mut times = Vec::new();
    while (times.len() as u64) < most {
        at += gap();
        if at >= site.end {
            break;
        }
        if times.len() as u64 == MOST_QUERIES {
            return Err(Refusal::too_many(args, "queries or flows", MOST_QUERIES));
        }
        times.push(at);
    }
    Ok(times)
}
