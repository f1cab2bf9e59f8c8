//! Transport switches in a file: the tables `sender`, `receiver` and `connection`.
//!
//! Contract: [`lowtide_tcp::switches`] is the list of switches. Switches read here have a known
//! name and a valid value.

use lowtide_tcp::switches::{self, Side};
use lowtide_tcp::{Config, Param, Value, ValueError, ValueKind, ack, cc, feedback};

use crate::diagnostics::Diagnostics;
use crate::error::{nearest, unknown};
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};
use crate::toml_writer::TomlWriter;

/// A transport switch set by the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SwitchSetting {
    /// Name, such as `window-floor` or `dctcp.shift-g`.
    pub(crate) name: String,
    /// Value as written.
    pub(crate) text: String,
    /// Location.
    pub(crate) at: SourceSpan,
    /// Set by an override or a sweep.
    pub(crate) is_override: bool,
}

/// Names of the three switch tables.
pub(crate) const SIDES: [&str; 3] = ["sender", "receiver", "connection"];

/// Side of each of [`SIDES`].
pub(crate) const SIDE_OF: [Side; 3] = [Side::Sender, Side::Receiver, Side::Connection];

/// Reads the three switch tables in `table`, which is at the dotted `path`.
pub(crate) fn read(
    table: &TomlNode,
    path: &str,
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<SwitchSetting> {
    let mut out = Vec::new();
    for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
        let Some(entry) = table.entry(name) else { continue };
        let path = format!("{path}.{name}");
        if !matches!(entry.node.data, TomlData::Table(_)) {
            let message = format!("`{path}` is {}, expected a table", entry.node.kind());
            diagnostics.add(entry.node.at, message, None);
            continue;
        }
        read_switches(&entry.node, "", &path, side, diagnostics, &mut out);
    }
    out
}

/// Returns the name of the table for switches of a side.
pub(crate) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Sender => SIDES[0],
        Side::Receiver => SIDES[1],
        Side::Connection => SIDES[2],
    }
}

/// Reads a table of switches; a nested table holds the parameters of a registered file.
fn read_switches(
    table: &TomlNode,
    prefix: &str,
    path: &str,
    side: Side,
    diagnostics: &mut Diagnostics<'_>,
    out: &mut Vec<SwitchSetting>,
) {
    for entry in table.entries() {
        let name = format!("{prefix}{}", entry.key);
        if matches!(entry.node.data, TomlData::Table(_)) && prefix.is_empty() {
            read_switches(&entry.node, &format!("{name}."), path, side, diagnostics, out);
            continue;
        }
        if let Err((message, help)) = check_switch_name(&name, side, path) {
            diagnostics.add(entry.key_at, message, help);
            continue;
        }
        let Some(text) = entry.node.scalar() else {
            let message = format!("`{name}` is {}, expected a single value", entry.node.kind());
            diagnostics.add(entry.node.at, message, None);
            continue;
        };
        if let Err((error, help)) = check_switch_value(&name, &text) {
            diagnostics.add(entry.node.at, format!("`{name}`: {error}"), help);
            continue;
        }
        out.push(SwitchSetting {
            name,
            text,
            at: entry.node.at,
            is_override: entry.node.is_override,
        });
    }
}

/// Checks that a switch of that name belongs to the side; returns the message and help otherwise.
pub(crate) fn check_switch_name(
    name: &str,
    side: Side,
    path: &str,
) -> Result<switches::Setting, (String, Option<String>)> {
    match switches::find(name) {
        Some(found) if found.side() == side => Ok(found),
        Some(found) => {
            let owner = side_name(found.side());
            let message = format!("`{name}` is a {owner} switch, not a {} one", side_name(side));
            let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
            Err((message, Some(format!("write it in [{parent}.{owner}]"))))
        }
        None => {
            let names: Vec<String> = switches::all()
                .iter()
                .filter(|s| s.side() == side)
                .map(switches::Setting::name)
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let message = format!("no {} switch `{name}`", side_name(side));
            Err(unknown(message, name, &names))
        }
    }
}

/// Checks the value of a switch; returns the error and help otherwise.
fn check_switch_value(name: &str, text: &str) -> Result<(), (ValueError, Option<String>)> {
    match switches::set_text(&mut Config::default(), name, text) {
        Err(switches::SwitchError::Value { error, accepts, .. }) => {
            let names = match switches::find(name).map(|s| s.kind()) {
                Some(ValueKind::Name { allowed, .. } | ValueKind::NameOrCount { allowed, .. }) => {
                    allowed()
                }
                Some(ValueKind::Choice(names)) => names.to_vec(),
                _ => Vec::new(),
            };
            let near = nearest(text, names).map(|near| format!("did you mean `{near}`?"));
            // Most errors already contain it.
            let included = error.to_string().contains(&accepts);
            Err((error, near.or_else(|| (!included).then(|| format!("it takes {accepts}")))))
        }
        _ => Ok(()),
    }
}

/// Returns help for a switch that was written outside of its table.
pub(crate) fn switch_help(path: &str, name: &str) -> Option<String> {
    let side = side_name(switches::find(name)?.side());
    Some(format!("`{name}` is a {side} switch; write it in [{path}.{side}]"))
}

/// Writes the three tables below the dotted `path`: all switches, and the parameters of chosen
/// files. Parameters of further files that the hosts choose when they are `moved` are written too.
pub(crate) fn write(out: &mut TomlWriter, path: &str, config: &Config, moved: Option<&Config>) {
    let own = owners(config);
    let further = moved.map(|moved| (moved, owners(moved)));
    let value = |setting: &switches::Setting| match setting {
        switches::Setting::Param { owner, .. } if own.iter().all(|(name, _)| name != owner) => {
            let (moved, owners) = further.as_ref()?;
            owners.iter().any(|(name, _)| name == owner).then(|| setting.get(moved))?
        }
        _ => setting.get(config),
    };
    let all = switches::all();
    for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
        out.table(&format!("{path}.{name}"));
        for setting in all.iter().filter(|s| s.side() == side) {
            let Some(value) = value(setting) else { continue };
            match value {
                Value::Bool(_) | Value::Count(_) => out.bare(&setting.name(), value),
                _ => out.text(&setting.name(), value),
            }
        }
    }
}

/// Returns the registered files that a configuration chooses, with their parameters.
pub(crate) fn owners(config: &Config) -> Vec<(&'static str, &'static [Param])> {
    let mut out = Vec::new();
    out.extend(cc::REGISTRY.find(config.cc).map(|e| (e.name, e.params)));
    out.extend(feedback::REGISTRY.find(config.feedback).map(|e| (e.name, e.params)));
    out.extend(ack::REGISTRY.find(config.ack).map(|e| (e.name, e.params)));
    out
}
