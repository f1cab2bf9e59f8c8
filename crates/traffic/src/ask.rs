//! What all workloads of queries share: how large, how often, over which connections.

use lowtide_units::{Bytes, Duration, Instant};

use crate::api::{Args, Site, Traffic};
use crate::cdf::Measure;
use crate::param::{Param, ParamKind};
use crate::refusal::{MOST_CONNECTIONS, MOST_QUERIES, Refusal};
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
    doc: "Bytes of the answer of each server: one size, or a distribution from which each query draws one (100,000 at most, then in turn).",
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

/// Most answers that are drawn for one client; further queries use them again from the first.
const MOST_ANSWERS: u64 = 100_000;

/// The answers of the `i`-th client, drawn from the distribution under `key`: one of each query, or one
/// in all when they are alike.
pub(crate) fn answers(
    args: &Args,
    site: &Site,
    i: u64,
    key: &'static str,
    asks: &Asks,
) -> Result<Vec<Bytes>, Refusal> {
    let (cdf, mut rng) = (args.drawn(key)?, args.rng(site, i, key));
    let queries = match asks {
        Asks::Closed { queries, .. } => u64::from(*queries),
        Asks::At(times) => times.len() as u64,
    };
    let different = if cdf.is_fixed() { 1 } else { queries.clamp(1, MOST_ANSWERS) };
    Ok((0..different).map(|_| cdf.size(&mut rng)).collect())
}

/// An asker for each source; stops as soon as they are more than a group may have.
pub(crate) fn each(
    args: &Args,
    mut asker: impl FnMut(u64, u32) -> Result<Asker, Refusal>,
) -> Result<Traffic, Refusal> {
    let mut made = Traffic::default();
    let (mut connections, mut queries) = (0_u64, 0_u64);
    for (i, client) in (0..).zip(&args.sources) {
        let asker = asker(i, *client)?;
        connections = connections.saturating_add(asker.connections());
        queries = queries.saturating_add(asker.queries());
        made.askers.push(asker);
        if connections > MOST_CONNECTIONS || queries > MOST_QUERIES {
            made.bounded(args)?;
        }
    }
    Ok(made)
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
            return Err(Refusal::too_many(&args.name, "queries or flows", MOST_QUERIES));
        }
        times.push(at);
    }
    Ok(times)
}
