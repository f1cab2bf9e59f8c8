//! BibTeX.

use std::fmt::Write as _;

use lowtide_output::latex;

use super::{Reference, ReferenceKind, Tool};

/// The entries of the tool, if it is given, and of the sources. The text is ASCII.
pub fn bibtex(tool: Option<Tool<'_>>, references: &[&Reference]) -> String {
    let tool = tool.map(tool_entry);
    let entries: Vec<String> =
        tool.into_iter().chain(references.iter().map(|r| entry(r))).collect();
    entries.join("\n")
}

fn tool_entry(tool: Tool<'_>) -> String {
    let fields = [
        ("author", format!("{{{}}}", Tool::AUTHORS)),
        ("title", format!("{{{}}}: {}", Tool::NAME, Tool::ABOUT)),
        ("version", latex::text(tool.version)),
        ("year", Tool::YEAR.to_string()),
        ("url", Tool::REPOSITORY.to_owned()),
    ];
    // BibTeX has no entry for software; biblatex has, and styles print `misc` the same way.
    written("software", Tool::NAME, &fields)
}

fn entry(r: &Reference) -> String {
    let authors: Vec<&str> = r.authors.iter().map(String::as_str).collect();
    let mut fields = vec![
        ("author", latex::text(&authors.join(" and "))),
        // The second pair of braces keeps the capitals.
        ("title", format!("{{{}}}", latex::text(&r.title))),
    ];
    let venue = r.venue.as_deref().map(latex::text).unwrap_or_default();
    let kind = match r.kind {
        ReferenceKind::Article => {
            fields.push(("journal", venue));
            "article"
        }
        ReferenceKind::Conference => {
            fields.push(("booktitle", venue));
            "inproceedings"
        }
        ReferenceKind::Thesis => {
            fields.push(("school", venue));
            "mastersthesis"
        }
        ReferenceKind::Rfc => {
            fields.push(("type", "{RFC}".to_owned()));
            fields.push(("institution", "{RFC} Editor".to_owned()));
            "techreport"
        }
    };
    fields.push(("year", r.year.to_string()));
    fields.extend(r.volume.map(|n| ("volume", n.to_string())));
    fields.extend(r.number.map(|n| ("number", n.to_string())));
    fields.extend(r.pages.as_ref().map(|p| ("pages", p.replace('-', "--"))));
    fields.extend(r.doi().map(|doi| ("doi", doi)));
    written(kind, &r.key, &fields)
}

fn written(kind: &str, key: &str, fields: &[(&str, String)]) -> String {
    let mut text = format!("@{kind}{{{key},\n");
    for (name, value) in fields {
        let _ = writeln!(text, "  {name} = {{{value}}},");
    }
    text + "}\n"
}
