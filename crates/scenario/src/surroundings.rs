//! What a compared bundle changes beside the transport: `[compare.bundles.NAME.set]`.
//!
//! Contract: the values are put into the tree before anything is interpreted, as those of a sweep are, so
//! they pass the same checks and a run that is written out holds them in their own tables. What an override
//! set (`-s`) stays. A key that is swept cannot be set: its points would be the same.

use crate::complaints::Complaints;
use crate::known::Known;
use crate::sweep::{self, Axis};
use crate::target::{self, Target};
use crate::tree::{At, Data, Node};

/// One key that a bundle sets.
#[derive(Debug)]
pub(crate) struct Surrounding<'a> {
    key: String,
    at: At,
    value: &'a Node,
}

/// What the bundle `name` sets; nothing where no such bundle is.
pub(crate) fn of<'a>(
    root: &'a Node,
    name: &str,
    known: &Known,
    axes: &[Axis],
    complaints: &mut Complaints<'_>,
) -> Vec<Surrounding<'a>> {
    let Some(set) = root.get(&["compare", "bundles", name, "set"]) else { return Vec::new() };
    if !matches!(set.data, Data::Table(_)) {
        let message = format!("`set` is {} where a table is wanted", set.kind());
        complaints.add(set.at, message, None);
        return Vec::new();
    }
    let mut out = Vec::new();
    for (key, at, value) in sweep::lines(set) {
        let refused = refusal(&key, known, axes);
        if let Some((message, help)) = refused {
            complaints.add(at, format!("`{key}` in the set of `{name}`: {message}"), help);
        } else {
            // `refusal` has found them.
            let paths = target::paths(&key, known).unwrap_or_default();
            out.extend(paths.into_iter().map(|key| Surrounding { key, at, value }));
        }
    }
    out
}

fn refusal(key: &str, known: &Known, axes: &[Axis]) -> Option<(String, Option<String>)> {
    if let Err(unknown) = target::find(key, known).map(|_: Target| ()) {
        return Some(unknown);
    }
    if sweep::is_no_axis(key) {
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
    let set = target::paths(key, known).unwrap_or_default();
    let swept = axes.iter().flat_map(|axis| &axis.paths).any(|path| set.contains(path));
    swept.then(|| ("it is swept".to_owned(), None))
}

/// Puts them into the tree of a point.
pub(crate) fn apply(tree: &mut Node, set: &[Surrounding<'_>]) {
    for Surrounding { key, at, value } in set {
        let path: Vec<&str> = key.split('.').collect();
        if !tree.get(&path).is_some_and(|node| node.pinned) {
            tree.put(&path, *at, (*value).clone().pinned());
        }
    }
}
