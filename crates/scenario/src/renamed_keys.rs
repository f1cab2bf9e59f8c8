//! Keys and values that had another name in the version before. The old name is accepted for one
//! version, with a note that gives the new one.

use crate::toml_tree::{TomlData, TomlNode};

/// A key that was renamed. `*` in the path matches one name.
struct RenamedKey {
    /// Path of its table.
    table: &'static [&'static str],
    old: &'static str,
    new: &'static str,
}

/// A value of a key that was renamed.
struct RenamedValue {
    /// Path of the key.
    key: &'static [&'static str],
    old: &'static str,
    new: &'static str,
}

const KEYS: &[RenamedKey] = &[
    RenamedKey { table: &["nic"], old: "small-queue", new: "tsq-limit" },
    RenamedKey { table: &["traffic", "*"], old: "lasts", new: "duration" },
    RenamedKey { table: &["traffic", "*"], old: "every", new: "mean-gap" },
    RenamedKey { table: &["traffic", "*"], old: "query-every", new: "query-mean-gap" },
    RenamedKey { table: &["traffic", "*"], old: "background-every", new: "background-mean-gap" },
];

const VALUES: &[RenamedValue] = &[
    RenamedValue { key: &["traffic", "*", "connections"], old: "standing", new: "persistent" },
    RenamedValue { key: &["traffic", "*", "connections"], old: "fresh", new: "per-request" },
];

/// Replaces the old names below `root` and appends a note for each. An old key beside the new one
/// stays, so that it is reported as unknown.
pub(crate) fn apply(root: &mut TomlNode, notes: &mut Vec<String>) {
    walk(root, &mut Vec::new(), notes);
}

/// Returns the dotted key with its present name, and appends a note if it had another.
pub(crate) fn current_key(key: &str, notes: &mut Vec<String>) -> String {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    match new_name(&path) {
        Some(new) => {
            let mut current = path.clone();
            if let Some(last) = current.last_mut() {
                new.clone_into(last);
            }
            add(notes, format!("`{key}` is now `{}`", current.join(".")));
            current.join(".")
        }
        None => key.to_owned(),
    }
}

fn walk(node: &mut TomlNode, path: &mut Vec<String>, notes: &mut Vec<String>) {
    let TomlData::Table(entries) = &mut node.data else {
        rename_values(node, path, notes);
        return;
    };
    let present: Vec<String> = entries.iter().map(|e| e.key.clone()).collect();
    for entry in entries {
        let depth = path.len();
        // The keys of a sweep are dotted paths in quotes.
        path.extend(entry.key.split('.').map(str::to_owned));
        let current = current_key(&path.join("."), &mut Vec::new());
        let dotted = current.split('.').skip(depth).collect::<Vec<_>>().join(".");
        if dotted != entry.key && !present.contains(&dotted) {
            add(notes, format!("`{}` is now `{current}`", path.join(".")));
            entry.key = dotted;
        }
        walk(&mut entry.node, path, notes);
        path.truncate(depth);
    }
}

fn rename_values(node: &mut TomlNode, path: &[String], notes: &mut Vec<String>) {
    match &mut node.data {
        TomlData::Text(text) => {
            let found = VALUES.iter().find(|v| v.old == *text && ends_with(path, v.key));
            if let Some(value) = found {
                let key = path.join(".");
                add(notes, format!("`{key} = \"{}\"` is now `\"{}\"`", value.old, value.new));
                value.new.clone_into(text);
            }
        }
        TomlData::List(items) => items.iter_mut().for_each(|i| rename_values(i, path, notes)),
        _ => {}
    }
}

fn new_name(path: &[String]) -> Option<&'static str> {
    let (last, table) = path.split_last()?;
    KEYS.iter().find(|k| k.old == *last && ends_with(table, k.table)).map(|k| k.new)
}

/// Whether `path` ends with `pattern`; sweeps and bundles have paths below their own tables.
fn ends_with(path: &[String], pattern: &[&str]) -> bool {
    path.len() >= pattern.len()
        && path[path.len() - pattern.len()..]
            .iter()
            .zip(pattern)
            .all(|(name, wanted)| *wanted == "*" || name == wanted)
}

fn add(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    const OLD: &str = r#"
        [topology]
        kind = "star"
        hosts = { clients = 1, servers = 2 }
        link-rate = "1 Gbit/s"
        link-delay = "10 us"
        [hosts.servers.nic]
        small-queue = "64 kB"
        [traffic.queries]
        kind = "requests"
        connections = "standing"
        [sweep]
        "traffic.long.lasts" = ["1 s", "2 s"]
    "#;

    #[test]
    fn old_names_are_accepted_with_a_note() {
        let scenario = Scenario::parse(OLD, "old.toml").unwrap();
        let notes = scenario.notes().join("\n");
        for wanted in [
            "`hosts.servers.nic.small-queue` is now `hosts.servers.nic.tsq-limit`",
            "`traffic.queries.connections = \"standing\"` is now `\"persistent\"`",
            "`sweep.traffic.long.lasts` is now `sweep.traffic.long.duration`",
        ] {
            assert!(notes.contains(wanted), "{notes}");
        }
    }

    #[test]
    fn an_old_key_of_an_override_is_accepted() {
        let text = OLD.replace("small-queue", "tsq-limit").replace("standing", "persistent");
        let text = text.replace("lasts", "duration");
        let scenario = Scenario::parse(&text, "new.toml").unwrap();
        assert!(scenario.notes().is_empty(), "{:?}", scenario.notes());
        let scenario = scenario.with_override("hosts.servers.nic.small-queue", "32 kB").unwrap();
        assert_eq!(scenario.notes().len(), 1);
        let scenario = scenario.with_override("traffic.queries.connections", "fresh").unwrap();
        assert_eq!(scenario.notes().len(), 2);
    }

    #[test]
    fn the_old_name_beside_the_new_one_is_an_error() {
        let text = OLD.replace("small-queue = ", "tsq-limit = \"1 MB\"\nsmall-queue = ");
        let scenario = Scenario::parse(&text, "both.toml").unwrap();
        let errors = scenario.expand().unwrap_err().to_string();
        assert!(errors.contains("small-queue"), "{errors}");
    }
}
