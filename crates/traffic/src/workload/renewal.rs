//! Flows of each source with drawn gaps and sizes: a renewal process per source.
//!
//! ## Algorithm
//! Each source draws the time from one flow to the next, and the size of each flow. The destination
//! is any of `to` except the source, equally likely. Gaps, sizes and destinations have separate
//! random generators for each source: another distribution of sizes changes neither times nor
//! destinations. With `flows` the first ones of all sources together are kept.

use super::partition_aggregate::{GAPS, MEAN_GAP};
use super::poisson::{FLOWS, SIZES};
use super::{
    Arrivals, HostSelection, MAX_CONNECTIONS, Traffic, WorkloadArgs, WorkloadContext,
    WorkloadEntry, WorkloadError,
};
use crate::endpoints::{random_other, self_traffic_error};
use crate::open_loop::{ArrivalLimits, arrival_times};
use crate::round_robin::START;
use crate::{Flow, WritePattern};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "renewal",
    summary: "flows of each source with gaps and sizes drawn from distributions",
    spec: "ODCTCP §6.1.2",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::OpenLoop,
    params: &[GAPS, MEAN_GAP, SIZES, FLOWS, START],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let (drawn, sizes) = (args.distribution("gaps")?, args.distribution("sizes")?);
    let gaps = match args.values.find_duration("mean-gap") {
        Some(mean) => drawn.scaled_to_mean(mean),
        None => drawn.clone(),
    };
    let most = args.values.find_count("flows").unwrap_or(u64::MAX);
    let processes = args.sources.len();
    let limits = ArrivalLimits { most, limit: MAX_CONNECTIONS, what: "connections", processes };
    let mut made = Traffic::default();
    for (i, src) in (0..).zip(args.sources.iter().copied()) {
        let [mut times, mut lengths, mut ends] =
            ["gaps", "sizes", "ends"].map(|purpose| args.rng(ctx, i, purpose));
        let arrivals = arrival_times(args, ctx, limits, || gaps.draw_duration(&mut times))?;
        let flow = |start| {
            let dst = random_other(&mut ends, &args.destinations, src)?;
            let size = Some(sizes.draw_size(&mut lengths));
            let write_pattern = WritePattern::Bulk;
            Some(Flow { group: args.group, src, dst, size, start, write_pattern })
        };
        let flows = arrivals.times.into_iter().map(flow).collect::<Option<Vec<Flow>>>();
        let mut flows = flows.ok_or_else(|| self_traffic_error(args))?;
        made.load.extend(flows.drain(arrivals.counted..));
        made.flows.append(&mut flows);
        made.limit_load(arrivals.until);
        made.check_limits(args)?;
    }
    // Sorted by start; ties are in the order of the sources.
    made.flows.sort_by_key(|f| f.start);
    let kept = usize::try_from(most).map_or(made.flows.len(), |most| most.min(made.flows.len()));
    // Later flows of a busy source only keep the load up.
    let beyond = made.flows.split_off(kept);
    if ctx.load_end > ctx.end {
        made.load.extend(beyond);
    }
    made.load.sort_by_key(|f| f.start);
    if made.flows.is_empty() {
        let message = format!("no flow of [traffic.{}] starts before the run ends", args.name);
        return Err(WorkloadError::at("start", message, "start earlier, or run longer"));
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;
    use crate::testing::{context, generate, generate_err};

    fn args(sources: &[u32], more: &[(&str, &str)]) -> WorkloadArgs {
        let own = [("gaps", "dctcp-query-gaps"), ("sizes", "10 kB")];
        let given: Vec<(&str, &str)> = own.iter().chain(more).copied().collect();
        WorkloadArgs {
            sources: sources.to_vec(),
            destinations: vec![9],
            ..ENTRY.args(&given).unwrap()
        }
    }

    fn mean_gap(flows: &[Flow], src: u32) -> u64 {
        let starts: Vec<_> = flows.iter().filter(|f| f.src == src).map(|f| f.start).collect();
        let span = starts[starts.len() - 1].saturating_since(starts[0]);
        span.as_us() / (starts.len() as u64 - 1)
    }

    #[test]
    fn each_source_has_the_gaps_of_the_distribution() {
        let ctx = WorkloadContext {
            end: lowtide_units::Instant::ZERO + Duration::from_secs(1_000),
            ..context(10, 3)
        };
        let of = |more: &[(&str, &str)]| ENTRY.generate(&args(&[0, 1], more), &ctx).unwrap().flows;
        let flows = of(&[]);
        for src in [0, 1] {
            // Mean 143.6 ms and nearly exponential: five standard errors of 7000 gaps are 6 %.
            let mean = mean_gap(&flows, src);
            assert!((135_000..152_300).contains(&mean), "{mean} us");
        }
        assert!(flows.is_sorted_by_key(|f| f.start));
        let stretched = mean_gap(&of(&[("mean-gap", "1 s")]), 0);
        assert!((840_000..1_160_000).contains(&stretched), "{stretched} us");
    }

    #[test]
    fn the_first_flows_of_all_sources_are_kept() {
        let all = generate(&ENTRY, &args(&[0, 1, 2], &[])).flows;
        let some = generate(&ENTRY, &args(&[0, 1, 2], &[("flows", "20")])).flows;
        assert_eq!(some, all[..20]);
        let wrong = args(&[9], &[]);
        assert_eq!(generate_err(&ENTRY, &wrong).key, Some("to"));
    }
}
