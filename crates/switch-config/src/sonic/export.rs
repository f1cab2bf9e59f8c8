//! A marker as tables of SONiC.

use serde_json::{Map, Value, json};

use super::{PROFILE, QUEUES, VENDOR};
use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Marking, NotEct, Settings, Signal};

/// Returns the tables for a switch, as `config load` and `sonic-cfggen -j` read them: the WRED
/// profile and its queues. Buffers are of the whole switch, so only [`merge`](super::merge) sees
/// what a change of them would touch.
///
/// # Errors
/// SONiC cannot express the marker, or there is none.
pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    let wred = Wred::new(settings, place)?;
    let ports = place.ports_or(VENDOR.example_port());
    if let Some(range) = ports.iter().find(|port| port_range(port).is_some()) {
        let problem = format!(
            "which ports `{range}` has is in the switch's table PORT: pass its config_db.json with \
             --merge of `export`, or name each port"
        );
        return Err(ConfigError::placement(VENDOR, problem));
    }
    let queues: Map<String, Value> = ports
        .iter()
        .map(|port| (format!("{port}|{}", place.queue), json!({ "wred_profile": wred.name })))
        .collect();
    let tables = json!({ "WRED_PROFILE": { &wred.name: wred.fields }, "QUEUE": queues });
    let mut notes = vec![wred.note.to_owned()];
    notes.push(
        "The buffer was not touched: alpha, reserved memory and pools are exported only into the \
         present configuration (--merge config_db.json), which also finds queues that are bound by \
         a range, as Ethernet0|0-2."
            .to_owned(),
    );
    Ok(Configuration::new(VENDOR, settings, Content::Json(tables), notes))
}

/// Prefix and both numbers of a range of ports, as `Ethernet0-188`.
pub(super) fn port_range(port: &str) -> Option<(&str, u32, u32)> {
    let (first, last) = port.split_once('-')?;
    let prefix = first.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((prefix, first[prefix.len()..].parse().ok()?, last.parse().ok()?))
}

/// The WRED profile of an export.
pub(super) struct Wred {
    pub(super) name: String,
    pub(super) fields: Map<String, Value>,
    /// The fate of packets that are not ECT.
    pub(super) note: &'static str,
}

impl Wred {
    pub(super) fn new(settings: &Settings, place: &Placement) -> Result<Self, ConfigError> {
        place.check(VENDOR, QUEUES, true)?;
        let Some(marking) = settings.marking else {
            let problem = "the scenario has no marker, so there is nothing to export";
            return Err(ConfigError::inexpressible(VENDOR, "mark", problem));
        };
        let note = not_ect(marking.signal)?;
        let name = place.profile(PROFILE).to_uppercase().replace('-', "_");
        Ok(Self { name, fields: wred(marking), note })
    }
}

/// The sentence about packets that are not ECT.
fn not_ect(signal: Signal) -> Result<&'static str, ConfigError> {
    match signal {
        Signal::Mark(NotEct::Drop) => {
            Ok("Packets that are not ECT are usually dropped where others are marked, as \
                simulated. This depends on the ASIC and its SAI: verify it with the WRED drop \
                counters (show queue wredcounters).")
        }
        Signal::Mark(NotEct::Ignore) => Err(ConfigError::inexpressible(
            VENDOR,
            "mark.not-ect",
            "WRED drops packets that are not ECT where it marks others, on most ASICs: simulate \
             `not-ect = \"drop\"`, or give them a separate queue",
        )),
        Signal::Drop => Ok("All packets are dropped by WRED, ECT or not, as simulated."),
    }
}

/// Fields of a WRED profile; all colours have the values of green.
fn wred(marking: Marking) -> Map<String, Value> {
    let (min, max, percent) = marking.thresholds.corners();
    let ecn = if marking.signal == Signal::Drop { "ecn_none" } else { "ecn_all" };
    let mut fields = Map::new();
    fields.insert("ecn".to_owned(), ecn.into());
    for colour in ["green", "yellow", "red"] {
        for (field, value) in [
            (format!("wred_{colour}_enable"), "true".to_owned()),
            (format!("{colour}_min_threshold"), min.as_u64().to_string()),
            (format!("{colour}_max_threshold"), max.as_u64().to_string()),
            (format!("{colour}_drop_probability"), percent.to_string()),
        ] {
            fields.insert(field, value.into());
        }
    }
    fields
}
