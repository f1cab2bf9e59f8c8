//! On-off flows: a burst, a pause, the next burst over the same connection.
//!
//! ## Algorithm
//! As `transfers`, but each application writes one burst, waits until all of it is acknowledged,
//! pauses, and writes the next. The thesis's sender "suspends for 1 second after every 200KB data
//! transmission" (fig. 4.4): the idle second follows the transmission, as here.

use lowtide_units::Bytes;

use super::{
    HostSelection, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
    WorkloadParam, WorkloadParamKind,
};
use crate::WritePattern;
use crate::round_robin::{self, round_robin_flows};

/// Registration.
pub static ENTRY: WorkloadEntry = WorkloadEntry {
    name: "on-off",
    summary: "flows that send a burst, pause, and go on over the same connection",
    host_selection: HostSelection::FromTo,
    params: &[
        round_robin::COUNT,
        round_robin::SIZE,
        round_robin::START,
        round_robin::SPACING,
        WorkloadParam {
            name: "burst",
            kind: WorkloadParamKind::Size,
            default: None,
            doc: "Payload bytes written at once.",
        },
        WorkloadParam {
            name: "pause",
            kind: WorkloadParamKind::Time,
            default: None,
            doc: "Time from the acknowledgement of a whole burst to the next one.",
        },
    ],
    traffic,
};

fn traffic(args: &WorkloadArgs, _: &WorkloadContext) -> Result<Traffic, WorkloadError> {
    let burst = args.size("burst").unwrap_or(Bytes::new(1));
    round_robin_flows(args, WritePattern::OnOff { burst, pause: args.time("pause") })
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;
    use crate::testing::generate;
    use crate::workload::WorkloadParamValue;

    #[test]
    fn each_flow_knows_its_burst_and_its_pause() {
        let args = WorkloadArgs {
            group: 0,
            sources: vec![0, 1],
            destinations: vec![2],
            values: vec![
                ("count", WorkloadParamValue::Count(2)),
                ("size", WorkloadParamValue::Size(None)),
                ("burst", WorkloadParamValue::Size(Some(Bytes::new(200_000)))),
                ("pause", WorkloadParamValue::Time(Duration::from_secs(1))),
            ],
            ..WorkloadArgs::default()
        };
        let flows = generate(&ENTRY, &args).flows;
        let write_pattern =
            WritePattern::OnOff { burst: Bytes::new(200_000), pause: Duration::from_secs(1) };
        assert_eq!(flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
        assert!(flows.iter().all(|f| f.write_pattern == write_pattern && f.size.is_none()));
    }
}
