//! Cisco NX-OS on Nexus 9000: `random-detect` of a queuing policy.
//!
//! Thresholds are in whole kbytes, and may be equal. Packets that are not ECT are dropped where
//! others are marked. The documents at hand have no line for the share of a buffer.

use lowtide_units::Bytes;

use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Buffer, NotEct, Settings, Signal, Thresholds};
use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Nxos;
/// Name of the policy.
const POLICY: &str = "lowtide";
/// Egress queues of a port: the default one and `q1` to `q7`.
const QUEUES: u8 = 8;
/// Bytes of a kbyte. The documents do not say whether it is 1000 or 1024.
const KBYTE: u64 = 1000;

pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    place.check(VENDOR, QUEUES, true)?;
    if !place.ports.is_empty() {
        let problem = "the lines are of the queuing policy of the whole switch: leave out --ports";
        return Err(ConfigError::placement(VENDOR, problem));
    }
    let Some(marking) = settings.marking else {
        let problem = "without a marker the policy has no line; the exported marker is WRED";
        return Err(ConfigError::inexpressible(VENDOR, "mark.kind", problem));
    };
    let (ecn, not_ect) = match marking.signal {
        Signal::Mark(NotEct::Drop) => {
            (" ecn", "Packets that are not ECT are dropped where others are marked, as simulated.")
        }
        Signal::Mark(NotEct::Ignore) => {
            let problem = "WRED drops packets that are not ECT where it marks others: simulate \
                           `not-ect = \"drop\"`";
            return Err(ConfigError::inexpressible(VENDOR, "mark.not-ect", problem));
        }
        Signal::Drop => ("", "All packets are dropped by WRED, ECT or not, as simulated."),
    };
    let (min, max, percent) = marking.thresholds.corners();
    let (low_key, high_key) = match marking.thresholds {
        Thresholds::Step(_) => ("mark.k", "mark.k"),
        Thresholds::Ramp { .. } => ("mark.min", "mark.max"),
    };
    let (low, high) = (kbytes(low_key, min)?, kbytes(high_key, max)?);
    let mut notes = vec![not_ect.to_owned()];
    for (name, exact, rounded) in [("minimum", min, low), ("maximum", max, high)] {
        let shown = Bytes::new(rounded * KBYTE);
        if shown != exact {
            notes.push(format!(
                "The {name} threshold is {exact} in the scenario and {shown} here: NX-OS takes \
                 whole kbytes."
            ));
        }
    }
    notes.push(
        "A kbyte is taken as 1000 bytes; if the switch counts 1024, the thresholds are 2.4 % \
         longer."
            .to_owned(),
    );
    if let Some(Buffer::Dynamic { .. } | Buffer::Static(_)) = settings.buffer {
        notes.push("The buffer of the scenario, with its alpha, has no line here.".to_owned());
    }
    notes.push(
        "Put the random-detect line into the class of the present queuing policy; a new policy \
         would replace its bandwidths."
            .to_owned(),
    );
    let queue = match place.queue {
        0 => "q-default".to_owned(),
        n => format!("q{n}"),
    };
    let lines = format!(
        "policy-map type queuing {POLICY}\n  class type queuing c-out-8q-{queue}\n    \
         random-detect minimum-threshold {low} kbytes maximum-threshold {high} kbytes \
         drop-probability {percent} weight 0{ecn}\n"
    );
    Ok(Configuration::new(VENDOR, Content::Lines(lines), notes))
}

/// Rounds to the nearest whole kbyte.
fn kbytes(key: &str, length: Bytes) -> Result<u64, ConfigError> {
    let bytes = length.as_u64();
    let rounded = bytes / KBYTE + u64::from(bytes % KBYTE >= KBYTE / 2);
    if rounded == 0 {
        let problem = format!("{length} is less than half a kbyte, the unit of its thresholds");
        return Err(ConfigError::inexpressible(VENDOR, key, problem));
    }
    Ok(rounded)
}
