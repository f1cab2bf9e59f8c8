//! Queries of an aggregator to its workers: closed loop, Poisson, or with measured gaps.
//!
//! ## Algorithm
//! Each client of `from` queries `fan-out` servers of `to`, drawn for each query, or all if it is
//! off. They respond with `answer-each` bytes each or with equal parts of `answer-total`, rounded
//! up to a whole byte. Queries start when the previous one is complete (`closed`), as a Poisson
//! process, or with gaps drawn from a distribution; each client draws its own. DCTCP §2.2: an
//! aggregator queries the 43 other servers of its rack, which respond with 2 KB each.

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{DistributionOf, Param, ValueKind};
use lowtide_units::{Bytes, Duration};

use super::{
    Arrivals, HostSelection, MAX_QUERIES, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry,
    WorkloadError,
};
use crate::open_loop::{ArrivalLimits, arrival_times};
use crate::queries::{self, CONNECTIONS, DEADLINE, JITTER, QUERIES, REQUEST, THINK};
use crate::round_robin::START;
use crate::{QueryClientSpec, QuerySchedule};

/// Shape of the times between arrivals.
pub(crate) const GAPS: Param = Param {
    name: "gaps",
    kind: ValueKind::Distribution(DistributionOf::Time),
    default: Is("dctcp-query-gaps"),
    doc: "Times from one query or flow of a host to its next: one time, a built-in distribution or a file.",
    source: "DCTCP §2.2, fig. 3; ODCTCP fig. 6.1",
};

/// Mean time between arrivals.
pub(crate) const MEAN_GAP: Param = Param {
    name: "mean-gap",
    kind: ValueKind::Or { kind: &ValueKind::TIME, word: "off" },
    default: Is("off"),
    doc: "Mean time to the next query or flow: `gaps` are stretched to it, and `poisson` needs it.",
    source: "lowtide",
};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "partition-aggregate",
    summary: "clients that query several servers at once, closed loop, Poisson or with measured gaps",
    spec: "DCTCP §2.2",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::OpenLoopUnless("loop", "closed"),
    params: &[
        Param {
            name: "fan-out",
            kind: ValueKind::Or { kind: &ValueKind::Count { min: 1, max: 1_000_000 }, word: "off" },
            default: Is("off"),
            doc: "Servers of a query, drawn for each query; `off` is all.",
            source: "DCTCP §2.2",
        },
        Param {
            name: "answer-each",
            kind: ValueKind::Or {
                kind: &ValueKind::Distribution(DistributionOf::Size),
                word: "off",
            },
            default: Is("off"),
            doc: "Bytes of each server's answer; give this or `answer-total`.",
            source: "DCTCP §2.2",
        },
        Param {
            name: "answer-total",
            kind: ValueKind::Or { kind: &ValueKind::SIZE, word: "off" },
            default: Is("off"),
            doc: "Bytes of all answers of a query, in equal parts.",
            source: "DCTCP §4.2.1",
        },
        Param {
            name: "loop",
            kind: ValueKind::Choice(&["closed", "poisson", "measured"]),
            default: Is("closed"),
            doc: "The next query comes after the last one, as a Poisson process, or with gaps from `gaps`.",
            source: "DCTCP §2.2",
        },
        MEAN_GAP,
        GAPS,
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

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let both = args.values.is_set("answer-each") && args.values.is_set("answer-total");
    if both || !(args.values.is_set("answer-each") || args.values.is_set("answer-total")) {
        let message = if both {
            "the size of the answers is given twice"
        } else {
            "the answers have no size"
        };
        return Err(WorkloadError::at(
            "answer-each",
            message,
            "give `answer-each` or `answer-total`",
        ));
    }
    queries::client_per_source(args, |i, client| one(args, ctx, i, client))
}

fn one(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
    client: u32,
) -> Result<QueryClientSpec, WorkloadError> {
    let servers = queries::servers(args, client)?;
    let all = servers.len() as u64;
    let fan_out = args.values.find_count("fan-out").unwrap_or(all);
    if fan_out > all {
        let message = format!("the fan-out is {fan_out}, but there are only {all} servers");
        return Err(WorkloadError::at(
            "fan-out",
            message,
            "name more hosts in `to`, or lower the fan-out",
        ));
    }
    let mut spec = queries::query_client(args, client, servers, query_schedule(args, ctx, i)?);
    spec.fan_out = fan_out as u32;
    spec.response_sizes = if let Some(total) = args.values.find_bytes("answer-total") {
        vec![Bytes::new(total.as_u64().div_ceil(u64::from(spec.fan_out)).max(1))]
    } else {
        queries::draw_response_sizes(args, ctx, i, "answer-each", &spec.schedule)?
    };
    Ok(spec)
}

fn query_schedule(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
) -> Result<QuerySchedule, WorkloadError> {
    let (every, most) = (args.values.find_duration("mean-gap"), args.values.count("queries"));
    let mut rng = args.rng(ctx, i, "gaps");
    let processes = args.sources.len();
    let limits = ArrivalLimits { most, limit: MAX_QUERIES, what: "queries", processes };
    let arrivals = match args.values.name("loop") {
        "poisson" => {
            let Some(every) = every.filter(|every| *every > Duration::ZERO) else {
                let message = "Poisson queries without the mean time between them";
                return Err(WorkloadError::at("mean-gap", message, "write `mean-gap = \"10 ms\"`"));
            };
            arrival_times(args, ctx, limits, || rng.exponential(every))?
        }
        "measured" => {
            let gaps = args.distribution("gaps")?;
            let gaps = every.map_or_else(|| gaps.clone(), |every| gaps.scaled_to_mean(every));
            arrival_times(args, ctx, limits, || gaps.draw_duration(&mut rng))?
        }
        _ => return Ok(queries::closed_loop(args)),
    };
    Ok(QuerySchedule::OpenLoop(arrivals))
}

#[cfg(test)]
mod tests {
    use lowtide_schema::{Value, Values};
    use lowtide_units::Instant;

    use super::*;
    use crate::testing::{generate, generate_err};

    fn args(more: &[(&str, &str)]) -> WorkloadArgs {
        let given = [more, &[("answer-total", "1 MB"), ("queries", "10000")]].concat();
        WorkloadArgs {
            sources: vec![0, 1],
            destinations: (0..44).collect(),
            ..ENTRY.args(&given).unwrap()
        }
    }

    fn times(spec: &QueryClientSpec) -> &[Instant] {
        match &spec.schedule {
            QuerySchedule::OpenLoop(arrivals) => &arrivals.times,
            QuerySchedule::ClosedLoop { .. } => panic!("closed"),
        }
    }

    #[test]
    fn a_query_goes_to_all_servers_or_to_fan_out_of_them() {
        let all = generate(&ENTRY, &args(&[])).query_clients;
        assert_eq!((all[1].fan_out, all[1].response_sizes[0]), (43, Bytes::new(23_256)));
        assert!(matches!(all[1].schedule, QuerySchedule::ClosedLoop { queries: 10_000, .. }));
        let some = generate(&ENTRY, &args(&[("fan-out", "10")])).query_clients;
        assert_eq!((some[0].fan_out, some[0].servers.len()), (10, 43));
        assert_eq!(some[0].response_sizes, [Bytes::new(100_000)]);
        let refusal = generate_err(&ENTRY, &args(&[("fan-out", "44")]));
        assert_eq!(refusal.key, Some("fan-out"));
    }

    #[test]
    fn a_wrong_loop_is_no_panic() {
        let of = |name| ENTRY.is_open_loop(&args(&[("loop", name)]).values);
        assert!(!of("closed") && of("poisson"));
        // The reader of a scenario leaves out a value that it refuses.
        assert!(ENTRY.is_open_loop(&Values::default()));
    }

    #[test]
    fn poisson_queries_come_at_their_rate_until_the_end_and_differ_by_client() {
        let every = ("mean-gap", "2 ms");
        let poisson = args(&[("loop", "poisson"), every]);
        let clients = generate(&ENTRY, &poisson).query_clients;
        let n = times(&clients[0]).len();
        // 5000 expected, five standard deviations of 71.
        assert!((4_646..=5_354).contains(&n), "{n}");
        assert!(times(&clients[0]).is_sorted());
        assert!(times(&clients[0])[n - 1].since_start() < Duration::from_secs(10));
        assert_ne!(times(&clients[0]), times(&clients[1]));
        let without = args(&[("loop", "poisson")]);
        assert_eq!(generate_err(&ENTRY, &without).key, Some("mean-gap"));
    }

    #[test]
    fn measured_gaps_are_stretched_to_a_mean() {
        let every = ("mean-gap", "2 ms");
        let measured = args(&[("loop", "measured"), every]);
        let n = times(&generate(&ENTRY, &measured).query_clients[0]).len();
        assert!((4_500..=5_500).contains(&n), "{n}");
    }

    #[test]
    fn answers_need_one_size() {
        let both = args(&[("answer-each", "2 kB")]);
        assert!(generate_err(&ENTRY, &both).message.contains("given twice"));
        let mut none = args(&[]);
        none.values.set("answer-total", Value::Name("off"));
        assert!(generate_err(&ENTRY, &none).message.contains("no size"));
    }
}
