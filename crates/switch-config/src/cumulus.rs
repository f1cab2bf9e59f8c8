//! Cumulus Linux: NVUE commands for `qos congestion-control` and the alpha of a traffic class.
//!
//! Thresholds are in bytes. With `red enable` packets that are not ECT are dropped where others are
//! marked; with `red disable`, the default, only when the buffer is full.

use std::fmt::Write as _;

use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Buffer, NotEct, Settings, Signal, exponent};
use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Cumulus;
/// Name of the profile.
const PROFILE: &str = "lowtide";
/// Egress queues of a port.
const QUEUES: u8 = 8;

pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    place.check(VENDOR, QUEUES, true)?;
    let (class, profile) = (place.queue, place.profile(PROFILE));
    let mut notes = Vec::new();
    let mut lines = String::new();
    let mut control = |key: &str, value: &dyn std::fmt::Display| {
        let _ = writeln!(
            lines,
            "nv set qos congestion-control {profile} traffic-class {class} {key} {value}"
        );
    };
    // The default profile marks in traffic class 0, so a profile without marks says so.
    let (ecn, red) = match settings.marking.map(|m| m.signal) {
        Some(Signal::Mark(NotEct::Drop)) => ("enable", "enable"),
        Some(Signal::Mark(NotEct::Ignore)) => ("enable", "disable"),
        Some(Signal::Drop) => ("disable", "enable"),
        None => ("disable", "disable"),
    };
    control("ecn", &ecn);
    control("red", &red);
    if let Some(marking) = settings.marking {
        let (min, max, percent) = marking.thresholds.corners();
        control("min-threshold", &min.as_u64());
        control("max-threshold", &max.as_u64());
        control("probability", &percent);
        notes.push(match marking.signal {
            Signal::Mark(NotEct::Drop) => "Packets that are not ECT are dropped where others are \
                 marked (red enable), as simulated."
                .to_owned(),
            Signal::Mark(NotEct::Ignore) => "Packets that are not ECT are dropped only when the \
                 buffer is full (red disable), as simulated."
                .to_owned(),
            Signal::Drop => "All packets are dropped by RED, ECT or not, as simulated.".to_owned(),
        });
        notes.push(
            "The switch rounds the thresholds to its cells, whose size the guide does not state."
                .to_owned(),
        );
        if min == max {
            notes.push(
                "Equal thresholds mark every packet above K. The guide allows them for percentages \
                 and says nothing of bytes."
                    .to_owned(),
            );
        }
    }
    let ports = place.ports_or(VENDOR.example_port()).join(",");
    let _ = writeln!(lines, "nv set interface {ports} qos congestion-control profile {profile}");
    match settings.buffer {
        Some(Buffer::Dynamic { alpha, memory, reserved }) => {
            exponent(VENDOR, alpha)?;
            let class = format!(
                "nv set qos advance-buffer-config default-global egress-lossy-buffer traffic-class \
                 {class}"
            );
            let alpha = alpha.to_string().replace('/', "_");
            let _ = writeln!(lines, "{class} shared-alpha alpha_{alpha}");
            if reserved.as_u64() > 0 {
                let _ = writeln!(lines, "{class} reserved {}", reserved.as_u64());
            }
            notes.push(format!(
                "shared-alpha applies to all ports. The memory of {memory} is a property of the \
                 hardware and is not exported."
            ));
        }
        Some(Buffer::Static(limit)) => notes.push(format!(
            "The fixed limit of {limit} is not exported: shared-bytes needs a static service \
             pool, which would change all traffic classes."
        )),
        None => {}
    }
    lines.push_str("nv config apply\n");
    Ok(Configuration::new(VENDOR, settings, Content::Lines(lines), notes))
}
