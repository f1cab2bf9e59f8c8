//! Flows that pause: a burst over the connection, a pause, the next burst.
//!
//! ## What it does
//! As `transfers`, but each application writes one burst, waits until all of it is acknowledged, waits
//! for the pause, and writes the next. The thesis's sender "suspends for 1 second after every 200KB
//! data transmission" (fig. 4.4): the idle second follows the transmission, as here.

use lowtide_units::Bytes;

use super::{Args, Ends, Entry, Param, ParamKind, Refusal, Site, Traffic};
use crate::Source;
use crate::deal::{self, deal};

/// Registration.
pub static ENTRY: Entry = Entry {
    name: "on-off",
    summary: "flows that send a burst, pause, and go on over the same connection",
    ends: Ends::FromTo,
    params: &[
        deal::COUNT,
        deal::SIZE,
        deal::START,
        deal::SPACING,
        Param {
            name: "burst",
            kind: ParamKind::Size,
            default: None,
            doc: "Payload bytes that are written at once.",
        },
        Param {
            name: "pause",
            kind: ParamKind::Time,
            default: None,
            doc: "Time from the acknowledgement of a whole burst to the next one.",
        },
    ],
    traffic,
};

fn traffic(args: &Args, _: &Site) -> Result<Traffic, Refusal> {
    let burst = args.size("burst").unwrap_or(Bytes::new(1));
    deal(args, Source::OnOff { burst, pause: args.time("pause") })
}

#[cfg(test)]
mod tests {
    use lowtide_units::Duration;

    use super::*;
    use crate::testing::made;
    use crate::workload::ParamValue;

    #[test]
    fn each_flow_knows_its_burst_and_its_pause() {
        let args = Args {
            group: 0,
            sources: vec![0, 1],
            destinations: vec![2],
            values: vec![
                ("count", ParamValue::Count(2)),
                ("size", ParamValue::Size(None)),
                ("burst", ParamValue::Size(Some(Bytes::new(200_000)))),
                ("pause", ParamValue::Time(Duration::from_secs(1))),
            ],
            ..Args::default()
        };
        let flows = made(&ENTRY, &args).flows;
        let source = Source::OnOff { burst: Bytes::new(200_000), pause: Duration::from_secs(1) };
        assert_eq!(flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
        assert!(flows.iter().all(|f| f.source == source && f.size.is_none()));
    }
}
