//! Names in files of claims that were others in the version before. The old name is accepted for
//! one version, with a note that gives the new one.

use lowtide_record::{renamed_column, renamed_table};
use toml::{Table, Value};

/// Keys of a measure whose values are columns.
const COLUMN_KEYS: [&str; 5] = ["column", "over", "minus", "weight", "metric"];

/// Replaces the old names in a file of claims and returns a note for each.
pub(super) fn apply(file: &mut Table) -> Vec<String> {
    let mut notes = Vec::new();
    rename_in_table(file, &mut notes);
    notes.sort();
    notes.dedup();
    notes
}

fn walk(value: &mut Value, notes: &mut Vec<String>) {
    match value {
        Value::Table(table) => rename_in_table(table, notes),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, notes)),
        _ => {}
    }
}

fn rename_in_table(table: &mut Table, notes: &mut Vec<String>) {
    if table.contains_key("metric") {
        rename_key(table, "memory", "buffer-pool", notes);
    }
    if table.contains_key("table") {
        rename_key(table, "less", "minus", notes);
        rename_value(table, "table", renamed_table, notes);
        rename_value(table, "reduce", |v| (v == "travel").then_some("total-variation"), notes);
    }
    if table.contains_key("table") || table.contains_key("metric") {
        for key in COLUMN_KEYS {
            rename_value(table, key, renamed_column, notes);
        }
    }
    if let Some(Value::Table(filters)) = table.get_mut("where") {
        let old: Vec<String> = filters.keys().cloned().collect();
        for (old, new) in old.iter().filter_map(|old| Some((old, renamed_column(old)?))) {
            rename_key(filters, old, new, notes);
        }
    }
    if table.contains_key("curve") {
        rename_value(table, "kind", |v| (v == "cloud").then_some("scatter"), notes);
    }
    if table.contains_key("label") {
        rename_key(table, "upright", "vertical", notes);
    }
    table.iter_mut().for_each(|(_, value)| walk(value, notes));
}

/// Renames a key. An old key beside the new one stays, so that it is reported as unknown.
fn rename_key(table: &mut Table, old: &str, new: &str, notes: &mut Vec<String>) {
    if !table.contains_key(new)
        && let Some(value) = table.remove(old)
    {
        table.insert(new.to_owned(), value);
        notes.push(format!("`{old}` is now `{new}`"));
    }
}

fn rename_value(
    table: &mut Table,
    key: &str,
    new_name: impl Fn(&str) -> Option<&'static str>,
    notes: &mut Vec<String>,
) {
    if let Some(Value::String(text)) = table.get_mut(key)
        && let Some(new) = new_name(text)
    {
        notes.push(format!("`{key} = \"{text}\"` is now `\"{new}\"`"));
        new.clone_into(text);
    }
}

#[cfg(test)]
mod tests {
    use crate::ExperimentClaims;

    const NEW: &str = r#"
        paper = "P"
        title = "T"
        [[claim]]
        id = "a"
        says = "b"
        source = "fig. 1"
        kind = "ordering"
        at-most = 1
        unit = "ns"
        measure = { difference = [
            { table = "flows", column = "received_ce_bytes", minus = "received_bytes", reduce = "total-variation", where = { blocked_on = "rto" } },
            { table = "buffer_pools", column = "buffer_pool", reduce = "max" },
        ] }
        [[claim]]
        id = "b"
        says = "b"
        source = "fig. 1"
        kind = "ordering"
        at-most = 1
        measure = { sum = [
            { metric = "no_route_drops" },
            { metric = "peak_fraction", buffer-pool = "switch0.0" },
        ] }
        [[figure]]
        id = "f"
        title = "F"
        kind = "scatter"
        x = { label = "x" }
        y = { label = "y" }
        curve = []
        [[figure.mark]]
        label = "m"
        at = 1
        vertical = true
    "#;

    #[test]
    fn old_names_mean_the_new_ones_and_are_noted() {
        let new = ExperimentClaims::parse(NEW, "new").unwrap();
        assert_eq!(new.notes, Vec::<String>::new());
        let mut text = NEW.to_owned();
        let pairs = [
            ("minus =", "less =", "`less` is now `minus`"),
            ("received_ce_bytes", "marked_bytes", "`column = \"marked_bytes\"` is now"),
            ("total-variation", "travel", "`reduce = \"travel\"` is now `\"total-variation\"`"),
            ("blocked_on", "stopped", "`stopped` is now `blocked_on`"),
            ("buffer_pools", "memories", "`table = \"memories\"` is now `\"buffer_pools\"`"),
            ("\"buffer_pool\"", "\"memory\"", "`column = \"memory\"` is now `\"buffer_pool\"`"),
            ("buffer-pool =", "memory =", "`memory` is now `buffer-pool`"),
            ("no_route_drops", "unrouted", "`metric = \"unrouted\"` is now `\"no_route_drops\"`"),
            ("scatter", "cloud", "`kind = \"cloud\"` is now `\"scatter\"`"),
            ("vertical", "upright", "`upright` is now `vertical`"),
        ];
        for (present, old, _) in pairs {
            text = text.replace(present, old);
        }
        let old = ExperimentClaims::parse(&text, "old").unwrap();
        let notes = old.notes.join("\n");
        for (.., note) in pairs {
            assert!(notes.contains(note), "{note}: {notes}");
        }
        assert_eq!(ExperimentClaims { notes: Vec::new(), ..old }, new);
    }
}
