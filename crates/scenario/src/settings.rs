//! The switches of a transport where a file has them: the tables `sender`, `receiver` and `connection`.
//!
//! Contract: the list of switches is [`lowtide_tcp::switches`]; what is read here has a name and a value
//! that it takes.

use lowtide_tcp::switches::{self, Side};
use lowtide_tcp::{Config, Param, Value, ValueError, ValueKind, ack, cc, feedback};

use crate::diagnostics::Diagnostics;
use crate::error::{nearest, suggest};
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};
use crate::toml_writer::TomlWriter;

/// One switch of the transport as the file sets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SwitchSetting {
    /// `window-floor`, `dctcp.shift-g`.
    pub(crate) name: String,
    /// The value as people write it.
    pub(crate) text: String,
    /// Where.
    pub(crate) at: SourceSpan,
    /// By an override or a sweep.
    pub(crate) is_override: bool,
}

/// The tables for switches of one side.
pub(crate) const SIDES: [&str; 3] = ["sender", "receiver", "connection"];

/// The side of each of [`SIDES`].
pub(crate) const SIDE_OF: [Side; 3] = [Side::Sender, Side::Receiver, Side::Connection];

/// Reads the three tables that stand in `table`, which is at the dotted `path`.
pub(crate) fn read(
    table: &TomlNode,
    path: &str,
    complaints: &mut Diagnostics<'_>,
) -> Vec<SwitchSetting> {
    let mut out = Vec::new();
    for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
        let Some(entry) = table.entry(name) else { continue };
        let path = format!("{path}.{name}");
        if !matches!(entry.node.data, TomlData::Table(_)) {
            let message = format!("`{path}` is {} where a table is wanted", entry.node.kind());
            complaints.add(entry.node.at, message, None);
            continue;
        }
        read_switches(&entry.node, "", &path, side, complaints, &mut out);
    }
    out
}

/// The table in which switches of a side are written.
pub(crate) const fn side_name(side: Side) -> &'static str {
    match side {
        Side::Sender => SIDES[0],
        Side::Receiver => SIDES[1],
        Side::Connection => SIDES[2],
    }
}

/// Reads a table of switches; a table within is the parameters of a registered file.
fn read_switches(
    table: &TomlNode,
    prefix: &str,
    path: &str,
    side: Side,
    complaints: &mut Diagnostics<'_>,
    out: &mut Vec<SwitchSetting>,
) {
    for entry in table.entries() {
        let name = format!("{prefix}{}", entry.key);
        if matches!(entry.node.data, TomlData::Table(_)) && prefix.is_empty() {
            read_switches(&entry.node, &format!("{name}."), path, side, complaints, out);
            continue;
        }
        if let Err((message, help)) = check_switch_name(&name, side, path) {
            complaints.add(entry.key_at, message, help);
            continue;
        }
        let Some(text) = entry.node.scalar() else {
            let message = format!("`{name}` is {} where one value is wanted", entry.node.kind());
            complaints.add(entry.node.at, message, None);
            continue;
        };
        if let Err((error, help)) = check_switch_value(&name, &text) {
            complaints.add(entry.node.at, format!("`{name}`: {error}"), help);
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

/// Whether a switch of that name belongs to that side; else the message and help.
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
            Err((message, suggest(name, &names)))
        }
    }
}

/// Whether a switch takes a value; else why not, and help.
fn check_switch_value(name: &str, text: &str) -> Result<(), (ValueError, Option<String>)> {
    match switches::set_text(&mut Config::default(), name, text) {
        Err(switches::SwitchError::Value { error, accepts, .. }) => {
            let names = match switches::find(name).map(|s| s.kind()) {
                Some(ValueKind::Name { allowed, .. } | ValueKind::NameOrCount { allowed, .. }) => {
                    allowed()
                }
                _ => Vec::new(),
            };
            let near = nearest(text, names).map(|near| format!("did you mean `{near}`?"));
            // Most errors say it themselves.
            let said = error.to_string().contains(&accepts);
            Err((error, near.or_else(|| (!said).then(|| format!("it takes {accepts}")))))
        }
        _ => Ok(()),
    }
}

/// Help for a switch that was written beside its table.
pub(crate) fn switch_help(path: &str, name: &str) -> Option<String> {
    let side = side_name(switches::find(name)?.side());
    Some(format!("`{name}` is a {side} switch; write it in [{path}.{side}]"))
}

/// Writes the three tables out below the dotted `path`: every switch, and the parameters of what is chosen.
pub(crate) fn write(out: &mut TomlWriter, path: &str, config: &Config) {
    let chosen = chosen(config);
    for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
        out.table(&format!("{path}.{name}"));
        for setting in chosen.iter().filter(|s| s.side() == side) {
            let value = setting.get(config);
            match value {
                Value::Bool(_) | Value::Count(_) => out.bare(&setting.name(), value),
                _ => out.text(&setting.name(), value),
            }
        }
    }
}

/// Every switch, and the parameters of what is chosen.
fn chosen(config: &Config) -> Vec<switches::Setting> {
    let owners = owners(config);
    let mut all = switches::all();
    all.retain(|s| match s {
        switches::Setting::Switch(_) => true,
        switches::Setting::Param { owner, .. } => owners.iter().any(|(name, _)| name == owner),
    });
    all
}

/// The registered files that a configuration chooses, with their parameters.
pub(crate) fn owners(config: &Config) -> Vec<(&'static str, &'static [Param])> {
    let mut out = Vec::new();
    out.extend(cc::find(config.cc).map(|e| (e.name, e.params)));
    out.extend(feedback::find(config.feedback).map(|e| (e.name, e.params)));
    out.extend(ack::find(config.ack).map(|e| (e.name, e.params)));
    out
}
