//! Sweeps: the values of each swept key, and all their combinations.

use std::collections::BTreeSet;

use lowtide_net::QueueLength;
use lowtide_tcp::{Value, ValueKind};
use lowtide_units::{Bytes, Duration, Rate};

use crate::diagnostics::Diagnostics;
use crate::error::suggest;
use crate::key_path::{self, PathTarget};
use crate::known_names::KnownNames;
use crate::table_spec::SWEEP;
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};
use crate::value::{KeyType, KeyValue, MAX_COUNT};

/// One swept key.
#[derive(Debug)]
pub(crate) struct SweepAxis {
    pub(crate) key: String,
    pub(crate) key_at: SourceSpan,
    /// Keys that take the value: the key itself, or all that its `*` matches.
    pub(crate) paths: Vec<String>,
    /// Label and value of each point.
    pub(crate) values: Vec<(String, TomlNode)>,
}

/// One combination of values.
pub(crate) type AxisValues<'a> = Vec<(&'a SweepAxis, usize)>;

/// Keys that are not part of a run, so they cannot be swept.
const NOT_SWEEPABLE: [&str; 5] = ["schema", "title", "description", "run.seeds", "run.first-seed"];

/// Returns whether a key is common to all runs of a scenario.
pub(crate) fn is_not_sweepable(key: &str) -> bool {
    NOT_SWEEPABLE.contains(&key) || key.starts_with("compare.") || key.starts_with("question.")
}

/// Reads the table of swept keys.
pub(crate) fn read(
    root: &TomlNode,
    known: &KnownNames,
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<SweepAxis> {
    let Some(entry) = root.entry(SWEEP) else { return Vec::new() };
    let TomlData::Table(_) = &entry.node.data else {
        let message = format!("`{SWEEP}` is {}, expected a table", entry.node.kind());
        diagnostics.add(entry.node.at, message, None);
        return Vec::new();
    };
    let mut axes = Vec::new();
    for (key, key_at, node) in dotted_entries(&entry.node) {
        let Some(axis) = axis(key, key_at, node, known, diagnostics) else { continue };
        let twice =
            axes.iter().flat_map(|a: &SweepAxis| &a.paths).find(|path| axis.paths.contains(path));
        if let Some(path) = twice {
            let message = format!("sweep of `{}`: `{path}` is swept already", axis.key);
            diagnostics.add(key_at, message, None);
        }
        axes.push(axis);
    }
    axes
}

/// Returns the entries of the table with dotted keys, quoted or unquoted (TOML parses the latter as
/// tables).
pub(crate) fn dotted_entries(sweep: &TomlNode) -> Vec<(String, SourceSpan, &TomlNode)> {
    let mut out = Vec::new();
    for entry in sweep.entries() {
        collect(entry.key.clone(), entry.key_at, &entry.node, &mut out);
    }
    out
}

fn collect<'a>(
    key: String,
    at: SourceSpan,
    node: &'a TomlNode,
    out: &mut Vec<(String, SourceSpan, &'a TomlNode)>,
) {
    let range = |e: &crate::toml_tree::TomlEntry| ["from", "to", "step"].contains(&e.key.as_str());
    match &node.data {
        TomlData::Table(entries)
            if !entries.is_empty()
                && !entries.iter().all(|e| {
                    range(e) && !matches!(e.node.data, TomlData::Table(_) | TomlData::List(_))
                }) =>
        {
            for entry in entries {
                collect(format!("{key}.{}", entry.key), entry.key_at, &entry.node, out);
            }
        }
        _ => out.push((key, at, node)),
    }
}

fn axis(
    key: String,
    key_at: SourceSpan,
    node: &TomlNode,
    known: &KnownNames,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<SweepAxis> {
    let found = key_path::expand_stars(&key, known);
    let (target, paths) = match found.and_then(|p| Ok((key_path::resolve(&key, known)?, p))) {
        Ok(both) => both,
        Err((message, help)) => {
            diagnostics.add(key_at, format!("sweep of `{key}`: {message}"), help);
            return None;
        }
    };
    if is_not_sweepable(&key) {
        let help = match key.as_str() {
            "run.seeds" | "run.first-seed" => "every point is run with all seeds anyway",
            "compare.schemes" => "every point is run with all compared schemes anyway",
            _ => "it is the same for all runs of a scenario",
        };
        diagnostics.add(key_at, format!("`{key}` cannot be swept"), Some(help.to_owned()));
        return None;
    }
    let nodes = match &node.data {
        TomlData::List(items) => items.clone(),
        TomlData::Table(_) => range(node, target, known, diagnostics)?,
        _ => {
            let help = "write a list, `[..]`, or `{ from = .., to = .., step = .. }`".to_owned();
            let message = format!("sweep of `{key}`: this is {}, expected a list", node.kind());
            diagnostics.add(node.at, message, Some(help));
            return None;
        }
    };
    let mut values: Vec<(String, TomlNode)> = Vec::new();
    let mut names = BTreeSet::new();
    for item in nodes {
        let name = point_name(&item, target, known);
        if !names.insert(name.clone()) {
            diagnostics.add(item.at, format!("sweep of `{key}`: `{name}` is listed twice"), None);
            return None;
        }
        values.push((name, item.into_override()));
    }
    if values.is_empty() {
        diagnostics.add(node.at, format!("sweep of `{key}`: an empty list"), None);
        return None;
    }
    Some(SweepAxis { key, key_at, paths, values })
}

/// Returns the label of a point with this value of a key; an error is a message with optional help.
pub(crate) fn value_label(
    key: &str,
    node: &TomlNode,
    known: &KnownNames,
) -> Result<String, (String, Option<String>)> {
    Ok(point_name(node, key_path::resolve(key, known)?, known))
}

/// Returns the label of a point: the canonical form of a valid value, otherwise the value as
/// written.
fn point_name(node: &TomlNode, target: PathTarget, known: &KnownNames) -> String {
    let written = || match &node.data {
        TomlData::List(items) => {
            items.iter().filter_map(TomlNode::scalar).collect::<Vec<_>>().join(", ")
        }
        _ => node.scalar().unwrap_or_default(),
    };
    match target {
        PathTarget::Key(key) => {
            let value = key.ty.read(node, &|names| known.list(names));
            value.map_or_else(|_| written(), |v| v.to_string())
        }
        PathTarget::Switch(switch) => {
            let text = written();
            switch.kind().parse(&text).map_or(text, |v| v.to_string())
        }
    }
}

/// Base unit of the values in a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeUnit {
    Count,
    Time,
    Size,
    Rate,
    Packets,
}

fn range(
    node: &TomlNode,
    target: PathTarget,
    known: &KnownNames,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Vec<TomlNode>> {
    let names = ["from", "to", "step"];
    if let Some(entry) = node.entries().iter().find(|e| !names.contains(&e.key.as_str())) {
        let message = format!("no key `{}` in a range", entry.key);
        diagnostics.add(entry.key_at, message, suggest(&entry.key, &names));
        return None;
    }
    let mut parts = Vec::new();
    for name in names {
        let Some(entry) = node.entry(name) else {
            let help = "a range is `{ from = .., to = .., step = .. }`, `to` included".to_owned();
            diagnostics.add(node.at, format!("`{name}` is missing in this range"), Some(help));
            return None;
        };
        match range_end(&entry.node, target, known) {
            Ok(part) => parts.push((part, entry.node.at)),
            Err(message) => {
                diagnostics.add(entry.node.at, format!("`{name}`: {message}"), None);
                return None;
            }
        }
    }
    let [((from, unit), _), ((to, to_unit), to_at), ((step, step_unit), step_at)] = parts[..]
    else {
        return None;
    };
    for (other, at) in [(to_unit, to_at), (step_unit, step_at)] {
        if other != unit {
            diagnostics.add(at, "this has another unit than `from`", None);
            return None;
        }
    }
    if step == 0 {
        diagnostics.add(step_at, "a step of zero never ends", None);
        return None;
    }
    if to < from {
        diagnostics.add(to_at, "this is below `from`", None);
        return None;
    }
    if (to - from) / step >= MAX_COUNT {
        diagnostics.add(step_at, format!("this makes more than {MAX_COUNT} points"), None);
        return None;
    }
    let count = (to - from) / step + 1;
    Some(
        (0..count)
            .map(|i| {
                let text = unit.show(from + i * step);
                TomlNode { data: TomlData::Text(text), at: node.at, is_override: true }
            })
            .collect(),
    )
}

/// Reads an end of a range, in the base unit of the swept key.
fn range_end(
    node: &TomlNode,
    target: PathTarget,
    known: &KnownNames,
) -> Result<(u64, RangeUnit), String> {
    let no =
        |what: String| format!("a range needs numbers, but the key takes {what}; list its values");
    match target {
        PathTarget::Key(key) => {
            // A range may include values that the key rejects; they are rejected later.
            let bare = match key.ty {
                KeyType::Or { kind, .. } => KeyType::of_kind(*kind.without_word()),
                ty => ty,
            };
            let ty = match bare {
                KeyType::Count { .. } | KeyType::CountOrRest { .. } => {
                    KeyType::Count { min: 0, max: u64::MAX }
                }
                KeyType::Time { .. } | KeyType::TimeOrOff => KeyType::Time { positive: false },
                KeyType::Size => KeyType::Size,
                KeyType::Length | KeyType::LengthOrUnlimited | KeyType::Buffer => KeyType::Length,
                KeyType::Rate => KeyType::Rate,
                other => return Err(no(other.describe(&|names| known.list(names)))),
            };
            let value = ty.read(node, &|names| known.list(names)).map_err(|e| e.message)?;
            let amount = match value {
                KeyValue::Single(value) => amount(&value),
                KeyValue::Names(_) => None,
            };
            amount.ok_or_else(|| no(key.ty.describe(&|names| known.list(names))))
        }
        PathTarget::Switch(switch) => {
            let kind = match switch.kind() {
                ValueKind::Count { .. } | ValueKind::NameOrCount { .. } => {
                    ValueKind::Count { min: 0, max: u64::MAX }
                }
                ValueKind::Bytes { .. } => ValueKind::Bytes { min: 0, max: u64::MAX },
                ValueKind::Duration { .. } => {
                    ValueKind::Duration { min: Duration::ZERO, max: Duration::MAX }
                }
                other => return Err(no(other.describe())),
            };
            let text = node.scalar().unwrap_or_default();
            match kind.parse(&text).map_err(|e| e.to_string())? {
                Value::Count(n) => Ok((n, RangeUnit::Count)),
                Value::Bytes(n) => Ok((n.as_u64(), RangeUnit::Size)),
                Value::Duration(t) => Ok((t.as_ps(), RangeUnit::Time)),
                _ => Err(no(switch.kind().describe())),
            }
        }
    }
}

/// Returns the number and unit of a value, if a range can have such ends.
fn amount(value: &Value) -> Option<(u64, RangeUnit)> {
    use lowtide_schema::Value::{Bytes, Count, Duration, Length, Rate};
    Some(match value {
        Count(n) => (*n, RangeUnit::Count),
        Duration(time) => (time.as_ps(), RangeUnit::Time),
        Bytes(n) | Length(QueueLength::Bytes(n)) => (n.as_u64(), RangeUnit::Size),
        Rate(rate) => (rate.as_bps(), RangeUnit::Rate),
        Length(QueueLength::Packets(n)) => (*n, RangeUnit::Packets),
        _ => return None,
    })
}

impl RangeUnit {
    fn show(self, amount: u64) -> String {
        match self {
            Self::Count => amount.to_string(),
            Self::Time => Duration::from_ps(amount).to_string(),
            Self::Size => Bytes::new(amount).to_string(),
            Self::Rate => Rate::from_bps(amount).map_or_else(String::new, |r| r.to_string()),
            Self::Packets => format!("{amount} pkt"),
        }
    }
}

/// Returns all combinations, the last axis changing fastest; one empty point without a sweep.
pub(crate) fn points<'a>(
    axes: &'a [SweepAxis],
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<AxisValues<'a>> {
    let total = axes.iter().try_fold(1_u64, |n, a| n.checked_mul(a.values.len() as u64));
    if total.is_none_or(|n| n > MAX_COUNT) {
        if let Some(axis) = axes.last() {
            let message = format!("this sweep has more than {MAX_COUNT} points");
            diagnostics.add(axis.key_at, message, None);
        }
        return Vec::new();
    }
    let mut out: Vec<AxisValues<'a>> = vec![Vec::new()];
    for axis in axes {
        out = out
            .into_iter()
            .flat_map(|point| {
                (0..axis.values.len()).map(move |i| {
                    let mut point = point.clone();
                    point.push((axis, i));
                    point
                })
            })
            .collect();
    }
    out
}

/// Returns the tree at a point.
pub(crate) fn at_point(root: &TomlNode, point: &AxisValues<'_>) -> TomlNode {
    let mut tree = root.clone();
    tree.remove(&[SWEEP]);
    for (axis, index) in point {
        let is_glob = axis.key.contains('*');
        for path in &axis.paths {
            let path: Vec<&str> = path.split('.').collect();
            // A later override of a single key takes precedence, as it would end a sweep of that
            // key.
            let overridden =
                |node: &TomlNode| node.is_override && node.at.source > axis.key_at.source;
            if !is_glob || !tree.get(&path).is_some_and(overridden) {
                tree.insert(&path, axis.key_at, axis.values[*index].1.clone());
            }
        }
    }
    tree
}
