//! Juniper Junos on the QFX series: a drop profile and its scheduler.
//!
//! Thresholds are whole percentages of the queue's memory, of which the switch compares an average.
//! Two fill levels are needed, the second above the first, so K becomes a ramp over one percent.

use std::fmt::Write as _;

use lowtide_units::Bytes;

use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Buffer, NotEct, Settings, Signal, Thresholds};
use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Junos;
/// Unicast queues of a port; WRED is for these only.
const QUEUES: u8 = 8;

pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    place.check(VENDOR, QUEUES, false)?;
    let Some(marking) = settings.marking else {
        let problem = "without a marker there is no drop profile; the exported marker is WRED";
        return Err(ConfigError::inexpressible(VENDOR, "mark.kind", problem));
    };
    let memory = match (place.queue_memory, settings.buffer) {
        (Some(memory), _) => memory,
        (None, Some(Buffer::Static(limit))) => limit,
        (None, _) => {
            let problem = "fill levels are percentages of the queue's memory, which a dynamic \
                           buffer does not fix: state it with --queue-memory";
            return Err(ConfigError::inexpressible(VENDOR, "buffer", problem));
        }
    };
    let (low, high) = fill_levels(marking.thresholds, memory)?;
    let (min, max, percent) = marking.thresholds.corners();
    let at = |level: u64| {
        Bytes::new(
            u64::try_from(u128::from(memory.as_u64()) * u128::from(level) / 100).unwrap_or(0),
        )
    };
    let thresholds = match marking.thresholds {
        Thresholds::Step(k) => format!("K is {k} in the scenario"),
        Thresholds::Ramp { .. } => format!("The thresholds are {min} and {max} in the scenario"),
    };
    let mut notes = vec![
        not_ect(marking.signal).to_owned(),
        format!(
            "{thresholds}; here the probability grows from {}, {low} % of a queue memory of \
             {memory}, to {}, {high} %. Fill levels are whole percentages, the second above the \
             first.",
            at(low),
            at(high),
        ),
        "The switch compares the average fill level; the scenario has the present one. The guide \
         states no averaging constant."
            .to_owned(),
        "The forwarding class is an example: use the one that the switch has for the queue."
            .to_owned(),
    ];
    if matches!(settings.buffer, Some(Buffer::Dynamic { .. })) {
        notes.push("The buffer of the scenario, with its alpha, has no line here.".to_owned());
    }
    let ecn = match marking.signal {
        Signal::Mark(_) => "            explicit-congestion-notification;\n",
        Signal::Drop => "",
    };
    let queue = place.queue;
    let mut ports = String::new();
    for port in place.ports_or("et-0/0/0") {
        let _ =
            write!(ports, "        {port} {{\n            scheduler-map lowtide;\n        }}\n");
    }
    let lines = format!(
        "class-of-service {{
    drop-profiles {{
        lowtide {{
            interpolate {{
                fill-level [ {low} {high} ];
                drop-probability [ 0 {percent} ];
            }}
        }}
    }}
    forwarding-classes {{
        class lowtide queue-num {queue};
    }}
    schedulers {{
        lowtide {{
            drop-profile-map loss-priority any protocol any drop-profile lowtide;
{ecn}        }}
    }}
    scheduler-maps {{
        lowtide {{
            forwarding-class lowtide scheduler lowtide;
        }}
    }}
    interfaces {{
{ports}    }}
}}
"
    );
    Ok(Configuration::new(VENDOR, Content::Lines(lines), notes))
}

/// The lines cannot choose what happens to packets that are not ECT: it depends on the model.
const fn not_ect(signal: Signal) -> &'static str {
    match signal {
        Signal::Mark(NotEct::Ignore) => {
            "Packets that are not ECT are dropped only when the queue is full, as simulated. Older \
             guides say otherwise of QFX3500, QFX3600, QFX5100 and EX4600: simulate not-ect = \
             \"drop\" for these."
        }
        Signal::Mark(NotEct::Drop) => {
            "Packets that are not ECT are dropped where others are marked, as simulated: only \
             QFX3500, QFX3600, QFX5100 and EX4600 do so, by an older guide. Simulate not-ect = \
             \"ignore\" for other models."
        }
        Signal::Drop => "All packets are dropped by WRED, ECT or not, as simulated.",
    }
}

/// Returns the fill levels, percent of `memory`.
fn fill_levels(thresholds: Thresholds, memory: Bytes) -> Result<(u64, u64), ConfigError> {
    let (min, max, _) = thresholds.corners();
    let (key, too_long) = match thresholds {
        Thresholds::Step(_) => ("mark.k", max >= memory),
        Thresholds::Ramp { .. } => ("mark.max", max > memory),
    };
    if too_long {
        let problem = format!("{max} is no part of a queue memory of {memory}");
        return Err(ConfigError::inexpressible(VENDOR, key, problem));
    }
    // Rounded outwards: the second level is above the first, and at most 100.
    let memory_bytes = u128::from(memory.as_u64());
    let share = |length: Bytes| 100 * u128::from(length.as_u64());
    let low = share(min) / memory_bytes;
    let high = share(max).div_ceil(memory_bytes).max(low + 1);
    if low == 0 && min == max {
        let problem = format!(
            "{min} is less than one percent of a queue memory of {memory}, the unit of its fill \
             levels"
        );
        return Err(ConfigError::inexpressible(VENDOR, key, problem));
    }
    Ok((u64::try_from(low).unwrap_or(100), u64::try_from(high).unwrap_or(100)))
}
