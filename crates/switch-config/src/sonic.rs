//! SONiC: [`Settings`] to and from the tables of CONFIG_DB (`WRED_PROFILE`, `QUEUE`,
//! `BUFFER_POOL`, `BUFFER_PROFILE`, `BUFFER_QUEUE`, `PORT`).
//!
//! Thresholds are in bytes and may be equal. Packets that are not ECT are taken as dropped where
//! others are marked; this depends on the ASIC and its SAI. Packets are green unless a switch
//! meters them, so only the green thresholds count. Importing an export returns the same settings.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_units::Bytes;
use serde_json::{Map, Value, json};

use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{
    Buffer, MAX_EXPONENT, MIN_EXPONENT, Marking, NotEct, Settings, Signal, Thresholds, exponent,
    power_of_two,
};
use crate::vendor::Vendor;

const VENDOR: Vendor = Vendor::Sonic;
/// Egress queues of a port, unicast and multicast.
const QUEUES: u8 = 20;

/// Name of the exported WRED profile.
const WRED: &str = "LOWTIDE";
/// Names of the exported buffer profile and pool: those of SONiC for lossy traffic.
const BUFFER_PROFILE: &str = "egress_lossy_profile";
const BUFFER_POOL: &str = "egress_lossy_pool";

/// Values of `ecn` with which green packets are marked.
const MARK_GREEN: [&str; 4] = ["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"];
/// Values of `ecn` with which they are dropped.
const DROP_GREEN: [&str; 4] = ["ecn_none", "ecn_yellow", "ecn_red", "ecn_yellow_red"];

/// The range of alpha by hardware.
const ALPHA_RANGE: &str = "The range of dynamic_th depends on the ASIC: -7 to 6 on Spectrum, -6 to 3 \
    in Dell Enterprise SONiC.";

/// Returns the tables for a switch, as `config load` and `sonic-cfggen -j` read them.
///
/// # Errors
/// SONiC cannot express a setting, or what is reserved for the ports is more than the memory.
pub(crate) fn export(settings: &Settings, place: &Placement) -> Result<Configuration, ConfigError> {
    place.check(VENDOR, QUEUES, true)?;
    let ports = place.ports_or(VENDOR.example_port());
    let mut out = Map::new();
    let mut notes = Vec::new();
    let at = |port: &String| format!("{port}|{}", place.queue);
    let per_port = |field: &str, name: &str| -> Value {
        ports.iter().map(|port| (at(port), json!({ field: name }))).collect::<Map<_, _>>().into()
    };
    if let Some(marking) = settings.marking {
        notes.push(not_ect(marking.signal)?.to_owned());
        out.insert("WRED_PROFILE".to_owned(), json!({ WRED: wred(marking) }));
        out.insert("QUEUE".to_owned(), per_port("wred_profile", WRED));
    }
    if let Some(buffer) = settings.buffer {
        if matches!(buffer, Buffer::Dynamic { .. }) {
            notes.push(ALPHA_RANGE.to_owned());
        }
        let (pool, profile) = pool_and_profile(buffer, ports.len() as u64)?;
        out.insert("BUFFER_POOL".to_owned(), json!({ BUFFER_POOL: pool }));
        out.insert("BUFFER_PROFILE".to_owned(), json!({ BUFFER_PROFILE: profile }));
        out.insert("BUFFER_QUEUE".to_owned(), per_port("profile", BUFFER_PROFILE));
    }
    Ok(Configuration::new(VENDOR, settings, Content::Json(out.into()), notes))
}

/// The entries of `BUFFER_POOL` and `BUFFER_PROFILE`.
fn pool_and_profile(buffer: Buffer, ports: u64) -> Result<(Value, Value), ConfigError> {
    Ok(match buffer {
        Buffer::Dynamic { alpha, memory, reserved } => {
            let all = reserved.as_u64().checked_mul(ports);
            let Some(pool) = all.and_then(|all| memory.as_u64().checked_sub(all)) else {
                let problem = format!("{reserved} for each of {ports} ports exceed {memory}");
                return Err(ConfigError::inexpressible(VENDOR, "reserved", problem));
            };
            let exponent = exponent(VENDOR, alpha)?.to_string();
            let reserved = reserved.as_u64().to_string();
            (
                json!({"type": "egress", "mode": "dynamic", "size": pool.to_string()}),
                json!({"pool": BUFFER_POOL, "size": reserved, "dynamic_th": exponent}),
            )
        }
        Buffer::Static(limit) => {
            let limit = limit.as_u64().to_string();
            (
                json!({"type": "egress", "mode": "static", "size": limit}),
                json!({"pool": BUFFER_POOL, "size": "0", "static_th": limit}),
            )
        }
    })
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
fn wred(marking: Marking) -> Value {
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
    fields.into()
}

/// Reads the tables of one switch, each file as it was parsed. `queue` chooses an egress queue, and
/// may be omitted if all have the same settings.
///
/// # Errors
/// A table or field is missing or wrong, or the queues differ.
pub fn import(files: &[Value], queue: Option<u8>) -> Result<Settings, ConfigError> {
    let tables = Tables::merge(files)?;
    let wred = tables.of_queue("QUEUE", "wred_profile", "WRED_PROFILE", queue)?;
    let buffer = tables.of_queue("BUFFER_QUEUE", "profile", "BUFFER_PROFILE", queue)?;
    if wred.is_none() && buffer.is_none() {
        let at = "WRED_PROFILE, BUFFER_PROFILE";
        return Err(ConfigError::field(at, "the files have neither table for an egress queue"));
    }
    let marking = wred.map(|name| tables.marking(&name)).transpose()?.flatten();
    let buffer = buffer.map(|name| tables.buffer(&name)).transpose()?;
    Ok(Settings { marking, buffer })
}

/// Fields of an entry.
type Fields = BTreeMap<String, String>;

/// The tables of one switch: by table, then by entry.
#[derive(Default)]
struct Tables(BTreeMap<String, BTreeMap<String, Fields>>);

impl Tables {
    fn merge(files: &[Value]) -> Result<Self, ConfigError> {
        let mut all = Self::default();
        let not_an_object =
            |at: &str| ConfigError::field(at, "expected an object, as CONFIG_DB has it");
        for file in files {
            let tables = file.as_object().ok_or_else(|| not_an_object("the file"))?;
            for (table, entries) in tables {
                let entries = entries.as_object().ok_or_else(|| not_an_object(table))?;
                for (entry, fields) in entries {
                    let at = format!("{table}|{entry}");
                    let fields = fields.as_object().ok_or_else(|| not_an_object(&at))?;
                    let fields: Fields = fields.iter().filter_map(field_text).collect();
                    let entries = all.0.entry(table.clone()).or_default();
                    let old = entries.insert(entry.clone(), fields.clone());
                    if old.is_some_and(|old| old != fields) {
                        return Err(ConfigError::Conflict(at));
                    }
                }
            }
        }
        Ok(all)
    }

    fn entries(&self, table: &str) -> impl Iterator<Item = (&String, &Fields)> {
        self.0.get(table).into_iter().flatten()
    }

    /// The profile that the entries of `table` name for the egress queue; without such entries the
    /// only egress entry of `profiles`.
    fn of_queue(
        &self,
        table: &str,
        field: &str,
        profiles: &str,
        queue: Option<u8>,
    ) -> Result<Option<String>, ConfigError> {
        let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (entry, fields) in self.entries(table) {
            let Some(name) = fields.get(field) else { continue };
            let numbers = entry.rsplit('|').next().unwrap_or_default();
            let (first, last) = queue_range(numbers).ok_or_else(|| {
                let problem = "expected PORT|QUEUE or PORT|FIRST-LAST";
                ConfigError::field(format!("{table}|{entry}"), problem)
            })?;
            if queue.is_none_or(|n| (first..=last).contains(&n)) {
                names.entry(referenced(name).to_owned()).or_default().insert(numbers);
            }
        }
        if names.is_empty() && queue.is_none() {
            let all = self.entries(profiles).filter(|(_, fields)| self.is_egress(fields));
            names.extend(all.map(|(name, _)| (name.clone(), BTreeSet::new())));
        }
        if names.len() > 1 {
            let list: Vec<String> = names
                .iter()
                .map(|(name, queues)| {
                    let queues: Vec<&str> = queues.iter().copied().collect();
                    format!("{} ({name})", queues.join(", "))
                })
                .collect();
            return Err(ConfigError::SeveralQueues(format!("{table} {}", list.join("; "))));
        }
        Ok(names.into_keys().next())
    }

    /// True unless the entry uses a pool of type `ingress`.
    fn is_egress(&self, fields: &Fields) -> bool {
        let Some(pool) = fields.get("pool") else { return true };
        let pool = self.entry("BUFFER_POOL", referenced(pool));
        pool.ok().and_then(|pool| pool.get("type")).is_none_or(|kind| kind != "ingress")
    }

    fn entry(&self, table: &str, name: &str) -> Result<&Fields, ConfigError> {
        self.0.get(table).and_then(|entries| entries.get(name)).ok_or_else(|| {
            ConfigError::field(format!("{table}|{name}"), "the files do not have this entry")
        })
    }

    fn marking(&self, name: &str) -> Result<Option<Marking>, ConfigError> {
        let fields = self.entry("WRED_PROFILE", name)?;
        let at = |field: &str| format!("WRED_PROFILE|{name}|{field}");
        let mode = fields.get("ecn").map_or("ecn_none", String::as_str);
        let ecn = match mode {
            _ if MARK_GREEN.contains(&mode) => true,
            _ if DROP_GREEN.contains(&mode) => false,
            _ => {
                let known = [MARK_GREEN, DROP_GREEN].concat().join(", ");
                return Err(ConfigError::field(at("ecn"), format!("`{mode}` is none of {known}")));
            }
        };
        if fields.get("wred_green_enable").is_none_or(|on| on != "true") {
            // SAI (saiwred.h): the green thresholds are valid if either attribute is set.
            if ecn {
                let problem = format!(
                    "it is not `true`, but `ecn` is `{mode}`, and SAI lets either of them enable \
                     the thresholds: set `wred_green_enable` to `true` for a marker, or `ecn` to \
                     `ecn_none` for none"
                );
                return Err(ConfigError::field(at("wred_green_enable"), problem));
            }
            return Ok(None);
        }
        // Marks may start before drops: `ecn_green_...` since revision 2026-06-23 of the YANG
        // model, `green_ect_...` in the later proposal (sonic-swss #4719).
        let separate = ["ecn_green_", "green_ect_"];
        let of_marks = |field: &&String| separate.iter().any(|start| field.starts_with(start));
        if ecn && let Some(field) = fields.keys().find(of_marks) {
            let problem = "thresholds of marks that differ from those of drops are not modelled";
            return Err(ConfigError::field(at(field), problem));
        }
        let number = |field: &str| number(fields, field, &at(field));
        let (min, max) = (number("green_min_threshold")?, number("green_max_threshold")?);
        let thresholds = match min.cmp(&max) {
            std::cmp::Ordering::Equal if ecn => Thresholds::Step(Bytes::new(min)),
            std::cmp::Ordering::Equal => {
                let problem = "drops without ECN need it above green_min_threshold; a sharp limit \
                               is a buffer";
                return Err(ConfigError::field(at("green_max_threshold"), problem));
            }
            std::cmp::Ordering::Greater => {
                let problem = format!("{max} is below green_min_threshold, {min}");
                return Err(ConfigError::field(at("green_max_threshold"), problem));
            }
            std::cmp::Ordering::Less => {
                let percent = number("green_drop_probability")?;
                let percent = u8::try_from(percent).ok().filter(|p| (1..=100).contains(p));
                let Some(max_percent) = percent else {
                    let problem = "expected a percentage from 1 to 100";
                    return Err(ConfigError::field(at("green_drop_probability"), problem));
                };
                Thresholds::Ramp { min: Bytes::new(min), max: Bytes::new(max), max_percent }
            }
        };
        let signal = if ecn { Signal::Mark(NotEct::Drop) } else { Signal::Drop };
        Ok(Some(Marking { thresholds, signal }))
    }

    fn buffer(&self, name: &str) -> Result<Buffer, ConfigError> {
        let profile = self.entry("BUFFER_PROFILE", name)?;
        let at = |field: &str| format!("BUFFER_PROFILE|{name}|{field}");
        if profile.contains_key("static_th") {
            return number(profile, "static_th", &at("static_th"))
                .map(|n| Buffer::Static(Bytes::new(n)));
        }
        let Some(exponent) = profile.get("dynamic_th") else {
            return Err(ConfigError::field(at("dynamic_th"), "neither it nor static_th is set"));
        };
        let exponent = exponent.parse::<i8>().ok();
        let valid = exponent.filter(|e| (MIN_EXPONENT..=MAX_EXPONENT).contains(e));
        let Some(alpha) = valid.and_then(power_of_two) else {
            let problem = format!(
                "expected {MIN_EXPONENT} to {MAX_EXPONENT}: alpha is 2^dynamic_th (-8 is no share, \
                 7 is no limit; neither is modelled)"
            );
            return Err(ConfigError::field(at("dynamic_th"), problem));
        };
        let reserved = match profile.get("size") {
            Some(_) => number(profile, "size", &at("size"))?,
            None => 0,
        };
        let pool = profile.get("pool").map_or("", |pool| referenced(pool));
        let size = format!("BUFFER_POOL|{pool}|size");
        let pool = number(self.entry("BUFFER_POOL", pool)?, "size", &size)?;
        let memory = reserved.checked_mul(self.ports()).and_then(|all| all.checked_add(pool));
        let memory = memory.ok_or_else(|| ConfigError::field(size, "too large"))?;
        let (memory, reserved) = (Bytes::new(memory), Bytes::new(reserved));
        Ok(Buffer::Dynamic { alpha, memory, reserved })
    }

    /// Number of ports: of the table `PORT`, else of those that `BUFFER_QUEUE` names.
    fn ports(&self) -> u64 {
        let all = self.entries("PORT").map(|(port, _)| port.as_str());
        let mut ports: BTreeSet<&str> = all.collect();
        if ports.is_empty() {
            let named = self.entries("BUFFER_QUEUE").filter_map(|(at, _)| at.rsplit_once('|'));
            ports = named.flat_map(|(ports, _)| ports.split(',')).collect();
        }
        ports.len() as u64
    }
}

/// CONFIG_DB has texts; tools also write numbers. Lists are of no table that is read.
fn field_text((field, value): (&String, &Value)) -> Option<(String, String)> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return None,
    };
    Some((field.clone(), text))
}

fn number(fields: &Fields, field: &str, at: &str) -> Result<u64, ConfigError> {
    let text = fields.get(field).ok_or_else(|| ConfigError::field(at, "it is missing"))?;
    text.parse().map_err(|_| ConfigError::field(at, format!("`{text}` is no number of bytes")))
}

/// `3` or `3-4`.
fn queue_range(text: &str) -> Option<(u8, u8)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// The name of an entry, which releases before 202111 write as `[TABLE|NAME]`.
fn referenced(text: &str) -> &str {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.and_then(|text| text.split_once('|')).map_or(text, |(_, name)| name)
}

#[cfg(test)]
mod tests;
