//! Markers (AQM): the tables `mark`. Their keys are the parameters that each marker declares.

use lowtide_net::MarkSpec;
use lowtide_net::aqm::{self, MarkerEntry};
use lowtide_net::profiles::{self, SwitchProfile};
use lowtide_schema::DefaultValue::{Is, Required};
use lowtide_schema::Values;

use super::param;
use super::read_context::ReadContext;
use crate::keys::{KeySpec, key};
use crate::model::MarkTable;
use crate::reader::TableReader;
use crate::toml_writer::TomlWriter;
use crate::value::{KeyType, NameSet};

/// Keys of every marker, in any table.
pub(super) static KEYS: &[KeySpec] = &[key(
    "kind",
    KeyType::Name(NameSet::Markers),
    Is("droptail"),
    "Marker; the other keys depend on it.",
)];

/// Reads the table of a marker. The reader knows the keys of all markers.
pub(super) fn read(r: &mut TableReader<'_, '_, '_>) -> MarkTable {
    // The other keys of an unknown marker have no meaning, so only its name is reported.
    let Some(entry) = r.text("kind").and_then(|kind| aqm::REGISTRY.find(&kind)) else {
        return MarkTable { spec: MarkSpec::NONE, kind_at: r.at("kind"), keys: Vec::new() };
    };
    let keys = entry.params.iter().map(|p| p.name).filter(|name| r.has(name));
    let keys = keys.map(|name| (name, r.at(name))).collect();
    let spec = spec(r, entry).unwrap_or(MarkSpec::NONE);
    MarkTable { spec, kind_at: r.at("kind"), keys }
}

/// Reads the marker; `None` if an error was reported.
fn spec(r: &mut TableReader<'_, '_, '_>, entry: &'static MarkerEntry) -> Option<MarkSpec> {
    foreign(r, entry);
    let own: Vec<KeySpec> = entry.params.iter().map(KeySpec::of_param).collect();
    r.respecify(&own);
    let mut values = Values::new();
    let mut complete = true;
    for param in entry.params {
        let name = param.name;
        if matches!(param.default, Required) && !r.has(name) {
            let help = format!("{} Give {}", param.doc, r.describe(name));
            r.report("kind", format!("a `{}` marker needs its `{name}`", entry.name), Some(help));
            complete = false;
            continue;
        }
        let value = r.single(name);
        complete &= value.is_some() || !r.has(name);
        if let Some(value) = value {
            values.set(name, value);
        }
    }
    if !complete {
        return None;
    }
    let checked = Values::complete(entry.params, |param| values.get(param.name).cloned());
    match checked.and_then(|values| MarkSpec::configure(entry, values)) {
        Ok(spec) => Some(spec),
        Err(error) => {
            r.report(error.param.unwrap_or("kind"), error.message, error.help);
            None
        }
    }
}

/// Reports keys that belong to other markers.
fn foreign(r: &mut TableReader<'_, '_, '_>, entry: &MarkerEntry) {
    let has = |marker: &MarkerEntry, key: &str| marker.params.iter().any(|p| p.name == key);
    let names: Vec<&str> = r.key_names().filter(|name| *name != "kind").collect();
    for key in names.into_iter().filter(|name| !has(entry, name)) {
        if !r.has(key) {
            continue;
        }
        let kinds: Vec<&str> =
            aqm::REGISTRY.all().filter(|m| has(m, key)).map(|m| m.name).collect();
        let (message, help) = match kinds.as_slice() {
            [one] => (
                format!("`{key}` belongs to `{one}`"),
                format!("write `kind = \"{one}\"`, or remove it"),
            ),
            _ if entry.params.is_empty() => {
                let kinds: Vec<String> =
                    kinds.iter().map(|k| format!("`kind = \"{k}\"`")).collect();
                (
                    format!("`{key}` has no effect without a marker"),
                    format!("remove it, or write {}", kinds.join(" or ")),
                )
            }
            _ => (
                format!("`{key}` has no effect on `{}`", entry.name),
                format!("it belongs to {}; remove it", kinds.join(", ")),
            ),
        };
        r.report(key, message, Some(help));
    }
}

/// Writes the keys of a marker.
pub(super) fn write(out: &mut TomlWriter, mark: &MarkTable) {
    out.text("kind", mark.spec.name());
    param::write(out, mark.spec.values());
}

/// Reports a marker on a switch without ECN.
pub(super) fn report_no_ecn(
    file: &mut ReadContext<'_, '_, '_>,
    profile: Option<&SwitchProfile>,
    mark: &MarkTable,
) {
    let Some(profile) = profile.filter(|p| !p.ecn) else { return };
    if mark.spec.sets_ce().is_some() {
        let message =
            format!("a {} cannot mark: it has no ECN ({})", profile.name, profile.summary);
        let help =
            format!("remove the marker, or choose a switch with ECN: {}", marking().join(", "));
        file.diagnostics.add(mark.kind_at, message, Some(help));
    }
}

fn marking() -> Vec<&'static str> {
    profiles::REGISTRY.all().filter(|p| p.ecn).map(|p| p.name).collect()
}
