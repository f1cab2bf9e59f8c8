//! Flows whose application writes at a given rate.
//!
//! ## Algorithm
//! As `transfers`, but each application makes writes of one size at a rate, constant or as a
//! Poisson process, even if TCP does not keep up: excess data queues in order. Above the fair share
//! of the bottleneck this is TDCTCP's backlogged sender ("packet arrivals based on a Poisson
//! process with a rate of 4 Gbps", §IV). Below it the sender is application-limited. The first
//! write comes when the connection is opened.

use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::{Param, ValueKind};

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::WritePattern;
use crate::round_robin::{self, round_robin_flows};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "rate-limited",
    summary: "flows whose applications write at a constant rate or as a Poisson process",
    spec: "TDCTCP §IV",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        round_robin::COUNT,
        round_robin::SIZE,
        round_robin::START,
        round_robin::SPACING,
        Param {
            name: "rate",
            kind: ValueKind::Rate,
            default: Required,
            doc: "Payload bits per second that each application writes; the mean for `poisson`.",
            source: "TDCTCP §IV",
        },
        Param {
            name: "write",
            kind: ValueKind::SIZE,
            default: Is("1448 B"),
            doc: "Payload bytes of each write; the default fills an Ethernet packet.",
            source: "ns-3 `OnOffApplication::PacketSize`",
        },
        Param {
            name: "arrivals",
            kind: ValueKind::Choice(&["constant", "poisson"]),
            default: Is("constant"),
            doc: "Writes are equally spaced, or a Poisson process.",
            source: "TDCTCP §IV",
        },
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let rate = args.values.rate("rate");
    let write = args.values.bytes("write");
    let poisson = args.values.name("arrivals") == "poisson";
    round_robin_flows(args, WritePattern::Rate { rate, write, poisson })
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Rate};

    use super::*;
    use crate::testing::generate;

    #[test]
    fn each_flow_knows_its_rate_and_its_arrivals() {
        let args = WorkloadArgs {
            group: 0,
            sources: vec![0],
            destinations: vec![1],
            ..ENTRY
                .args(&[("size", "unlimited"), ("rate", "4 Gbit/s"), ("arrivals", "poisson")])
                .unwrap()
        };
        let write_pattern = WritePattern::Rate {
            rate: Rate::from_gbps(4),
            write: Bytes::new(1_448),
            poisson: true,
        };
        assert_eq!(generate(&ENTRY, &args).flows[0].write_pattern, write_pattern);
    }
}
