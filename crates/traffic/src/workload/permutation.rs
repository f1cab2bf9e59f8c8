//! Every source sends to one destination, and no two to the same one.
//!
//! ## Algorithm
//! One flow per host of `from` to a host of `to`, drawn without replacement, all with one start.
//! Every line of a fabric without oversubscription could be full, so any loss of throughput is due
//! to path selection. If both lists are equal, no host sends to itself. The draw is a uniform
//! shuffle in which each host that drew itself swaps with another. The bias of a pair is at most a
//! small multiple of one over the number of hosts.

use lowtide_units::Instant;

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::endpoints::self_traffic_error;
use crate::round_robin::{SIZE, START};
use crate::{Flow, WritePattern};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "permutation",
    summary: "every source sends to a distinct destination",
    spec: "htsim (permutation traffic matrix)",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[SIZE, START],
    traffic,
};

fn traffic(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let drawn = draw(args, ctx)?;
    let (size, start) =
        (args.values.find_bytes("size"), Instant::ZERO + args.values.duration("start"));
    let flow = |(&src, dst)| Flow {
        group: args.group,
        src,
        dst,
        size,
        start,
        write_pattern: WritePattern::Bulk,
    };
    Ok(Traffic { flows: args.sources.iter().zip(drawn).map(flow).collect(), ..Traffic::default() })
}

/// Draws the destinations, in the order of the sources.
fn draw(args: &WorkloadArgs, ctx: &WorkloadContext) -> Result<Vec<u32>, WorkloadError> {
    let (sources, mut to) = (&args.sources, args.destinations.clone());
    if to.len() < sources.len() {
        let message = format!(
            "[traffic.{}] has {} sources and only {} destinations",
            args.name,
            sources.len(),
            to.len()
        );
        return Err(WorkloadError::at("to", message, "name at least as many hosts in `to`"));
    }
    let mut rng = args.rng(ctx, 0, "permutation");
    for i in (1..to.len()).rev() {
        to.swap(i, rng.below(i as u64 + 1) as usize);
    }
    // After a swap neither of the two hosts may send to itself.
    for (i, &source) in sources.iter().enumerate() {
        if to.get(i) != Some(&source) {
            continue;
        }
        let turn = rng.below(to.len() as u64) as usize;
        let fits = |j: &usize| to[*j] != source && sources.get(*j) != Some(&source);
        let other = (0..to.len()).map(|k| (turn + k) % to.len()).find(fits);
        to.swap(i, other.ok_or_else(|| self_traffic_error(args))?);
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, generate, generate_err};

    fn args(sources: &[u32], destinations: &[u32]) -> WorkloadArgs {
        WorkloadArgs {
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            ..ENTRY.args(&[("size", "unlimited")]).unwrap()
        }
    }

    #[test]
    fn each_host_sends_and_receives_once_and_never_from_itself() {
        let hosts: Vec<u32> = (0..128).collect();
        for seed in 0..200 {
            let flows = ENTRY.generate(&args(&hosts, &hosts), &context(256, seed)).unwrap().flows;
            assert!(flows.iter().map(|f| f.src).eq(0..128));
            assert!(flows.iter().all(|f| f.src != f.dst));
            let mut to: Vec<u32> = flows.iter().map(|f| f.dst).collect();
            to.sort_unstable();
            assert_eq!(to, hosts, "seed {seed}");
        }
    }

    #[test]
    fn the_pairs_depend_on_the_seed() {
        let hosts: Vec<u32> = (0..16).collect();
        let pairs = |seed| {
            let flows = ENTRY.generate(&args(&hosts, &hosts), &context(16, seed)).unwrap().flows;
            flows.iter().map(|f| f.dst).collect::<Vec<u32>>()
        };
        assert_eq!(pairs(1), pairs(1));
        assert_ne!(pairs(1), pairs(2));
    }

    #[test]
    fn two_hosts_send_to_each_other_and_spare_destinations_stay_idle() {
        let flows = generate(&ENTRY, &args(&[3, 4], &[3, 4])).flows;
        assert_eq!(flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(), [(3, 4), (4, 3)]);
        let flows = generate(&ENTRY, &args(&[0, 1], &[5, 6, 7])).flows;
        assert!(flows[0].dst != flows[1].dst && flows.iter().all(|f| f.dst >= 5));
    }

    #[test]
    fn too_few_destinations_and_a_host_alone_are_refused() {
        for (sources, destinations) in [(&[0, 1][..], &[2][..]), (&[4], &[4])] {
            assert_eq!(generate_err(&ENTRY, &args(sources, destinations)).key, Some("to"));
        }
    }
}
