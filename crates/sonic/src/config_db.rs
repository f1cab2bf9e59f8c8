//! [`Settings`] to and from the tables of CONFIG_DB.

use std::collections::{BTreeMap, BTreeSet};

use lowtide_units::Bytes;
use serde_json::{Map, Value, json};

use crate::error::SonicError;
use crate::settings::{Buffer, MAX_EXPONENT, MIN_EXPONENT, Marking, Settings, Thresholds};

/// Name of the exported WRED profile.
const WRED: &str = "LOWTIDE";
/// Names of the exported buffer profile and pool: those of SONiC for lossy traffic.
const BUFFER_PROFILE: &str = "egress_lossy_profile";
const BUFFER_POOL: &str = "egress_lossy_pool";

/// Values of `ecn` with which green packets are marked.
const MARK_GREEN: [&str; 4] = ["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"];
/// Values of `ecn` with which they are dropped.
const DROP_GREEN: [&str; 4] = ["ecn_none", "ecn_yellow", "ecn_red", "ecn_yellow_red"];

/// Ports and queue that an export is for.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Names of the ports, as `Ethernet0`.
    pub ports: Vec<String>,
    /// Number of the egress queue.
    pub queue: u8,
}

/// Returns the tables for a switch, as `config load` and `sonic-cfggen -j` read them.
///
/// # Errors
/// What is reserved for the ports is more than the memory.
pub fn export(settings: &Settings, place: &Placement) -> Result<Value, SonicError> {
    let mut out = Map::new();
    let at = |port: &String| format!("{port}|{}", place.queue);
    let per_port = |field: &str, name: &str| -> Value {
        place
            .ports
            .iter()
            .map(|port| (at(port), json!({ field: name })))
            .collect::<Map<_, _>>()
            .into()
    };
    if let Some(marking) = settings.marking {
        out.insert("WRED_PROFILE".to_owned(), json!({ WRED: wred(marking) }));
        out.insert("QUEUE".to_owned(), per_port("wred_profile", WRED));
    }
    let Some(buffer) = settings.buffer else { return Ok(out.into()) };
    let (pool, profile) = match buffer {
        Buffer::Dynamic { exponent, memory, reserved } => {
            let ports = place.ports.len() as u64;
            let all = reserved.as_u64().checked_mul(ports);
            let Some(pool) = all.and_then(|all| memory.as_u64().checked_sub(all)) else {
                let problem = format!("{reserved} for each of {ports} ports exceed {memory}");
                return Err(SonicError::inexpressible("reserved", problem));
            };
            let pool = json!({"type": "egress", "mode": "dynamic", "size": pool.to_string()});
            let reserved = reserved.as_u64().to_string();
            let profile = json!({
                "pool": BUFFER_POOL, "size": reserved, "dynamic_th": exponent.to_string(),
            });
            (pool, profile)
        }
        Buffer::Static(limit) => {
            let limit = limit.as_u64().to_string();
            let pool = json!({"type": "egress", "mode": "static", "size": limit});
            (pool, json!({"pool": BUFFER_POOL, "size": "0", "static_th": limit}))
        }
    };
    out.insert("BUFFER_POOL".to_owned(), json!({ BUFFER_POOL: pool }));
    out.insert("BUFFER_PROFILE".to_owned(), json!({ BUFFER_PROFILE: profile }));
    out.insert("BUFFER_QUEUE".to_owned(), per_port("profile", BUFFER_PROFILE));
    Ok(out.into())
}

/// Fields of a WRED profile; all colours have the values of green.
fn wred(marking: Marking) -> Value {
    let (min, max, percent) = match marking.thresholds {
        Thresholds::Step(k) => (k, k, 100),
        Thresholds::Ramp { min, max, max_percent } => (min, max, max_percent),
    };
    let mut fields = Map::new();
    fields.insert("ecn".to_owned(), if marking.ecn { "ecn_all" } else { "ecn_none" }.into());
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
pub fn import(files: &[Value], queue: Option<u8>) -> Result<Settings, SonicError> {
    let tables = Tables::merge(files)?;
    let wred = tables.of_queue("QUEUE", "wred_profile", "WRED_PROFILE", queue)?;
    let buffer = tables.of_queue("BUFFER_QUEUE", "profile", "BUFFER_PROFILE", queue)?;
    if wred.is_none() && buffer.is_none() {
        let at = "WRED_PROFILE, BUFFER_PROFILE";
        return Err(SonicError::field(at, "the files have neither table for an egress queue"));
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
    fn merge(files: &[Value]) -> Result<Self, SonicError> {
        let mut all = Self::default();
        let not_an_object =
            |at: &str| SonicError::field(at, "expected an object, as CONFIG_DB has it");
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
                        return Err(SonicError::Conflict(at));
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
    ) -> Result<Option<String>, SonicError> {
        let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (entry, fields) in self.entries(table) {
            let Some(name) = fields.get(field) else { continue };
            let numbers = entry.rsplit('|').next().unwrap_or_default();
            let (first, last) = queue_range(numbers).ok_or_else(|| {
                let problem = "expected PORT|QUEUE or PORT|FIRST-LAST";
                SonicError::field(format!("{table}|{entry}"), problem)
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
            return Err(SonicError::SeveralQueues(format!("{table} {}", list.join("; "))));
        }
        Ok(names.into_keys().next())
    }

    /// True unless the entry uses a pool of type `ingress`.
    fn is_egress(&self, fields: &Fields) -> bool {
        let Some(pool) = fields.get("pool") else { return true };
        let pool = self.entry("BUFFER_POOL", referenced(pool));
        pool.ok().and_then(|pool| pool.get("type")).is_none_or(|kind| kind != "ingress")
    }

    fn entry(&self, table: &str, name: &str) -> Result<&Fields, SonicError> {
        self.0.get(table).and_then(|entries| entries.get(name)).ok_or_else(|| {
            SonicError::field(format!("{table}|{name}"), "the files do not have this entry")
        })
    }

    fn marking(&self, name: &str) -> Result<Option<Marking>, SonicError> {
        let fields = self.entry("WRED_PROFILE", name)?;
        let at = |field: &str| format!("WRED_PROFILE|{name}|{field}");
        if fields.get("wred_green_enable").is_none_or(|on| on != "true") {
            return Ok(None);
        }
        let ecn = fields.get("ecn").map_or("ecn_none", String::as_str);
        let ecn = match ecn {
            _ if MARK_GREEN.contains(&ecn) => true,
            _ if DROP_GREEN.contains(&ecn) => false,
            _ => {
                let known = [MARK_GREEN, DROP_GREEN].concat().join(", ");
                return Err(SonicError::field(at("ecn"), format!("`{ecn}` is none of {known}")));
            }
        };
        let number = |field: &str| number(fields, field, &at(field));
        let (min, max) = (number("green_min_threshold")?, number("green_max_threshold")?);
        let thresholds = match min.cmp(&max) {
            std::cmp::Ordering::Equal if ecn => Thresholds::Step(Bytes::new(min)),
            std::cmp::Ordering::Equal => {
                let problem = "drops without ECN need it above green_min_threshold; a sharp limit \
                               is a buffer";
                return Err(SonicError::field(at("green_max_threshold"), problem));
            }
            std::cmp::Ordering::Greater => {
                let problem = format!("{max} is below green_min_threshold, {min}");
                return Err(SonicError::field(at("green_max_threshold"), problem));
            }
            std::cmp::Ordering::Less => {
                let percent = number("green_drop_probability")?;
                let percent = u8::try_from(percent).ok().filter(|p| (1..=100).contains(p));
                let Some(max_percent) = percent else {
                    let problem = "expected a percentage from 1 to 100";
                    return Err(SonicError::field(at("green_drop_probability"), problem));
                };
                Thresholds::Ramp { min: Bytes::new(min), max: Bytes::new(max), max_percent }
            }
        };
        Ok(Some(Marking { thresholds, ecn }))
    }

    fn buffer(&self, name: &str) -> Result<Buffer, SonicError> {
        let profile = self.entry("BUFFER_PROFILE", name)?;
        let at = |field: &str| format!("BUFFER_PROFILE|{name}|{field}");
        if profile.contains_key("static_th") {
            return number(profile, "static_th", &at("static_th"))
                .map(|n| Buffer::Static(Bytes::new(n)));
        }
        let Some(exponent) = profile.get("dynamic_th") else {
            return Err(SonicError::field(at("dynamic_th"), "neither it nor static_th is set"));
        };
        let exponent = exponent.parse::<i8>().ok();
        let Some(exponent) = exponent.filter(|e| (MIN_EXPONENT..=MAX_EXPONENT).contains(e)) else {
            let problem = format!(
                "expected {MIN_EXPONENT} to {MAX_EXPONENT}: alpha is 2^dynamic_th (-8 is no share, \
                 7 is no limit; neither is modelled)"
            );
            return Err(SonicError::field(at("dynamic_th"), problem));
        };
        let reserved = match profile.get("size") {
            Some(_) => number(profile, "size", &at("size"))?,
            None => 0,
        };
        let pool = profile.get("pool").map_or("", |pool| referenced(pool));
        let size = format!("BUFFER_POOL|{pool}|size");
        let pool = number(self.entry("BUFFER_POOL", pool)?, "size", &size)?;
        let memory = reserved.checked_mul(self.ports()).and_then(|all| all.checked_add(pool));
        let memory = memory.ok_or_else(|| SonicError::field(size, "too large"))?;
        let (memory, reserved) = (Bytes::new(memory), Bytes::new(reserved));
        Ok(Buffer::Dynamic { exponent, memory, reserved })
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

fn number(fields: &Fields, field: &str, at: &str) -> Result<u64, SonicError> {
    let text = fields.get(field).ok_or_else(|| SonicError::field(at, "it is missing"))?;
    text.parse().map_err(|_| SonicError::field(at, format!("`{text}` is no number of bytes")))
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
