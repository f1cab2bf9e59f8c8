//! Citations as sentences.

use std::fmt::Write as _;

use super::{Reference, ReferenceKind, Tool};

/// One line for the tool, if it is given, and for each source.
pub fn plain_text(tool: Option<Tool<'_>>, references: &[&Reference]) -> String {
    let mut text = String::new();
    if let Some(tool) = tool {
        let _ = writeln!(
            text,
            "{}. {}: {}. Version {}, {}. {}",
            Tool::AUTHORS,
            Tool::NAME,
            Tool::ABOUT,
            tool.version,
            Tool::YEAR,
            Tool::REPOSITORY
        );
    }
    for r in references {
        let _ = writeln!(text, "{}", line(r));
    }
    text
}

fn line(r: &Reference) -> String {
    let names: Vec<String> = r.names().map(|(family, given)| format!("{given} {family}")).collect();
    let mut text = format!("{}. {}.", names.join(", "), r.title);
    let _ = match (&r.venue, r.kind, r.number) {
        (None, _, Some(number)) => write!(text, " RFC {number}"),
        (Some(school), ReferenceKind::Thesis, _) => write!(text, " Master's thesis, {school}"),
        (venue, ..) => write!(text, " {}", venue.as_deref().unwrap_or_default()),
    };
    if let (Some(volume), Some(number)) = (r.volume, r.number) {
        let _ = write!(text, " {volume}({number})");
    }
    if let Some(pages) = &r.pages {
        let _ = write!(text, ", pages {pages}");
    }
    let _ = write!(text, ", {}.", r.year);
    if let Some(doi) = r.doi() {
        let _ = write!(text, " doi:{doi}");
    }
    text
}
