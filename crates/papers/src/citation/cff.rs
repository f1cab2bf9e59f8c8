//! Citation File Format 1.2.0, which GitHub, Zenodo and Zotero read.

use std::fmt::Write as _;

use lowtide_output::json;

use super::{Reference, ReferenceKind, Tool};

/// The file of the tool, with the sources as its references.
pub fn cff(tool: Tool<'_>, references: &[&Reference]) -> String {
    let mut text = format!(
        "cff-version: 1.2.0\n\
         message: \"Cite the version that made your results. `lowtide cite NAME` prints the sources \
         of a scheme or experiment.\"\n\
         type: software\n\
         title: {name}\n\
         abstract: {about}\n\
         version: {version}\n\
         repository-code: {repository}\n\
         license:\n",
        name = json::string(Tool::NAME),
        about = json::string(Tool::ABOUT),
        version = json::string(tool.version),
        repository = json::string(Tool::REPOSITORY),
    );
    for licence in Tool::LICENCES {
        let _ = writeln!(text, "  - {licence}");
    }
    let _ = writeln!(text, "authors:\n  - name: {}", json::string(Tool::AUTHORS));
    if !references.is_empty() {
        text += "references:\n";
    }
    for r in references {
        text += &entry(r);
    }
    text
}

fn entry(r: &Reference) -> String {
    let kind = match r.kind {
        ReferenceKind::Article => "article",
        ReferenceKind::Conference => "conference-paper",
        ReferenceKind::Thesis => "thesis",
        ReferenceKind::Rfc => "standard",
    };
    let mut text =
        format!("  - type: {kind}\n    title: {}\n    authors:\n", json::string(&r.title));
    for (family, given) in r.names() {
        let (family, given) = (json::string(family), json::string(given));
        let _ = writeln!(text, "      - family-names: {family}\n        given-names: {given}");
    }
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "    {name}: {value}");
    };
    line("year", r.year.to_string());
    match (r.kind, &r.venue) {
        (ReferenceKind::Article, Some(journal)) => line("journal", json::string(journal)),
        (ReferenceKind::Conference, Some(name)) => line("collection-title", json::string(name)),
        (ReferenceKind::Thesis, Some(school)) => {
            line("thesis-type", json::string("Master's thesis"));
            line("institution", format!("{{name: {}}}", json::string(school)));
        }
        _ => line("institution", "{name: \"RFC Editor\"}".to_owned()),
    }
    if let Some(number) = r.number {
        let name = if r.kind == ReferenceKind::Rfc { "number" } else { "issue" };
        line(name, json::string(&number.to_string()));
    }
    if let Some(volume) = r.volume {
        line("volume", volume.to_string());
    }
    if let Some((first, last)) = r.pages.as_deref().and_then(|p| p.split_once('-')) {
        line("start", json::string(first));
        line("end", json::string(last));
    }
    if let Some(doi) = r.doi() {
        line("doi", json::string(&doi));
    }
    text
}
