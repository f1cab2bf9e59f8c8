//! Tables of SONiC as [`Settings`].

use std::collections::{BTreeMap, BTreeSet};

use lowtide_units::Bytes;
use serde_json::Value;

use super::bindings::{bindings, covering};
use super::tables::{Tables, number, referenced};
use crate::error::ConfigError;
use crate::settings::{
    Buffer, MAX_EXPONENT, MIN_EXPONENT, Marking, NotEct, Settings, Signal, Thresholds, power_of_two,
};

/// Values of `ecn` with which green packets are marked.
const MARK_GREEN: [&str; 4] = ["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"];
/// Values of `ecn` with which they are dropped.
const DROP_GREEN: [&str; 4] = ["ecn_none", "ecn_yellow", "ecn_red", "ecn_yellow_red"];

/// The settings of a queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// Queue and buffer.
    pub settings: Settings,
    /// Sentences: profiles that are not bound.
    pub notes: Vec<String>,
}

/// Reads the tables of one switch, each file as it was parsed. `port` and `queue` choose an egress
/// queue; without them all queues that the files name must have the same profiles.
///
/// # Errors
/// A table or field is missing or wrong, or the queues differ.
pub fn import(
    files: &[Value],
    port: Option<&str>,
    queue: Option<u8>,
) -> Result<Import, ConfigError> {
    let tables = Tables::join(files)?;
    let Profiles { wred, buffer } = tables.profiles(port, queue)?;
    let mut notes = Vec::new();
    let mut unbound = |table: &str, profiles: &str, means: &str| {
        let names: Vec<&str> = tables.entries(profiles).map(|(name, _)| name.as_str()).collect();
        let others = match names.as_slice() {
            [] => String::new(),
            names => format!("; {profiles} has {}", names.join(", ")),
        };
        notes.push(format!("{table} binds no profile to this queue: {means}{others}"));
    };
    if wred.is_none() {
        unbound("QUEUE", "WRED_PROFILE", "no marker");
    }
    if buffer.is_none() {
        unbound("BUFFER_QUEUE", "BUFFER_PROFILE", "its buffer is not known");
    }
    let marking = wred.map(|name| tables.marking(&name)).transpose()?.flatten();
    let buffer = buffer.map(|name| tables.buffer(&name)).transpose()?;
    Ok(Import { settings: Settings { marking, buffer }, notes })
}

/// Names of the profiles of a queue.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Profiles {
    wred: Option<String>,
    buffer: Option<String>,
}

impl Tables {
    /// The profiles that all chosen queues have.
    fn profiles(&self, port: Option<&str>, queue: Option<u8>) -> Result<Profiles, ConfigError> {
        let wred = bindings(self, "QUEUE", "wred_profile")?;
        let buffer = bindings(self, "BUFFER_QUEUE", "profile")?;
        let mut queues = BTreeSet::new();
        for binding in wred.iter().chain(&buffer) {
            for name in &binding.ports {
                let chosen = port.map_or(name != "CPU", |port| port == name);
                let numbers = (binding.first..=binding.last)
                    .filter(|n| chosen && queue.is_none_or(|queue| queue == *n));
                queues.extend(numbers.map(|n| (name.as_str(), n)));
            }
        }
        let mut kinds: BTreeMap<Profiles, Vec<(&str, u8)>> = BTreeMap::new();
        for (port, queue) in queues {
            let profile = |all, table| {
                covering(all, table, port, queue).map(|found| found.and_then(|b| b.profile.clone()))
            };
            let wred = profile(&wred, "QUEUE")?;
            let buffer = profile(&buffer, "BUFFER_QUEUE")?;
            kinds.entry(Profiles { wred, buffer }).or_default().push((port, queue));
        }
        if kinds.len() > 1 {
            return Err(differ(&kinds));
        }
        kinds.into_keys().next().ok_or_else(|| {
            let of = |what: &str, chosen: Option<String>| {
                chosen.map(|chosen| format!(" of {what}{chosen}")).unwrap_or_default()
            };
            let queue = of("queue ", queue.map(|n| n.to_string()));
            let port = of("", port.map(str::to_owned));
            let problem = format!("the files have no entry{queue}{port}");
            ConfigError::field("QUEUE, BUFFER_QUEUE", problem)
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

/// The error of queues that differ: at most three kinds, each with its first port and queues.
fn differ(kinds: &BTreeMap<Profiles, Vec<(&str, u8)>>) -> ConfigError {
    let kind = |(profiles, queues): (&Profiles, &Vec<(&str, u8)>)| {
        let (port, _) = queues[0];
        let numbers = queues.iter().filter(|(p, _)| *p == port).map(|(_, n)| n.to_string());
        let numbers: Vec<String> = numbers.collect();
        let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
        format!(
            "{port}|{} has WRED profile {} and buffer profile {}",
            numbers.join(","),
            name(&profiles.wred),
            name(&profiles.buffer)
        )
    };
    let mut list: Vec<String> = kinds.iter().take(3).map(kind).collect();
    if kinds.len() > list.len() {
        list.push(format!("{} more kinds", kinds.len() - list.len()));
    }
    let of_kinds = kinds.values().flat_map(|queues| {
        let mut ports: Vec<&str> = queues.iter().map(|(port, _)| *port).collect();
        ports.dedup();
        ports
    });
    let of_kinds: Vec<&str> = of_kinds.collect();
    let all: BTreeSet<&str> = of_kinds.iter().copied().collect();
    // If no port has two kinds, the ports differ and not their queues.
    let option = if of_kinds.len() > all.len() { "--queue" } else { "--port" };
    ConfigError::SeveralQueues(list.join("; "), option)
}
