//! The measured mix of DCTCP: queries, short messages and updates of a rack.
//!
//! ## Algorithm
//! DCTCP §4.3, with the distributions of §2.2. Each server of `from` queries all the others, with
//! measured gaps. It starts background flows with measured gaps and sizes, drawn independently
//! (footnote 11). With probability `inter-rack` a background flow is between the server and a host
//! of `to`, which represents the rest of the data centre; half of these flows are inbound
//! ("directed to/from this machine"). Other background flows go to another server of `from`. Flows
//! above 1 MB are updates; `update-factor` multiplies their sizes (10 in the scaled benchmark).

use lowtide_schema::DefaultValue::Is;
use lowtide_schema::{DistributionOf, Param, ValueKind};
use lowtide_units::Bytes;

use super::{
    Arrivals, HostSelection, MAX_QUERIES, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry,
    WorkloadError,
};
use crate::endpoints::{random_other, self_traffic_error};
use crate::open_loop::{ArrivalLimits, arrival_times};
use crate::queries::{self, CONNECTIONS, DEADLINE, JITTER, REQUEST};
use crate::round_robin::START;
use crate::{Cdf, Flow, QueryClientSpec, QuerySchedule, WritePattern};

/// Larger background flows are updates (DCTCP §4.3).
const UPDATE: u64 = 1_000_000;

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "cluster",
    summary: "DCTCP's benchmark: queries, short messages and updates with measured distributions",
    spec: "DCTCP §4.3",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::OpenLoop,
    params: &[
        Param {
            name: "query-gaps",
            kind: ValueKind::Distribution(DistributionOf::Time),
            default: Is("dctcp-query-gaps"),
            doc: "Times between the queries of one server.",
            source: "DCTCP §2.2, fig. 3",
        },
        Param {
            name: "query-mean-gap",
            kind: ValueKind::Or { kind: &ValueKind::TIME, word: "off" },
            default: Is("off"),
            doc: "Stretches `query-gaps` to this mean.",
            source: "lowtide",
        },
        Param {
            name: "query-answer",
            kind: ValueKind::Distribution(DistributionOf::Size),
            default: Is("2 kB"),
            doc: "Bytes of each server's answer; 25 kB in the scaled benchmark.",
            source: "DCTCP §4.3",
        },
        Param {
            name: "background-gaps",
            kind: ValueKind::Distribution(DistributionOf::Time),
            default: Is("dctcp-background-gaps"),
            doc: "Times between the background flows of one server.",
            source: "DCTCP §2.2, fig. 3",
        },
        Param {
            name: "background-mean-gap",
            kind: ValueKind::Or { kind: &ValueKind::TIME, word: "off" },
            default: Is("off"),
            doc: "Stretches `background-gaps` to this mean.",
            source: "lowtide",
        },
        Param {
            name: "background-sizes",
            kind: ValueKind::Distribution(DistributionOf::Size),
            default: Is("dctcp-background-sizes"),
            doc: "Payload bytes of the background flows.",
            source: "DCTCP §2.2, fig. 4",
        },
        Param {
            name: "update-factor",
            kind: ValueKind::Count { min: 1, max: 1_000 },
            default: Is("1"),
            doc: "Multiplies the sizes of background flows above 1 MB.",
            source: "DCTCP §4.3",
        },
        Param {
            name: "inter-rack",
            kind: ValueKind::SHARE,
            default: Is("50 %"),
            doc: "Share of background flows between a server and `to`; the paper measured but does not report it.",
            source: "DCTCP §4.3; the default is lowtide",
        },
        REQUEST,
        START,
        CONNECTIONS,
        JITTER,
        DEADLINE,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    if let Some(both) = args.sources.iter().find(|s| args.destinations.contains(s)) {
        let name = ctx.hosts.get(*both as usize).map_or("?", |h| h.name.as_str());
        let message = format!("`{name}` is both in the rack (`from`) and outside of it (`to`)");
        return Err(WorkloadError::at("to", message, "name the hosts outside the rack in `to`"));
    }
    let mut made = queries::client_per_source(args, |i, server| queries(args, ctx, i, server))?;
    for (i, server) in (0..).zip(&args.sources) {
        background(args, ctx, i, *server, &mut made)?;
        made.check_limits(args)?;
    }
    // Sorted by start; ties are in the order of the servers.
    made.flows.sort_by_key(|f| f.start);
    made.load.sort_by_key(|f| f.start);
    Ok(made)
}

/// Returns the limits of one server's queries or background flows.
fn limits(args: &WorkloadArgs, what: &'static str) -> ArrivalLimits {
    ArrivalLimits { most: u64::MAX, limit: MAX_QUERIES, what, processes: args.sources.len() }
}

/// Returns the distribution of the gaps, scaled if a mean is given.
fn gaps(args: &WorkloadArgs, name: &'static str, every: &str) -> Result<Cdf, WorkloadError> {
    let gaps = args.distribution(name)?;
    Ok(args
        .values
        .find_duration(every)
        .map_or_else(|| gaps.clone(), |every| gaps.scaled_to_mean(every)))
}

fn queries(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
    server: u32,
) -> Result<QueryClientSpec, WorkloadError> {
    let others: Vec<u32> = args.sources.iter().copied().filter(|s| *s != server).collect();
    if others.is_empty() {
        let help = "name two servers or more in `from`";
        return Err(WorkloadError::at("to", "a single server has no server to query", help));
    }
    let mut rng = args.rng(ctx, i, "query-gaps");
    let gaps = gaps(args, "query-gaps", "query-mean-gap")?;
    let draw = || gaps.draw_duration(&mut rng);
    let arrivals = arrival_times(args, ctx, limits(args, "queries"), draw)?;
    let mut spec = queries::query_client(args, server, others, QuerySchedule::OpenLoop(arrivals));
    spec.response_sizes =
        queries::draw_response_sizes(args, ctx, i, "query-answer", &spec.schedule)?;
    Ok(spec)
}

/// Adds the background flows of a server.
fn background(
    args: &WorkloadArgs,
    ctx: &WorkloadContext,
    i: u64,
    server: u32,
    made: &mut Traffic,
) -> Result<(), WorkloadError> {
    let gaps = gaps(args, "background-gaps", "background-mean-gap")?;
    let drawn = args.distribution("background-sizes")?;
    let mut rng = args.rng(ctx, i, "background-gaps");
    let draw = || gaps.draw_duration(&mut rng);
    let arrivals = arrival_times(args, ctx, limits(args, "flows"), draw)?;
    let (mut sizes, mut ends) = (args.rng(ctx, i, "sizes"), args.rng(ctx, i, "ends"));
    let outside = u64::try_from(args.values.fraction("inter-rack").as_ppb()).unwrap_or(0);
    let flow = |start| {
        let size = drawn.draw(&mut sizes);
        let factor = if size > UPDATE { args.values.count("update-factor") } else { 1 };
        let (src, dst) = if ends.chance(outside) {
            let far = random_other(&mut ends, &args.destinations, server)?;
            if ends.below(2) == 0 { (server, far) } else { (far, server) }
        } else {
            (server, random_other(&mut ends, &args.sources, server)?)
        };
        let size = Some(Bytes::new(size.saturating_mul(factor)));
        Some(Flow { group: args.group, src, dst, size, start, write_pattern: WritePattern::Bulk })
    };
    let flows = arrivals.times.into_iter().map(flow).collect::<Option<Vec<Flow>>>();
    let mut flows = flows.ok_or_else(|| self_traffic_error(args))?;
    made.load.extend(flows.drain(arrivals.counted..));
    made.flows.append(&mut flows);
    made.limit_load(arrivals.until);
    Ok(())
}

#[cfg(test)]
mod tests {
    use lowtide_schema::Value;
    use lowtide_units::{Duration, Instant};

    use super::*;
    use crate::testing::{context, generate_err};

    /// The benchmark of §4.3 and a run of ten minutes.
    fn benchmark() -> (WorkloadArgs, WorkloadContext) {
        let args = WorkloadArgs {
            sources: (0..45).collect(),
            destinations: vec![45],
            ..ENTRY.args(&[]).unwrap()
        };
        let end = Instant::ZERO + Duration::from_secs(600);
        (args, WorkloadContext { end, ..context(46, 1) })
    }

    #[test]
    fn ten_minutes_have_the_papers_number_of_flows_and_queries() {
        let (args, ctx) = benchmark();
        let made = ENTRY.generate(&args, &ctx).unwrap();
        let queries: u64 = made.query_clients.iter().map(QueryClientSpec::queries).sum();
        // "over 200,000 background flows and over 188,000 queries", within five standard
        // deviations: gaps have a coefficient of variation of about 4 for the flows, 1 for the
        // queries.
        assert!((191_000..=209_000).contains(&made.flows.len()), "{}", made.flows.len());
        assert!((185_800..=190_200).contains(&queries), "{queries}");
        assert!(
            made.query_clients.iter().all(|a| a.fan_out == 44 && !a.servers.contains(&a.client))
        );
        assert_eq!(made.connections(), 45 * 44 + made.flows.len() as u64);
        assert!(made.flows.is_sorted_by_key(|f| f.start));
        assert!(made.flows.iter().all(|f| f.src != f.dst));
        let share = |n: usize| n * 1_000 / made.flows.len();
        let outside = made.flows.iter().filter(|f| f.src == 45 || f.dst == 45).count();
        let inward = made.flows.iter().filter(|f| f.src == 45).count();
        assert!((490..=510).contains(&share(outside)), "{}", share(outside));
        assert!((240..=260).contains(&share(inward)), "{}", share(inward));
    }

    #[test]
    fn larger_updates_make_the_background_ten_times_as_large_and_leave_the_rest() {
        let (mut args, ctx) = benchmark();
        let before = ENTRY.generate(&args, &ctx).unwrap();
        args.values.set("update-factor", Value::Count(10));
        let after = ENTRY.generate(&args, &ctx).unwrap();
        let bytes = |t: &Traffic| t.flows.iter().map(|f| f.size.unwrap().as_u64()).sum::<u64>();
        let times = bytes(&after) * 100 / bytes(&before);
        // "this effectively increases the volume of background traffic by a factor of 10".
        assert!((940..=1_000).contains(&times), "{times} hundredths");
        assert_eq!(before.query_clients, after.query_clients);
        let short =
            |t: &Traffic| t.flows.iter().filter(|f| f.size.unwrap().as_u64() <= UPDATE).count();
        assert_eq!(short(&before), short(&after));
    }

    #[test]
    fn few_large_flows_are_active_at_once() {
        let (args, ctx) = benchmark();
        let window = 50_000_000_000;
        let mut counts = vec![[0_u32; 45]; 12_400];
        for flow in ENTRY.generate(&args, &ctx).unwrap().flows {
            let size = flow.size.unwrap();
            if size.as_u64() <= UPDATE {
                continue;
            }
            // Flow completion time on an otherwise idle line.
            let end = flow.start + lowtide_units::Rate::from_gbps(1).serialization(size);
            for at in flow.start.as_ps() / window..=end.as_ps() / window {
                for host in [flow.src, flow.dst].into_iter().filter(|h| *h < 45) {
                    counts[at as usize][host as usize] += 1;
                }
            }
        }
        let mut active: Vec<u32> = counts.into_iter().flatten().filter(|n| *n > 0).collect();
        active.sort_unstable();
        let quantile = |percent: usize| active[active.len() * percent / 100];
        // §2.2, flows above 1 MB active during 50 ms: "the median number of concurrent large flows
        // is 1, and the 75th percentile is 2". This must exclude windows without one: 13 MB/s of
        // background per server leave most windows empty.
        assert_eq!((quantile(50), quantile(75)), (1, 2));
    }

    #[test]
    fn a_mean_can_be_given_and_wrong_hosts_are_refused() {
        let (mut args, ctx) = benchmark();
        args.values.set("query-mean-gap", Value::Duration(Duration::from_ms(1_436)));
        let made = ENTRY.generate(&args, &ctx).unwrap();
        let queries: u64 = made.query_clients.iter().map(QueryClientSpec::queries).sum();
        assert!((18_100..=19_500).contains(&queries), "{queries}");
        let (one, _) = benchmark();
        let alone = WorkloadArgs { sources: vec![0], ..one.clone() };
        assert!(generate_err(&ENTRY, &alone).message.contains("no server to query"));
        let inside = WorkloadArgs { destinations: vec![3], ..one };
        assert!(generate_err(&ENTRY, &inside).message.contains("`h.3`"));
    }
}
