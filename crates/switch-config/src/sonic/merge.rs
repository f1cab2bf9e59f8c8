//! A marker and an alpha in the present configuration of a switch.
//!
//! Contract: of what is there only the chosen queues of the chosen ports change. An entry for
//! several queues (`Ethernet0|0-2`) is split, so that the others keep their profiles. Pools stay;
//! alpha is in a separate buffer profile, in the pool of the queue's present one. The result is
//! a whole configuration, for `config replace`.

use serde_json::{Map, Value, json};

use super::bindings::{Binding, bindings, covering};
use super::export::{Wred, port_range};
use super::tables::{Tables, referenced};
use super::{PROFILE, VENDOR};
use crate::configuration::{Configuration, Content, Placement};
use crate::error::ConfigError;
use crate::settings::{Buffer, Settings, exponent};

/// Returns the configuration `present` with these settings. The notes end with one line for each
/// changed entry. A queue that has another WRED profile is refused unless `replace`.
///
/// # Errors
/// SONiC cannot express the settings, or the switch has no such port, or its entries overlap.
pub fn merge(
    settings: &Settings,
    place: &Placement,
    present: &Value,
    replace: bool,
) -> Result<Configuration, ConfigError> {
    let tables = Tables::join(std::slice::from_ref(present))?;
    let place = &Placement { ports: ports(&tables, &place.ports)?, ..place.clone() };
    let wred = Wred::new(settings, place)?;
    check_switch(&tables, place)?;
    let mut merge = Merge { whole: present.clone(), changes: Vec::new() };
    let mut notes = vec![wred.note.to_owned()];

    let queues = bindings(&tables, "QUEUE", "wred_profile")?;
    for port in &place.ports {
        let found = covering(&queues, "QUEUE", port, place.queue)?;
        if let Some(other) = found.and_then(|b| b.profile.as_ref()).filter(|p| **p != wred.name)
            && !replace
        {
            let problem = format!(
                "queue {} has the WRED profile {other}: choose another one with --queue, or pass \
                 --replace",
                place.queue
            );
            return Err(ConfigError::field(format!("QUEUE|{port}"), problem));
        }
        merge.bind("QUEUE", port, place.queue, found, ("wred_profile", &wred.name))?;
    }
    let elsewhere = |binding: &&Binding| {
        let more_queues = (binding.first..=binding.last).any(|n| n != place.queue);
        let more_ports = binding.ports.iter().any(|port| !place.ports.contains(port));
        binding.profile.as_ref() == Some(&wred.name) && (more_queues || more_ports)
    };
    let old = present.pointer(&pointer("WRED_PROFILE", &wred.name));
    if old.is_some_and(|old| *old != Value::from(wred.fields.clone()))
        && let Some(other) = queues.iter().find(elsewhere)
    {
        let problem = format!(
            "it has other values, and QUEUE|{} uses it: export that queue in the same run, or \
             rename its profile",
            other.key
        );
        return Err(ConfigError::field(format!("WRED_PROFILE|{}", wred.name), problem));
    }
    merge.insert("WRED_PROFILE", &wred.name, wred.fields);
    notes.push(merge.alpha(settings, place, &tables)?);
    notes.push(
        "The whole configuration, for `config replace`; only these entries differ from the \
         present one:"
            .to_owned(),
    );
    let mut configuration =
        Configuration::new(VENDOR, settings, Content::Json(Value::Null), Vec::new());
    configuration.notes.extend(notes);
    configuration.notes.append(&mut merge.changes);
    configuration.content = Content::Json(merge.whole);
    Ok(configuration)
}

/// The ports, where `Ethernet0-188` is those of the table `PORT` from the first to the last number.
fn ports(tables: &Tables, wanted: &[String]) -> Result<Vec<String>, ConfigError> {
    let mut out = Vec::new();
    for port in wanted {
        let Some((prefix, first, last)) = port_range(port) else {
            out.push(port.clone());
            continue;
        };
        let within = |name: &str| {
            let number = name.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
            number.filter(|n| (first..=last).contains(n))
        };
        let mut found: Vec<(u32, &str)> = tables
            .entries("PORT")
            .filter_map(|(name, _)| Some((within(name)?, name.as_str())))
            .collect();
        if found.is_empty() {
            let problem = format!("the configuration has no ports of the range `{port}`");
            return Err(ConfigError::placement(VENDOR, problem));
        }
        found.sort_unstable();
        out.extend(found.into_iter().map(|(_, name)| name.to_owned()));
    }
    let mut seen = std::collections::BTreeSet::new();
    out.retain(|port| seen.insert(port.clone()));
    Ok(out)
}

/// Checks that the switch has the ports, and tables that are read here.
fn check_switch(tables: &Tables, place: &Placement) -> Result<(), ConfigError> {
    let host = tables.find("DEVICE_METADATA", "localhost");
    if host.and_then(|host| host.get("switch_type")).is_some_and(|kind| kind == "voq") {
        let problem = "chassis with virtual output queues (switch_type `voq`) are not exported";
        return Err(ConfigError::placement(VENDOR, problem));
    }
    if place.ports.is_empty() {
        let problem = "name the ports whose queue changes: --ports Ethernet0,Ethernet4";
        return Err(ConfigError::placement(VENDOR, problem));
    }
    let names: Vec<&str> = tables.entries("PORT").map(|(port, _)| port.as_str()).collect();
    match place.ports.iter().find(|port| !names.contains(&port.as_str())) {
        None => Ok(()),
        Some(port) => {
            let some = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            let problem = format!(
                "the configuration has no port `{port}`: its table PORT has {} ({some} ...)",
                names.len()
            );
            Err(ConfigError::placement(VENDOR, problem))
        }
    }
}

/// The configuration so far.
struct Merge {
    whole: Value,
    /// One line for each changed entry.
    changes: Vec<String>,
}

impl Merge {
    /// Binds a profile to one queue of a port. `found` is the entry that covers the queue.
    fn bind(
        &mut self,
        table: &str,
        port: &str,
        queue: u8,
        found: Option<&Binding>,
        (field, profile): (&str, &str),
    ) -> Result<(), ConfigError> {
        let mut fields = Map::new();
        if let Some(binding) = found {
            let key = &binding.key;
            if binding.ports.len() > 1 || key.matches('|').count() > 1 {
                let problem = "an entry for several ports is not changed: write one for each port";
                return Err(ConfigError::field(format!("{table}|{key}"), problem));
            }
            let old = self.whole.pointer(&pointer(table, key)).and_then(Value::as_object);
            fields = old.cloned().unwrap_or_default();
            if binding.first < binding.last {
                self.remove(table, key);
                for (first, last) in [
                    (binding.first, queue.checked_sub(1)),
                    (queue.saturating_add(1), Some(binding.last)),
                ] {
                    if let Some(last) = last.filter(|last| first <= *last) {
                        let range = if first == last {
                            format!("{port}|{first}")
                        } else {
                            format!("{port}|{first}-{last}")
                        };
                        self.insert(table, &range, fields.clone());
                    }
                }
            }
        }
        fields.insert(field.to_owned(), profile.into());
        self.insert(table, &format!("{port}|{queue}"), fields);
        Ok(())
    }

    /// Gives the queues a buffer profile with the alpha of `settings`. Returns what was done.
    fn alpha(
        &mut self,
        settings: &Settings,
        place: &Placement,
        tables: &Tables,
    ) -> Result<String, ConfigError> {
        let Some(Buffer::Dynamic { alpha, .. }) = settings.buffer else {
            return Ok("The buffer was not touched: the scenario has no dynamic buffer.".to_owned());
        };
        let wanted = exponent(VENDOR, alpha)?.to_string();
        let buffers = bindings(tables, "BUFFER_QUEUE", "profile")?;
        let name = format!("{PROFILE}_ALPHA_{}", alpha.to_string().replace('/', "_"));
        let mut own: Option<Map<String, Value>> = None;
        for port in &place.ports {
            let found = covering(&buffers, "BUFFER_QUEUE", port, place.queue)?;
            let Some(old) = found.and_then(|binding| binding.profile.as_deref()) else {
                let problem = format!(
                    "queue {} has no buffer profile, so its pool is not known: bind one first",
                    place.queue
                );
                return Err(ConfigError::field(format!("BUFFER_QUEUE|{port}"), problem));
            };
            let fields = tables.entry("BUFFER_PROFILE", old)?;
            let pool = fields.get("pool").map_or("", |pool| referenced(pool));
            if tables.entry("BUFFER_POOL", pool)?.get("mode").is_none_or(|mode| mode != "dynamic") {
                let problem = format!(
                    "the pool of queue {} is not dynamic, so it has no alpha: choose another queue",
                    place.queue
                );
                return Err(ConfigError::field(format!("BUFFER_POOL|{pool}|mode"), problem));
            }
            if fields.get("dynamic_th") == Some(&wanted) {
                continue;
            }
            let old = self.whole.pointer(&pointer("BUFFER_PROFILE", old));
            let mut profile = old.and_then(Value::as_object).cloned().unwrap_or_default();
            profile.insert("dynamic_th".to_owned(), json!(wanted));
            if own.as_ref().is_some_and(|own| *own != profile) {
                let problem = "the ports differ in pool or reserve: export them one after another";
                return Err(ConfigError::field(format!("BUFFER_QUEUE|{port}"), problem));
            }
            own = Some(profile);
            self.bind("BUFFER_QUEUE", port, place.queue, found, ("profile", &name))?;
        }
        let Some(own) = own else {
            return Ok(format!(
                "The buffer was not touched: these queues have dynamic_th {wanted} already."
            ));
        };
        if let Some(other) = tables.find("BUFFER_PROFILE", &name)
            && own.get("pool").and_then(Value::as_str) != other.get("pool").map(String::as_str)
        {
            let problem = "it exists in another pool: rename or remove it first";
            return Err(ConfigError::field(format!("BUFFER_PROFILE|{name}"), problem));
        }
        self.insert("BUFFER_PROFILE", &name, own);
        Ok(format!(
            "Alpha is in the buffer profile {name}; pools and reserved memory stay as they are. The \
             range of dynamic_th depends on the ASIC: -7 to 6 on Spectrum, -6 to 3 in Dell \
             Enterprise SONiC."
        ))
    }

    /// Sets an entry, and notes the change if it is one.
    fn insert(&mut self, table: &str, key: &str, fields: Map<String, Value>) {
        let (new, entries) = (Value::from(fields), &mut self.whole[table]);
        let old = entries.get(key).cloned();
        if old.as_ref() == Some(&new) {
            return;
        }
        self.changes.extend(old.map(|old| format!("- {table}|{key} {old}")));
        self.changes.push(format!("+ {table}|{key} {new}"));
        entries[key] = new;
    }

    fn remove(&mut self, table: &str, key: &str) {
        let entries = self.whole.get_mut(table).and_then(Value::as_object_mut);
        if let Some(old) = entries.and_then(|entries| entries.shift_remove(key)) {
            self.changes.push(format!("- {table}|{key} {old}"));
        }
    }
}

/// The JSON pointer of an entry (RFC 6901).
fn pointer(table: &str, key: &str) -> String {
    let escaped = |text: &str| text.replace('~', "~0").replace('/', "~1");
    format!("/{}/{}", escaped(table), escaped(key))
}
