//! Flows whose application writes at a given rate.
//!
//! ## Algorithm
//! As `transfers`, but each application makes writes of one size at a rate, constant or as a
//! Poisson process, even if TCP does not keep up: excess data queues in order. Above the fair share
//! of the bottleneck this is TDCTCP's backlogged sender ("packet arrivals based on a Poisson
//! process with a rate of 4 Gbps", §IV). Below it the sender is application-limited. The first
//! write comes when the connection is opened.

use lowtide_units::{Bytes, Rate};

use super::{
    HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
    WorkloadParam, WorkloadParamKind,
};
use crate::WritePattern;
use crate::round_robin::{self, round_robin_flows};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "rate-limited",
    summary: "flows whose applications write at a constant rate or as a Poisson process",
    host_selection: HostSelection::FromTo,
    params: &[
        round_robin::COUNT,
        round_robin::SIZE,
        round_robin::START,
        round_robin::SPACING,
        WorkloadParam {
            name: "rate",
            kind: WorkloadParamKind::Rate,
            default: None,
            doc: "Payload bits per second that each application writes; the mean for `poisson`.",
        },
        WorkloadParam {
            name: "write",
            kind: WorkloadParamKind::Size,
            default: Some("1448 B"),
            doc: "Payload bytes of each write; the default fills an Ethernet packet.",
        },
        WorkloadParam {
            name: "arrivals",
            kind: WorkloadParamKind::Choice(&["constant", "poisson"]),
            default: Some("constant"),
            doc: "Writes are equally spaced, or a Poisson process.",
        },
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let rate = args.rate("rate").unwrap_or(Rate::from_gbps(1));
    let write = args.size("write").unwrap_or(Bytes::new(1));
    let poisson = args.choice("arrivals") == Some("poisson");
    round_robin_flows(args, WritePattern::Rate { rate, write, poisson })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::generate;
    use crate::workload::WorkloadParamValue;

    #[test]
    fn each_flow_knows_its_rate_and_its_arrivals() {
        let args = WorkloadArgs {
            group: 0,
            sources: vec![0],
            destinations: vec![1],
            values: vec![
                ("count", WorkloadParamValue::Count(1)),
                ("size", WorkloadParamValue::Size(None)),
                ("rate", WorkloadParamValue::Rate(Rate::from_gbps(4))),
                ("write", WorkloadParamValue::Size(Some(Bytes::new(1_448)))),
                ("arrivals", WorkloadParamValue::Choice("poisson")),
            ],
            ..WorkloadArgs::default()
        };
        let write_pattern = WritePattern::Rate {
            rate: Rate::from_gbps(4),
            write: Bytes::new(1_448),
            poisson: true,
        };
        assert_eq!(generate(&ENTRY, &args).flows[0].write_pattern, write_pattern);
    }
}
