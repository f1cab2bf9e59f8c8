//! `lowtide list`: all named items.

use std::collections::BTreeMap;

use crate::args::ListKind;
use crate::catalogue::{self, CatalogueItem};
use crate::error::CommandError;
use crate::output::Output;

pub(crate) fn list(kind: Option<ListKind>, out: Output) -> Result<(), CommandError> {
    // There are too many switches and keys to list them without being asked.
    let long = [ListKind::Switches, ListKind::Keys];
    let kinds = kind.map_or_else(
        || catalogue::KINDS.into_iter().filter(|k| out.json || !long.contains(k)).collect(),
        |k| vec![k],
    );
    let items: Vec<CatalogueItem> = kinds.into_iter().flat_map(catalogue::items).collect();
    if out.json {
        return out.answer("lowtide.list/1", &BTreeMap::from([("items", items)]));
    }
    let rows: Vec<Vec<String>> = items
        .into_iter()
        .map(|i| vec![i.kind.into(), i.name.clone(), brief(&i).to_owned()])
        .collect();
    out.table(&["kind", "name", "summary"], &[], &rows)?;
    if kind.is_none() {
        out.note("more: lowtide list switches, lowtide list keys, lowtide explain NAME");
    }
    Ok(())
}

/// The summary of an item; of a table its first sentence.
fn brief(item: &CatalogueItem) -> &str {
    match item.summary.split_once(". ") {
        Some((first, _)) if !item.columns.is_empty() => first,
        _ => &item.summary,
    }
}
