//! JSON Schema of a scenario file, for editors. It is generated from the table specifications and
//! the switch table, so it agrees with the reader.
//!
//! It describes names and types. Only the reader checks keys in combination and the units of
//! quantities.

use lowtide_tcp::ValueKind;
use lowtide_tcp::switches::{self, Side};
use lowtide_traffic::Cdf;
use serde_json::{Map, Value, json};

use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::settings::{SIDE_OF, SIDES};
use crate::table_spec::{SWEEP, SWEEP_DOC, TableContents, TableSpec};
use crate::tables::ROOT;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue;

/// A number with any unit.
const QUANTITY: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*[A-Za-zµμ].*$";

/// A number with any unit, or a number of bytes.
const SIZE: &str = r"^\s*[0-9]+(\.[0-9]+)?\s*([A-Za-z].*)?$";

/// A number, possibly negative, with a unit of a fraction, or up to 1 without.
const SHARE: &str = r"^\s*-?[0-9]+(\.[0-9]+)?\s*(%|ppm|ppb)?\s*$";

/// Pattern of group names.
const NAME: &str = "^[A-Za-z][A-Za-z0-9_-]*$";

/// Returns the schema, in the 2020-12 dialect.
pub fn json_schema() -> Value {
    let mut root = section(&ROOT);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lowtide scenario",
    });
    if let (Value::Object(root), Value::Object(mut head)) = (&mut root, head) {
        head.append(root);
        return Value::Object(head);
    }
    root
}

fn section(section: &TableSpec) -> Value {
    let mut properties = Map::new();
    // A sweep may provide required keys of other tables, so only the head requires its keys.
    let mut required = Vec::new();
    for key in section.all_keys() {
        if matches!(key.default, DefaultValue::Required) && section.path.is_empty() {
            required.push(key.name);
        }
        properties.insert(key.name.to_owned(), described_by_kinds(section, &key));
    }
    for child in section.children() {
        properties.insert(child.to_owned(), below(section, child));
    }
    if section.has_switches() {
        for (name, side) in SIDES.into_iter().zip(SIDE_OF) {
            properties.insert(name.to_owned(), side_table(side));
        }
    }
    json!({
        "description": section.doc,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Returns the schema of the table `child` of a table: a plain table, or the parent of named ones.
fn below(parent: &TableSpec, child: &str) -> Value {
    if child == SWEEP {
        return sweep();
    }
    let depth = parent.path.len();
    match parent.tables.iter().find(|s| s.path[depth] == child) {
        Some(own) if own.contents == TableContents::Texts => json!({
            "description": own.doc,
            "type": "object",
            "additionalProperties": { "type": "string" },
        }),
        Some(own) if own.contents == TableContents::Paths => json!({
            "description": own.doc,
            "type": "object",
            "additionalProperties": true,
        }),
        Some(own) if own.contents == TableContents::List => {
            json!({ "type": "array", "items": section(own) })
        }
        Some(own) if own.path.len() == depth + 1 => section(own),
        Some(named) => json!({
            "type": "object",
            "patternProperties": { NAME: section(named) },
            "additionalProperties": false,
        }),
        None => json!({}),
    }
}

fn sweep() -> Value {
    let range = json!({
        "type": "object",
        "properties": { "from": {}, "to": {}, "step": {} },
        "required": ["from", "to", "step"],
        "additionalProperties": false,
    });
    json!({
        "description": SWEEP_DOC,
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                { "type": "array", "minItems": 1 },
                range,
                // An unquoted dotted key is a table in TOML.
                { "type": "object" },
            ],
        },
    })
}

/// Returns the schema of a key of a table. If it has several kinds that describe the key
/// differently, the text has all descriptions and defaults.
fn described_by_kinds(section: &TableSpec, key: &KeySpec) -> Value {
    let mut texts: Vec<String> = Vec::new();
    for (kind, _, keys) in section.kinds() {
        let own = keys.iter().filter(|own| own.name == key.name);
        texts.extend(own.map(|own| match own.default {
            DefaultValue::Required => format!("`{kind}`: {} Required.", own.doc),
            DefaultValue::Is(text) => format!("`{kind}`: {} Default: `{text}`.", own.doc),
            DefaultValue::Unset(what) => format!("`{kind}`: {} Unset: {what}.", own.doc),
        }));
    }
    let text = |text: &String| text.split_once(' ').map(|(_, text)| text.to_owned());
    if texts.iter().all(|other| text(other) == texts.first().and_then(text)) {
        return described(key);
    }
    let mut out = of_type(key.ty);
    out["description"] = json!(texts.join(" "));
    out
}

fn described(key: &KeySpec) -> Value {
    let mut out = of_type(key.ty);
    if let Value::Object(map) = &mut out {
        map.insert("description".to_owned(), json!(key.doc));
        match key.default {
            DefaultValue::Is(text) => {
                map.insert("default".to_owned(), default(key.ty, text));
            }
            DefaultValue::Unset(what) => {
                map.insert("description".to_owned(), json!(format!("{} Unset: {what}.", key.doc)));
            }
            DefaultValue::Required => {}
        }
    }
    out
}

fn default(ty: KeyType, text: &str) -> Value {
    match ty {
        KeyType::Bool => json!(text == "true"),
        KeyType::Count { .. } => text.parse::<u64>().map_or(json!(text), |n| json!(n)),
        _ => json!(text),
    }
}

fn quantity() -> Value {
    json!({ "type": "string", "pattern": QUANTITY })
}

fn size() -> Value {
    json!({ "anyOf": [{ "type": "string", "pattern": SIZE }, { "type": "integer", "minimum": 0 }] })
}

fn share() -> Value {
    json!({ "anyOf": [
        { "type": "string", "pattern": SHARE },
        { "type": "number", "minimum": -1, "maximum": 1 },
    ] })
}

fn of_type(ty: KeyType) -> Value {
    let quantity_or = |word: &str| json!({ "anyOf": [quantity(), { "const": word }] });
    match ty {
        KeyType::Text | KeyType::File => json!({ "type": "string" }),
        KeyType::Bool => json!({ "type": "boolean" }),
        KeyType::Distribution(kind) => {
            json!({ "type": "string", "examples": Cdf::names(kind) })
        }
        KeyType::Or { kind, word } => {
            json!({ "anyOf": [of_type(KeyType::of_kind(*kind)), { "const": word }] })
        }
        KeyType::Declared(ValueKind::Name { allowed, .. }) => {
            json!({ "enum": allowed() })
        }
        KeyType::Declared(ValueKind::NameOrCount { allowed, min, max }) => json!({
            "anyOf": [
                { "enum": allowed() },
                { "type": "integer", "minimum": min, "maximum": max },
            ],
        }),
        // Other kinds have their own `KeyType`.
        KeyType::Declared(_) => json!({}),
        KeyType::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        KeyType::CountOrRest { min, max } => json!({ "anyOf": [
            { "type": "integer", "minimum": min, "maximum": max }, { "const": "rest" },
        ] }),
        KeyType::Ratio => json!({ "type": ["string", "number"] }),
        KeyType::Buffer => {
            json!({ "anyOf": [quantity(), { "enum": ["unlimited", "dynamic"] }] })
        }
        KeyType::Time { .. } | KeyType::Rate | KeyType::Length => quantity(),
        KeyType::Size => size(),
        KeyType::TimeOrOff | KeyType::RateOrOff => quantity_or("off"),
        KeyType::LengthOrUnlimited => quantity_or("unlimited"),
        KeyType::Parts { .. } => share(),
        KeyType::Name(names) => of_names(names),
        KeyType::NameList(names) => one_or_many(&of_names(names)),
        KeyType::Hosts | KeyType::FreeNames(_) => one_or_many(&json!({ "type": "string" })),
        KeyType::Sizes => one_or_many(&size()),
        KeyType::Flows => one_or_many(&json!({ "type": ["string", "integer"], "minimum": 0 })),
    }
}

fn one_or_many(item: &Value) -> Value {
    json!({ "anyOf": [item, { "type": "array", "items": item, "uniqueItems": true }] })
}

/// Names that a file may add to are only examples.
fn of_names(names: NameSet) -> Value {
    let list = KnownNames::default().list(names);
    match names {
        NameSet::Schemes | NameSet::Traffic | NameSet::Classes => {
            json!({ "type": "string", "examples": list })
        }
        _ => json!({ "enum": list }),
    }
}

fn side_table(side: Side) -> Value {
    let mut properties = Map::new();
    for setting in switches::all().into_iter().filter(|s| s.side() == side) {
        let name = setting.name();
        let mut value = of_kind(setting.kind());
        if let Value::Object(map) = &mut value {
            let doc = format!("{} ({})", setting.doc(), setting.source());
            map.insert("description".to_owned(), json!(doc));
        }
        // A parameter may be written `"owner.name"` or as a table `owner`.
        if let Some((owner, param)) = name.split_once('.') {
            let table = properties.entry(owner.to_owned()).or_insert_with(
                || json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            );
            table["properties"][param] = value.clone();
        }
        properties.insert(name, value);
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn of_kind(kind: ValueKind) -> Value {
    match kind {
        ValueKind::Bool => json!({ "enum": [true, false, "on", "off"] }),
        ValueKind::Count { min, max } => {
            json!({ "type": "integer", "minimum": min, "maximum": max })
        }
        ValueKind::Rate | ValueKind::Length => quantity(),
        ValueKind::Bytes { .. } => size(),
        ValueKind::Fraction { .. } => share(),
        ValueKind::Duration { .. } => json!({ "anyOf": [quantity(), { "const": "never" }] }),
        ValueKind::Ratio => json!({ "type": ["string", "number"] }),
        ValueKind::Choice(names) => json!({ "enum": names }),
        ValueKind::Name { allowed, .. } => json!({ "enum": allowed() }),
        ValueKind::NameOrCount { allowed, min, max } => json!({
            "anyOf": [
                { "enum": allowed() },
                { "type": "integer", "minimum": min, "maximum": max },
            ],
        }),
        ValueKind::Distribution(_) | ValueKind::File => json!({ "type": "string" }),
        ValueKind::Or { kind, word } => json!({ "anyOf": [of_kind(*kind), { "const": word }] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded;

    /// Validates the subset of JSON Schema that is used here; returns the first mismatch.
    fn first_mismatch(schema: &Value, value: &toml::Value, path: &str) -> Option<String> {
        let no = |why: &str| Some(format!("{path}: {why}"));
        if let Some(any) = schema.get("anyOf").and_then(Value::as_array) {
            let fits = any.iter().any(|s| first_mismatch(s, value, path).is_none());
            return if fits { None } else { no("fits none") };
        }
        if let Some(names) = schema.get("enum").and_then(Value::as_array) {
            let same = |n: &Value| match value {
                toml::Value::String(s) => n == s,
                toml::Value::Boolean(b) => n == b,
                _ => false,
            };
            return if names.iter().any(same) { None } else { no("not in the list") };
        }
        if let Some(word) = schema.get("const") {
            return if value.as_str().is_some_and(|s| word == s) { None } else { no("not it") };
        }
        match (schema.get("type").and_then(Value::as_str), value) {
            (None, _) | (Some("boolean"), toml::Value::Boolean(_)) => None,
            (Some("string"), toml::Value::String(s)) => {
                // Approximates the patterns: starts with a number, and contains a unit.
                let number = s.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                let unit = s.contains(|c: char| c.is_alphabetic());
                match schema.get("pattern").and_then(Value::as_str) {
                    Some(QUANTITY) if !unit => no("no unit"),
                    Some(_) if !number => no("no number"),
                    _ => None,
                }
            }
            (Some("number"), toml::Value::Integer(_) | toml::Value::Float(_)) => {
                let number = value.as_float().or(value.as_integer().map(|n| n as f64))?;
                let range = schema["minimum"].as_f64()?..=schema["maximum"].as_f64()?;
                if range.contains(&number) { None } else { no("out of range") }
            }
            (Some("integer"), toml::Value::Integer(n)) => {
                let range = schema["minimum"].as_i64()?..=schema["maximum"].as_i64()?;
                if range.contains(n) { None } else { no("out of range") }
            }
            (Some("array"), toml::Value::Array(items)) => {
                let item = schema.get("items").cloned().unwrap_or_default();
                items.iter().find_map(|v| first_mismatch(&item, v, path))
            }
            (Some("object"), toml::Value::Table(table)) => {
                let missing = schema.get("required").and_then(Value::as_array).and_then(|names| {
                    names.iter().find(|n| !table.contains_key(n.as_str().unwrap()))
                });
                if let Some(name) = missing {
                    return no(&format!("{name} is missing"));
                }
                table.iter().find_map(|(key, value)| {
                    let path = format!("{path}.{key}");
                    let named = schema.get("properties").and_then(|p| p.get(key));
                    // Approximates the pattern: no spaces.
                    let pattern = schema.get("patternProperties").map(|p| &p[NAME]);
                    let pattern = pattern.filter(|_| !key.contains(' '));
                    match named.or(pattern).or(schema.get("additionalProperties")) {
                        Some(Value::Bool(false)) => Some(format!("{path}: no such key")),
                        Some(schema) => first_mismatch(schema, value, &path),
                        None => None,
                    }
                })
            }
            (Some(kind), _) => no(&format!("not of type {kind}")),
        }
    }

    #[test]
    fn every_scenario_and_template_fits() {
        let schema = json_schema();
        let scenarios = embedded::embedded_scenarios().iter().map(|e| (e.name, e.text));
        let templates = embedded::TEMPLATES.iter().map(|t| (t.name, t.text));
        for (name, text) in scenarios.chain(templates) {
            let value = toml::Value::Table(text.parse().unwrap());
            assert_eq!(first_mismatch(&schema, &value, name), None);
        }
    }

    #[test]
    fn rates_sizes_and_shares_fit_as_people_write_them() {
        let schema = json_schema();
        let first = embedded::find("first-light").unwrap().text;
        for (old, new) in [
            ("\"1 Gbit/s\"", "\"1G\""),
            ("size = \"1 MB\"", "size = \"1000000\""),
            ("size = \"1 MB\"", "size = 1000000"),
            ("[probes]", "[pipe.p]\non = \"senders\"\nloss = 0.01\n[probes]"),
            ("[probes]", "[pipe.p]\non = \"senders\"\nloss = \"1 %\"\n[probes]"),
        ] {
            assert!(first.contains(old));
            let text = first.replacen(old, new, 1);
            let value = toml::Value::Table(text.parse().unwrap());
            assert_eq!(first_mismatch(&schema, &value, "t"), None, "{new}");
            assert!(crate::Scenario::parse(&text, "t.toml").unwrap().expand().is_ok(), "{new}");
        }
    }

    #[test]
    fn every_emitted_run_fits() {
        let schema = json_schema();
        for entry in embedded::embedded_scenarios() {
            let plan = crate::Scenario::load(entry.name).unwrap().expand().unwrap();
            let text = plan.runs[0].resolved_toml();
            let value = toml::Value::Table(text.parse().unwrap());
            assert_eq!(first_mismatch(&schema, &value, entry.name), None, "{text}");
        }
    }

    #[test]
    fn invalid_scenarios_do_not_fit() {
        let schema = json_schema();
        let first = embedded::find("first-light").unwrap().text;
        for (old, new) in [
            ("duration = \"2 s\"", "duratoin = \"2 s\""),
            ("duration = \"2 s\"", "duration = 2"),
            ("duration = \"2 s\"", "duration = \"2\""),
            ("[probes]", "[pipe.p]\non = \"senders\"\nloss = 10\n[probes]"),
            ("seeds = 2", "seeds = 0"),
            ("kind = \"star\"", "kind = \"ring\""),
            ("title", "subtitle"),
            ("nagle = false", "nagel = false"),
            ("nagle = false", "delack-segments = 1"),
            ("[hosts.senders]", "[hosts.\"my senders\"]"),
        ] {
            assert!(first.contains(old));
            let text = first.replacen(old, new, 1);
            let value = toml::Value::Table(text.parse().unwrap());
            assert!(first_mismatch(&schema, &value, "t").is_some(), "{new}");
        }
    }

    #[test]
    fn the_schema_has_parameters_of_registered_files() {
        let schema = json_schema();
        let sender = &schema["properties"]["transport"]["properties"]["sender"]["properties"];
        let shift = &sender["dctcp"]["properties"]["shift-g"];
        assert_eq!(shift["type"], "integer");
        assert_eq!(&sender["dctcp.shift-g"], shift);
    }
}
