//! Juniper Junos on the QFX series: a drop profile, and the statements for the scheduler that the
//! queue has already.
//!
//! Thresholds are whole percentages of the queue's memory; the switch compares an average with
//! them. Two fill levels are needed, the second above the first, so K becomes a ramp over one
//! percent.
//! The scheduler-map of a port is not exported: a new one would replace that of all queues.

use lowtide_units::Bytes;

use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Buffer, NotEct, Settings, Signal, Thresholds};
use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Junos;
/// Unicast queues of a port; WRED is for these only.
const QUEUES: u8 = 8;
/// Greatest fill level, percent: "Do not configure the last fill level as 100 percent."
const LAST_LEVEL: u64 = 99;

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
    let (_, _, percent) = marking.thresholds.corners();
    let mut notes = vec![
        merge(place),
        not_ect(marking.signal).to_owned(),
        effective_range(marking.thresholds, memory, low, high),
        "The switch compares the average fill level; the scenario has the instantaneous queue. \
         The guide states no averaging constant."
            .to_owned(),
    ];
    if matches!(settings.buffer, Some(Buffer::Dynamic { .. })) {
        notes.push(
            "The buffer of the scenario, with its alpha, is not exported. On Junos Evolved \
             (QFX5220, 22.3R1 and later) set alpha by hand with buffer-dynamic-threshold, 0 to 10, \
             in the scheduler."
                .to_owned(),
        );
    }
    let ecn = match marking.signal {
        Signal::Mark(_) => "            explicit-congestion-notification;\n",
        Signal::Drop => "",
    };
    let profile = place.profile("lowtide");
    let lines = format!(
        "class-of-service {{
    drop-profiles {{
        {profile} {{
            interpolate {{
                fill-level [ {low} {high} ];
                drop-probability [ 0 {percent} ];
            }}
        }}
    }}
    schedulers {{
        existing-scheduler {{
            drop-profile-map loss-priority any protocol any drop-profile {profile};
{ecn}        }}
    }}
}}
"
    );
    Ok(Configuration::new(VENDOR, settings, Content::Lines(lines), notes))
}

/// The sentence about the scheduler that the statements belong to.
fn merge(place: &Placement) -> String {
    let ports = match place.ports.as_slice() {
        [] => "the port".to_owned(),
        ports => ports.join(", "),
    };
    format!(
        "To merge (load merge): replace `existing-scheduler` by the scheduler of queue {} in the \
         existing scheduler-map of {ports}. Do not bind a new scheduler-map: it would replace the \
         existing one, and the other queues would lose their schedulers. All ports that use this \
         scheduler change. Port scheduling only: with ETS (EX4600 has no other) a \
         traffic-control-profile names the scheduler-map.",
        place.queue
    )
}

/// The sentence about the thresholds that the fill levels make of those of the scenario.
fn effective_range(thresholds: Thresholds, memory: Bytes, low: u64, high: u64) -> String {
    let at = |level: u64| {
        Bytes::new(
            u64::try_from(u128::from(memory.as_u64()) * u128::from(level) / 100).unwrap_or(0),
        )
    };
    let (exact, range) = match thresholds {
        Thresholds::Step(k) => (format!("K is {k}"), "effective range of K"),
        Thresholds::Ramp { min, max, .. } => {
            (format!("The thresholds are {min} and {max}"), "effective range")
        }
    };
    format!(
        "{exact} in the scenario. The {range} here is {} to {}, {low} to {high} % of a queue memory \
         of {memory}. Fill levels are whole percentages, so {} is the whole resolution.",
        at(low),
        at(high),
        at(1),
    )
}

/// The configuration cannot choose what happens to packets that are not ECT: it depends on the
/// model.
const fn not_ect(signal: Signal) -> &'static str {
    match signal {
        Signal::Mark(NotEct::Ignore) => {
            "Packets that are not ECT are dropped only when the queue is full, as simulated. Older \
             guides say otherwise of QFX3500, QFX3600, QFX5100 and EX4600: simulate not-ect = \
             \"drop\" for these. The fill-level page says that all of them are dropped above the \
             last fill level: verify it with the drop counters (show interfaces queue)."
        }
        Signal::Mark(NotEct::Drop) => {
            "Packets that are not ECT are dropped where others are marked, as simulated. By an \
             older guide only QFX3500, QFX3600, QFX5100 and EX4600 do so: simulate not-ect = \
             \"ignore\" for other models. The fill-level page names no exception: verify it with \
             the drop counters (show interfaces queue)."
        }
        Signal::Drop => "All packets are dropped by WRED, ECT or not, as simulated.",
    }
}

/// Returns the fill levels, percent of `memory`.
fn fill_levels(thresholds: Thresholds, memory: Bytes) -> Result<(u64, u64), ConfigError> {
    let (min, max, _) = thresholds.corners();
    let (key, limit) = match thresholds {
        Thresholds::Step(_) => ("mark.k", "below"),
        Thresholds::Ramp { .. } => ("mark.max", "at most"),
    };
    let refuse = |problem: String| Err(ConfigError::inexpressible(VENDOR, key, problem));
    if max >= memory {
        return refuse(format!("the threshold {max} must be below the queue memory of {memory}"));
    }
    // Rounded outwards: the second level is above the first.
    let memory_bytes = u128::from(memory.as_u64());
    let share = |length: Bytes| 100 * u128::from(length.as_u64());
    let low = share(min) / memory_bytes;
    let high = share(max).div_ceil(memory_bytes).max(low + 1);
    if low == 0 && min == max {
        return refuse(format!(
            "{min} is less than one percent of a queue memory of {memory}, the unit of its fill \
             levels"
        ));
    }
    let levels = u64::try_from(low).ok().zip(u64::try_from(high).ok());
    levels.filter(|(_, high)| *high <= LAST_LEVEL).map_or_else(
        || {
            refuse(format!(
                "the threshold {max} must be {limit} {LAST_LEVEL} % of the queue memory of \
                 {memory}: Juniper's guide forbids a last fill level of 100 percent"
            ))
        },
        Ok,
    )
}
