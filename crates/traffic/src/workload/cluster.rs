//! The measured mix of DCTCP: queries, short messages and updates of a rack.
//!
//! ## What it does
//! DCTCP §4.3, from the distributions of §2.2. Each server of `from` asks all the others for an answer,
//! with measured gaps, and starts background flows with measured gaps and sizes, each drawn on its own
//! (the paper's footnote 11). A background flow goes to another server of `from`, or with probability
//! `inter-rack` between the server and a host of `to`, which stands for the rest of the data centre; half
//! of these come from there ("directed to/from this machine"). Flows above 1 MB are updates;
//! `update-factor` multiplies their sizes (10 in the scaled benchmark).

use lowtide_units::{Bytes, Parts};

use super::poisson::one_of;
use super::{Args, Ends, Entry, Param, ParamKind, Refusal, Site, Traffic};
use crate::ask::{self, CONNECTIONS, DEADLINE, JITTER, REQUEST};
use crate::cdf::Measure;
use crate::deal::{START, to_itself};
use crate::{Asker, Asks, Cdf, Flow, Source};

/// Larger background flows are updates (DCTCP §4.3).
const UPDATE: u64 = 1_000_000;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "cluster",
    summary: "DCTCP's benchmark: queries, short messages and updates with measured distributions",
    ends: Ends::FromTo,
    params: &[
        Param {
            name: "query-gaps",
            kind: ParamKind::Distribution(Measure::Time),
            default: Some("dctcp-query-gaps"),
            doc: "Times between the queries of one server.",
        },
        Param {
            name: "query-every",
            kind: ParamKind::Optional(&ParamKind::Time),
            default: Some("off"),
            doc: "Stretches `query-gaps` to this mean.",
        },
        Param {
            name: "query-answer",
            kind: ParamKind::Distribution(Measure::Size),
            default: Some("2 kB"),
            doc: "Bytes of the answer of each server; 25 kB in the scaled benchmark.",
        },
        Param {
            name: "background-gaps",
            kind: ParamKind::Distribution(Measure::Time),
            default: Some("dctcp-background-gaps"),
            doc: "Times between the background flows of one server.",
        },
        Param {
            name: "background-every",
            kind: ParamKind::Optional(&ParamKind::Time),
            default: Some("off"),
            doc: "Stretches `background-gaps` to this mean.",
        },
        Param {
            name: "background-sizes",
            kind: ParamKind::Distribution(Measure::Size),
            default: Some("dctcp-background-sizes"),
            doc: "Payload bytes of the background flows.",
        },
        Param {
            name: "update-factor",
            kind: ParamKind::Count { min: 1, max: 1_000 },
            default: Some("1"),
            doc: "Background flows above 1 MB are so many times as large.",
        },
        Param {
            name: "inter-rack",
            kind: ParamKind::Parts { min: Parts::ZERO, max: Parts::ONE },
            default: Some("50 %"),
            doc: "Share of the background flows between a server and `to`; the paper measured it and does not say it.",
        },
        REQUEST,
        START,
        CONNECTIONS,
        JITTER,
        DEADLINE,
    ],
    traffic,
};

fn traffic(args: &Args, site: &Site) -> Result<Traffic, Refusal> {
    if let Some(both) = args.sources.iter().find(|s| args.destinations.contains(s)) {
        let name = site.hosts.get(*both as usize).map_or("?", |h| h.name.as_str());
        let message =
            format!("`{name}` is a server of the rack and stands for what is outside of it");
        return Err(Refusal::at("to", message, "name the hosts outside the rack in `to`"));
    }
    let mut made = ask::each(args, |i, server| queries(args, site, i, server))?;
    for (i, server) in (0..).zip(&args.sources) {
        made.flows.append(&mut background(args, site, i, *server)?);
        made.bounded(args)?;
    }
    // In the order in which they start; those of one moment in the order of the servers.
    made.flows.sort_by_key(|f| f.start);
    Ok(made)
}

/// The distribution of the times between events, stretched where the mean is given.
fn gaps(args: &Args, name: &'static str, every: &str) -> Result<Cdf, Refusal> {
    let gaps = args.drawn(name)?;
    Ok(args.time_or_off(every).map_or_else(|| gaps.clone(), |every| gaps.stretched_to(every)))
}

fn queries(args: &Args, site: &Site, i: u64, server: u32) -> Result<Asker, Refusal> {
    let others: Vec<u32> = args.sources.iter().copied().filter(|s| *s != server).collect();
    if others.is_empty() {
        let help = "name two servers or more in `from`";
        return Err(Refusal::at("to", "a server alone has nobody to ask", help));
    }
    let mut asker = ask::asker(args, server, others);
    let mut rng = args.rng(site, i, "query-gaps");
    let gaps = gaps(args, "query-gaps", "query-every")?;
    asker.asks = Asks::At(ask::times(args, site, u64::MAX, || gaps.span(&mut rng))?);
    asker.answers = ask::answers(args, site, i, "query-answer", &asker.asks)?;
    Ok(asker)
}

fn background(args: &Args, site: &Site, i: u64, server: u32) -> Result<Vec<Flow>, Refusal> {
    let gaps = gaps(args, "background-gaps", "background-every")?;
    let drawn = args.drawn("background-sizes")?;
    let mut rng = args.rng(site, i, "background-gaps");
    let times = ask::times(args, site, u64::MAX, || gaps.span(&mut rng))?;
    let (mut sizes, mut ends) = (args.rng(site, i, "sizes"), args.rng(site, i, "ends"));
    let outside = args.parts("inter-rack").map_or(0, Parts::as_ppb);
    let outside = u64::try_from(outside).unwrap_or(0);
    let flow = |start| {
        let size = drawn.draw(&mut sizes);
        let factor = if size > UPDATE { args.count("update-factor").max(1) } else { 1 };
        let (src, dst) = if ends.chance(outside) {
            let far = one_of(&mut ends, &args.destinations, server)?;
            if ends.below(2) == 0 { (server, far) } else { (far, server) }
        } else {
            (server, one_of(&mut ends, &args.sources, server)?)
        };
        let size = Some(Bytes::new(size.saturating_mul(factor)));
        Some(Flow { group: args.group, src, dst, size, start, source: Source::AtOnce })
    };
    times.into_iter().map(flow).collect::<Option<_>>().ok_or_else(|| to_itself(args))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lowtide_units::{Duration, Instant};

    use super::*;
    use crate::testing::{refused, site};
    use crate::workload::ParamValue;

    /// The benchmark of §4.3 and a run of ten minutes.
    fn benchmark() -> (Args, Site) {
        let cdf = |name| ParamValue::Distribution(Arc::new(Cdf::named(name).unwrap()));
        let answer = Cdf::fixed(Bytes::new(2_000));
        let values = vec![
            ("query-gaps", cdf("dctcp-query-gaps")),
            ("query-answer", ParamValue::Distribution(Arc::new(answer))),
            ("background-gaps", cdf("dctcp-background-gaps")),
            ("background-sizes", cdf("dctcp-background-sizes")),
            ("update-factor", ParamValue::Count(1)),
            ("inter-rack", ParamValue::Parts(Parts::from_percent(50))),
        ];
        let args =
            Args { sources: (0..45).collect(), destinations: vec![45], values, ..Args::default() };
        let end = Instant::ZERO + Duration::from_secs(600);
        (args, Site { end, ..site(46, 1) })
    }

    #[test]
    fn ten_minutes_hold_as_many_flows_and_queries_as_the_paper_says() {
        let (args, site) = benchmark();
        let made = ENTRY.make(&args, &site).unwrap();
        let queries: u64 = made.askers.iter().map(Asker::queries).sum();
        // "over 200,000 background flows and over 188,000 queries", within five deviations: gaps with a
        // coefficient of variation of about 4 for the flows, 1 for the queries.
        assert!((191_000..=209_000).contains(&made.flows.len()), "{}", made.flows.len());
        assert!((185_800..=190_200).contains(&queries), "{queries}");
        assert!(made.askers.iter().all(|a| a.fan_out == 44 && !a.servers.contains(&a.client)));
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
        let (mut args, site) = benchmark();
        let before = ENTRY.make(&args, &site).unwrap();
        args.values[4].1 = ParamValue::Count(10);
        let after = ENTRY.make(&args, &site).unwrap();
        let bytes = |t: &Traffic| t.flows.iter().map(|f| f.size.unwrap().as_u64()).sum::<u64>();
        let times = bytes(&after) * 100 / bytes(&before);
        // "this effectively increases the volume of background traffic by a factor of 10".
        assert!((940..=1_000).contains(&times), "{times} hundredths");
        assert_eq!(before.askers, after.askers);
        let short =
            |t: &Traffic| t.flows.iter().filter(|f| f.size.unwrap().as_u64() <= UPDATE).count();
        assert_eq!(short(&before), short(&after));
    }

    #[test]
    fn few_large_flows_are_active_at_once() {
        let (args, site) = benchmark();
        let window = 50_000_000_000;
        let mut counts = vec![[0_u32; 45]; 12_400];
        for flow in ENTRY.make(&args, &site).unwrap().flows {
            let size = flow.size.unwrap();
            if size.as_u64() <= UPDATE {
                continue;
            }
            // As if alone on its line.
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
        // §2.2, flows above 1 MB active during 50 ms: "the median number of concurrent large flows is 1,
        // and the 75th percentile is 2". That can only be meant of windows with one: 13 MB/s of background
        // per server leave most windows without.
        assert_eq!((quantile(50), quantile(75)), (1, 2));
    }

    #[test]
    fn a_mean_can_be_given_and_wrong_hosts_are_refused() {
        let (mut args, site) = benchmark();
        args.values.push(("query-every", ParamValue::Time(Duration::from_ms(1_436))));
        let made = ENTRY.make(&args, &site).unwrap();
        let queries: u64 = made.askers.iter().map(Asker::queries).sum();
        assert!((18_100..=19_500).contains(&queries), "{queries}");
        let (one, _) = benchmark();
        let alone = Args { sources: vec![0], ..one.clone() };
        assert!(refused(&ENTRY, &alone).message.contains("nobody to ask"));
        let inside = Args { destinations: vec![3], ..one };
        assert!(refused(&ENTRY, &inside).message.contains("`h.3`"));
    }
}
