//! A fixed number of transfers of one size, round robin over the hosts.
//!
//! ## Algorithm
//! Every application writes all its bytes when it opens the connection; with `duration` it writes
//! until that time has passed. Flow `i` goes from source `i mod S` to destination `i mod D`, and
//! never from a host to itself.

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::WritePattern;
use crate::round_robin::{self, round_robin_flows};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "transfers",
    summary: "a number of transfers of one size, round robin over sources and destinations",
    spec: "lowtide",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        round_robin::COUNT,
        round_robin::SIZE,
        round_robin::START,
        round_robin::SPACING,
        round_robin::DURATION,
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let Some(lasts) = args.values.find_duration("duration") else {
        return round_robin_flows(args, WritePattern::Bulk);
    };
    if args.values.find_bytes("size").is_some() {
        let message = "`duration` needs a flow of unlimited size".to_owned();
        return Err(WorkloadError::at(
            "duration",
            message,
            "write `size = \"unlimited\"`, or remove `duration`",
        ));
    }
    round_robin_flows(args, WritePattern::BulkFor { duration: lasts })
}

#[cfg(test)]
mod tests {
    use lowtide_schema::Value;
    use lowtide_units::{Bytes, Duration, Instant};

    use super::*;
    use crate::testing::{generate, generate_err};

    fn args(sources: &[u32], destinations: &[u32], count: u64) -> WorkloadArgs {
        WorkloadArgs {
            group: 3,
            sources: sources.to_vec(),
            destinations: destinations.to_vec(),
            ..ENTRY
                .args(&[
                    ("count", &count.to_string()),
                    ("size", "10 B"),
                    ("start", "500 ms"),
                    ("spacing", "2 us"),
                ])
                .unwrap()
        }
    }

    fn pairs(args: &WorkloadArgs) -> Vec<(u32, u32)> {
        generate(&ENTRY, args).flows.iter().map(|f| (f.src, f.dst)).collect()
    }

    #[test]
    fn ten_flows_go_round_three_sources() {
        let flows = generate(&ENTRY, &args(&[0, 1, 2], &[3], 10)).flows;
        let sources: Vec<u32> = flows.iter().map(|f| f.src).collect();
        assert_eq!(sources, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
        assert!(flows.iter().all(|f| f.dst == 3 && f.group == 3));
        assert_eq!(flows[9].start.since_start(), Duration::from_us(500_018));
        assert_eq!(flows[0].size, Some(Bytes::new(10)));
    }

    #[test]
    fn sources_and_destinations_go_round_independently() {
        assert_eq!(
            pairs(&args(&[0, 1, 2], &[5, 6], 6)),
            [(0, 5), (1, 6), (2, 5), (0, 6), (1, 5), (2, 6)]
        );
    }

    #[test]
    fn no_host_sends_to_itself() {
        assert_eq!(pairs(&args(&[0, 1, 2], &[0, 1, 2], 3)), [(0, 1), (1, 2), (2, 0)]);
        assert_eq!(pairs(&args(&[4], &[4, 5], 2)), [(4, 5), (4, 5)]);
    }

    #[test]
    fn lists_without_a_destination_are_rejected() {
        for (sources, destinations) in [(&[4][..], &[4][..]), (&[], &[1]), (&[1], &[])] {
            let refusal = generate_err(&ENTRY, &args(sources, destinations, 2));
            assert_eq!(refusal.key, Some("to"), "{refusal}");
        }
    }

    #[test]
    fn a_stopped_flow_has_no_size() {
        let mut a = args(&[0], &[1], 2);
        let lasts = Duration::from_ms(7);
        a.values.set("duration", Value::Duration(lasts));
        assert_eq!(generate_err(&ENTRY, &a).key, Some("duration"));
        a.values.set("size", Value::Name("unlimited"));
        let flows = generate(&ENTRY, &a).flows;
        assert!(
            flows.iter().all(|f| f.write_pattern == WritePattern::BulkFor { duration: lasts }
                && f.size.is_none())
        );
    }

    #[test]
    fn an_unlimited_size_stays_none_and_late_starts_do_not_wrap() {
        let mut a = args(&[0], &[1], 2);
        a.values.set("size", Value::Name("unlimited"));
        a.values.set("spacing", Value::Duration(Duration::MAX));
        let flows = generate(&ENTRY, &a).flows;
        assert_eq!(flows[1].size, None);
        assert_eq!(flows[1].start, Instant::FAR_FUTURE);
    }
}
