//! What a compared bundle changes beside the transport: `[compare.bundles.NAME.set]`.
//!
//! Contract: the values are put into the tree before anything is interpreted, as those of a sweep are, so
//! they pass the same checks and a run that is written out holds them in their own tables. What an override
//! set (`-s`) stays. A key that is swept cannot be set: its points would be the same.

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

/// What the bundle `name` sets; nothing where no such bundle is.
pub(crate) fn read<'a>(
    root: &'a TomlNode,
    name: &str,
    known: &KnownNames,
    axes: &[SweepAxis],
    complaints: &mut Diagnostics<'_>,
) -> Vec<BundleOverride<'a>> {
    let Some(set) = root.get(&["compare", "bundles", name, "set"]) else { return Vec::new() };
    if !matches!(set.data, TomlData::Table(_)) {
        let message = format!("`set` is {} where a table is wanted", set.kind());
        complaints.add(set.at, message, None);
        return Vec::new();
    }
    let mut out = Vec::new();
    for (key, at, value) in sweep::dotted_entries(set) {
        let refused = check_key(&key, known, axes);
        if let Some((message, help)) = refused {
            complaints.add(at, format!("`{key}` in the set of `{name}`: {message}"), help);
        } else {
            // `refusal` has found them.
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
            "write a switch in the tables `sender`, `receiver` and `connection` of the bundle";
        return Some((
            "a bundle says itself what its transport is".to_owned(),
            Some(help.to_owned()),
        ));
    }
    let set = key_path::expand_stars(key, known).unwrap_or_default();
    let swept = axes.iter().flat_map(|axis| &axis.paths).any(|path| set.contains(path));
    swept.then(|| ("it is swept".to_owned(), None))
}

/// Puts them into the tree of a point.
pub(crate) fn apply(tree: &mut TomlNode, set: &[BundleOverride<'_>]) {
    for BundleOverride { key, at, value } in set {
        let path: Vec<&str> = key.split('.').collect();
        if !tree.get(&path).is_some_and(|node| node.is_override) {
            tree.insert(&path, *at, (*value).clone().into_override());
        }
    }
}
