//! Keys that a compared bundle sets besides the transport: `[compare.bundles.NAME.set]`.
//!
//! Contract: the values are put into the tree before it is interpreted, as those of a sweep are. So
//! they pass the same checks, and an emitted run has them in their own tables. An override (`-s`)
//! takes precedence, and one of the bundle's key (`-s compare.bundles.NAME.set.KEY=...`) over that.
//! A swept key cannot be set: all its points would be equal.

use crate::diagnostics::Diagnostics;
use crate::key_path::{self, PathTarget};
use crate::known_names::KnownNames;
use crate::sweep::{self, SweepAxis};
use crate::toml_tree::{SourceSpan, TomlData, TomlNode};

/// One key that a bundle sets.
#[derive(Debug)]
pub(crate) struct BundleOverride<'a> {
    key: String,
    at: SourceSpan,
    value: &'a TomlNode,
}

/// Reads the keys that the bundle `name` sets; returns nothing if there is no such bundle.
pub(crate) fn read<'a>(
    root: &'a TomlNode,
    name: &str,
    known: &KnownNames,
    axes: &[SweepAxis],
    diagnostics: &mut Diagnostics<'_>,
) -> Vec<BundleOverride<'a>> {
    let Some(set) = root.get(&["compare", "bundles", name, "set"]) else { return Vec::new() };
    if !matches!(set.data, TomlData::Table(_)) {
        let message = format!("`set` is {}, expected a table", set.kind());
        diagnostics.add(set.at, message, None);
        return Vec::new();
    }
    let mut out = Vec::new();
    for (key, at, value) in sweep::dotted_entries(set) {
        let error = check_key(&key, known, axes);
        if let Some((message, help)) = error {
            diagnostics.add(at, format!("`{key}` in the set of `{name}`: {message}"), help);
        } else {
            // `check_key` has reported unknown names.
            let paths = key_path::expand_stars(&key, known).unwrap_or_default();
            out.extend(paths.into_iter().map(|key| BundleOverride { key, at, value }));
        }
    }
    out
}

fn check_key(
    key: &str,
    known: &KnownNames,
    axes: &[SweepAxis],
) -> Option<(String, Option<String>)> {
    if let Err(unknown) = key_path::resolve(key, known).map(|_: PathTarget| ()) {
        return Some(unknown);
    }
    if sweep::is_not_sweepable(key) {
        return Some(("it is the same for all runs of a scenario".to_owned(), None));
    }
    if key.starts_with("transport.") {
        let help =
            "set the switch in the tables `sender`, `receiver` and `connection` of the bundle";
        return Some(("a bundle defines its own transport".to_owned(), Some(help.to_owned())));
    }
    let set = key_path::expand_stars(key, known).unwrap_or_default();
    let swept = axes.iter().flat_map(|axis| &axis.paths).any(|path| set.contains(path));
    swept.then(|| ("it is swept".to_owned(), None))
}

/// Applies the keys to the tree of a point.
pub(crate) fn apply(tree: &mut TomlNode, set: &[BundleOverride<'_>]) {
    for BundleOverride { key, at, value } in set {
        let path: Vec<&str> = key.split('.').collect();
        if value.is_override || !tree.get(&path).is_some_and(|node| node.is_override) {
            tree.insert(&path, *at, (*value).clone().into_override());
        }
    }
}
