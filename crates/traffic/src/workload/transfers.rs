//! A fixed number of transfers of one size, dealt round robin over the hosts.
//!
//! ## What it does
//! Flow `i` goes from source `i mod S` to destination `i mod D` and starts `i` spacings after the
//! start. Where that would send a host to itself the next destination is taken, so that a group of
//! hosts can send among its own members; a pair of lists with nothing but one host is left out
//! (the scenario refuses it before).

use lowtide_units::Instant;

use super::{Args, Entry, Param, ParamKind};
use crate::Flow;

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "transfers",
    summary: "a number of transfers of one size, round robin over sources and destinations",
    params: &[
        Param {
            name: "count",
            kind: ParamKind::Count { min: 1, max: 1_000_000 },
            default: Some("1"),
            doc: "How many flows; flow `i` goes from source `i mod sources` to destination `i mod destinations`.",
        },
        Param {
            name: "size",
            kind: ParamKind::SizeOrUnlimited,
            default: None,
            doc: "Payload bytes of each flow; `unlimited` sends until the run ends.",
        },
        Param {
            name: "start",
            kind: ParamKind::Time,
            default: Some("0 s"),
            doc: "When the first flow opens its connection.",
        },
        Param {
            name: "spacing",
            kind: ParamKind::Time,
            default: Some("0 s"),
            doc: "Time from the start of one flow to the start of the next.",
        },
    ],
    flows,
};

fn flows(args: &Args) -> Vec<Flow> {
    let (size, start, spacing) = (args.size("size"), args.time("start"), args.time("spacing"));
    (0..args.count("count"))
        .filter_map(|i| {
            let src = nth(&args.sources, i)?;
            let dst = nth(&args.destinations, i)
                .filter(|dst| *dst != src)
                .or_else(|| nth(&args.destinations, i + 1).filter(|dst| *dst != src))?;
            let start = Instant::ZERO + start + spacing * i;
            Some(Flow { group: args.group, src, dst, size, start })
        })
        .collect()
}

/// Element `i mod length`.
fn nth(hosts: &[u32], i: u64) -> Option<u32> {
    let index = i.checked_rem(hosts.len() as u64)?;
    hosts.get(usize::try_from(index).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::workload::ParamValue;

    fn args(sources: &[u32], destinations: &[u32], count: u64) -> Args {
        Args {
            group: 3,
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            values: vec![
                ("count", ParamValue::Count(count)),
                ("size", ParamValue::Size(Some(Bytes::new(10)))),
                ("start", ParamValue::Time(Duration::from_ms(500))),
                ("spacing", ParamValue::Time(Duration::from_us(2))),
            ],
        }
    }

    fn pairs(args: &Args) -> Vec<(u32, u32)> {
        (ENTRY.flows)(args).iter().map(|f| (f.src, f.dst)).collect()
    }

    #[test]
    fn ten_flows_go_round_three_sources() {
        let flows = (ENTRY.flows)(&args(&[0, 1, 2], &[3], 10));
        let sources: Vec<u32> = flows.iter().map(|f| f.src).collect();
        assert_eq!(sources, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert!(flows.iter().all(|f| f.dst == 3 && f.group == 3));
        assert_eq!(flows[9].start.since_start(), Duration::from_us(500_018));
        assert_eq!(flows[0].size, Some(Bytes::new(10)));
    }

    #[test]
    fn sources_and_destinations_go_round_each_on_its_own() {
        assert_eq!(
            pairs(&args(&[0, 1, 2], &[5, 6], 6)),
            [(0, 5), (1, 6), (2, 5), (0, 6), (1, 5), (2, 6)]
        );
    }

    #[test]
    fn no_host_sends_to_itself() {
        assert_eq!(pairs(&args(&[0, 1, 2], &[0, 1, 2], 3)), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(pairs(&args(&[4], &[4, 5], 2)), [(4, 5), (4, 5)]);
        assert!(pairs(&args(&[4], &[4], 2)).is_empty());
    }

    #[test]
    fn lists_without_hosts_give_no_flows() {
        assert!(pairs(&args(&[], &[1], 2)).is_empty());
        assert!(pairs(&args(&[1], &[], 2)).is_empty());
    }

    #[test]
    fn an_unlimited_size_stays_none_and_late_starts_do_not_wrap() {
        let mut a = args(&[0], &[1], 2);
        a.values[1].1 = ParamValue::Size(None);
        a.values[3].1 = ParamValue::Time(Duration::MAX);
        let flows = (ENTRY.flows)(&a);
        assert_eq!(flows[1].size, None);
        assert_eq!(flows[1].start, Instant::FAR_FUTURE);
    }
}
