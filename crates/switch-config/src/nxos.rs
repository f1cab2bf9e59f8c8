//! Cisco NX-OS on Nexus 9000: `random-detect` of a queuing policy.
//!
//! Thresholds are in whole kbytes, and may be equal. Packets that are not ECT are dropped where
//! others are marked. With ports the policy is attached to these, else to nothing.

use std::fmt::Write as _;

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
/// The part of the evidence that is of another kind of traffic.
const EVIDENCE: &str = "The random-detect line, equal thresholds and weight 0 come from Microsoft's \
    sample for a lossless RDMA class (PFC). No document that was read has them for a class that \
    may drop packets.";
/// Cisco's warning (guidelines and limitations of the chapter).
const DISRUPTIVE: &str = "Changes of queuing are disruptive: all ports of the changed port type lose \
    traffic for a brief period. Cisco's guide says so.";
/// Bytes of a kbyte. The documents do not say whether it is 1000 or 1024.
const KBYTE: u64 = 1000;

pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    place.check(VENDOR, QUEUES, true)?;
    let Some(marking) = settings.marking else {
        let problem = "without a marker the policy would be empty; the exported marker is WRED";
        return Err(ConfigError::inexpressible(VENDOR, "mark.kind", problem));
    };
    let (ecn, not_ect) = match marking.signal {
        Signal::Mark(NotEct::Drop) => (
            " ecn",
            "Packets that are not ECT are dropped where others are marked, as simulated. The \
             sample says no more than \"marked or dropped\": verify it with the drop counters \
             (show queuing interface).",
        ),
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
    let mut notes = vec![not_ect.to_owned(), EVIDENCE.to_owned()];
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
         larger."
            .to_owned(),
    );
    if let Some(Buffer::Dynamic { .. } | Buffer::Static(_)) = settings.buffer {
        notes.push(
            "The buffer of the scenario, with its alpha, is not exported: set it by hand with \
             queue-limit dynamic N, which is in none of these documents."
                .to_owned(),
        );
    }
    notes.push(attachment(place).to_owned());
    notes.push(DISRUPTIVE.to_owned());
    let queue = match place.queue {
        0 => "q-default".to_owned(),
        n => format!("q{n}"),
    };
    let policy = place.profile(POLICY);
    let mut lines = format!(
        "policy-map type queuing {policy}\n  class type queuing c-out-8q-{queue}\n    \
         random-detect minimum-threshold {low} kbytes maximum-threshold {high} kbytes \
         drop-probability {percent} weight 0{ecn}\n"
    );
    for port in &place.ports {
        let _ = writeln!(lines, "interface {port}\n  service-policy type queuing output {policy}");
    }
    Ok(Configuration::new(VENDOR, settings, Content::Lines(lines), notes))
}

/// The sentence about the policy that the ports have already.
const fn attachment(place: &Placement) -> &'static str {
    if place.ports.is_empty() {
        "Put the random-detect line into the class of the existing queuing policy; a new policy \
         would replace its bandwidths."
    } else {
        "The policy has one class only and replaces the existing queuing policy of these ports: \
         first copy the other classes with their bandwidths from it."
    }
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
