//! Flows whose application writes at a rate of its own.
//!
//! ## What it does
//! As `transfers`, but each application makes writes of one size at a rate, by clockwork or as a
//! Poisson process, and never looks whether TCP keeps up: what does not get away waits in order. At
//! more than its share of the bottleneck this is TDCTCP's backlogged sender ("packet arrivals based
//! on a Poisson process with a rate of 4 Gbps", §IV), below it a sender that the network never limits.
//! The first write comes when the connection is opened.

use lowtide_units::{Bytes, Rate};

use super::{Args, Ends, Entry, Param, ParamKind, Refusal, Site, Traffic};
use crate::Source;
use crate::deal::{self, deal};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "rate-limited",
    summary: "flows whose applications write at a constant rate or as a Poisson process",
    ends: Ends::FromTo,
    params: &[
        deal::COUNT,
        deal::SIZE,
        deal::START,
        deal::SPACING,
        Param {
            name: "rate",
            kind: ParamKind::Rate,
            default: None,
            doc: "Payload bits per second that each application writes; the mean for `poisson`.",
        },
        Param {
            name: "write",
            kind: ParamKind::Size,
            default: Some("1448 B"),
            doc: "Payload bytes of each write; the default fills an Ethernet packet.",
        },
        Param {
            name: "arrivals",
            kind: ParamKind::Choice(&["constant", "poisson"]),
            default: Some("constant"),
            doc: "Writes come at equal distances, or as a Poisson process.",
        },
    ],
    traffic,
};

fn traffic(args: &Args, _: &Site) -> Result<Traffic, Refusal> {
    let rate = args.rate("rate").unwrap_or(Rate::from_gbps(1));
    let write = args.size("write").unwrap_or(Bytes::new(1));
    let poisson = args.choice("arrivals") == Some("poisson");
    deal(args, Source::Rate { rate, write, poisson })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::made;
    use crate::workload::ParamValue;

    #[test]
    fn each_flow_knows_its_rate_and_its_arrivals() {
        let args = Args {
            group: 0,
            sources: vec![0],
            destinations: vec![1],
            values: vec![
                ("count", ParamValue::Count(1)),
                ("size", ParamValue::Size(None)),
                ("rate", ParamValue::Rate(Rate::from_gbps(4))),
                ("write", ParamValue::Size(Some(Bytes::new(1_448)))),
                ("arrivals", ParamValue::Choice("poisson")),
            ],
            ..Args::default()
        };
        let source =
            Source::Rate { rate: Rate::from_gbps(4), write: Bytes::new(1_448), poisson: true };
        assert_eq!(made(&ENTRY, &args).flows[0].source, source);
    }
}
