//! On-off flows: a burst, a pause, the next burst over the same connection.
//!
//! ## Algorithm
//! As `transfers`, but each application writes one burst, waits until all of it is acknowledged,
//! pauses, and writes the next. The thesis's sender "suspends for 1 second after every 200KB data
//! transmission" (fig. 4.4): the idle second follows the transmission, as here.

use lowtide_schema::DefaultValue::Required;
use lowtide_schema::{Param, ValueKind};

use super::{
    Arrivals, HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};
use crate::WritePattern;
use crate::round_robin::{self, round_robin_flows};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "on-off",
    summary: "flows that send a burst, pause, and go on over the same connection",
    spec: "ODCTCP thesis, fig. 4.4",
    host_selection: HostSelection::FromTo,
    arrivals: Arrivals::Stated,
    params: &[
        round_robin::COUNT,
        round_robin::SIZE,
        round_robin::START,
        round_robin::SPACING,
        Param {
            name: "burst",
            kind: ValueKind::SIZE,
            default: Required,
            doc: "Payload bytes written at once.",
            source: "ODCTCP thesis, fig. 4.4",
        },
        Param {
            name: "pause",
            kind: ValueKind::TIME,
            default: Required,
            doc: "Time from the acknowledgement of a whole burst to the next one.",
            source: "ODCTCP thesis, fig. 4.4",
        },
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let burst = args.values.bytes("burst");
    round_robin_flows(args, WritePattern::OnOff { burst, pause: args.values.duration("pause") })
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Bytes, Duration};

    use super::*;
    use crate::testing::generate;

    #[test]
    fn each_flow_knows_its_burst_and_its_pause() {
        let args = WorkloadArgs {
            group: 0,
            sources: vec![0, 1],
            destinations: vec![2],
            ..ENTRY
                .args(&[
                    ("count", "2"),
                    ("size", "unlimited"),
                    ("burst", "200 kB"),
                    ("pause", "1 s"),
                ])
                .unwrap()
        };
        let flows = generate(&ENTRY, &args).flows;
        let write_pattern =
            WritePattern::OnOff { burst: Bytes::new(200_000), pause: Duration::from_secs(1) };
        assert_eq!(flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
        assert!(flows.iter().all(|f| f.write_pattern == write_pattern && f.size.is_none()));
    }
}
