//! Citations: the tool and the sources that it implements as BibTeX, the tool as CFF.
//!
//! Contract: the sources are those of `papers/references.toml`. A scheme cites the sources that its
//! registered settings name, so that there is no second list of schemes.

mod bibtex;
mod cff;

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

pub use bibtex::bibtex;
pub use cff::cff;

/// Kind of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceKind {
    /// Article of a journal.
    Article,
    /// Paper of a conference.
    Conference,
    /// Master's thesis.
    Thesis,
    /// RFC.
    Rfc,
}

/// A source.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Reference {
    /// Key in BibTeX.
    pub key: String,
    /// Names of the source in the code (`RFC 8257`).
    pub cited_as: Vec<String>,
    /// Its folder in `papers/`, if its experiments are there.
    pub paper: Option<String>,
    /// Kind.
    pub kind: ReferenceKind,
    /// Title.
    pub title: String,
    /// Authors, as `Family, Given`.
    pub authors: Vec<String>,
    /// Journal, proceedings or university; none for an RFC.
    pub venue: Option<String>,
    /// Year of publication.
    pub year: u16,
    /// Volume of a journal.
    pub volume: Option<u32>,
    /// Number of an RFC, or of an issue.
    pub number: Option<u32>,
    /// First and last page.
    pub pages: Option<String>,
    /// Digital Object Identifier.
    pub doi: Option<String>,
}

impl Reference {
    /// DOI; RFCs have one by their number.
    fn doi(&self) -> Option<String> {
        match (self.kind, self.number) {
            (ReferenceKind::Rfc, Some(number)) => Some(format!("10.17487/RFC{number:04}")),
            _ => self.doi.clone(),
        }
    }

    /// Whether `text` names the source.
    fn is_named_in(&self, text: &str) -> bool {
        self.cited_as.iter().any(|name| {
            text.match_indices(name.as_str()).any(|(at, _)| {
                let is_part = |c: char| c.is_alphanumeric() || c == '-';
                let before = text[..at].chars().next_back();
                let after = text[at + name.len()..].chars().next();
                !before.is_some_and(is_part) && !after.is_some_and(is_part)
            })
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReferenceFile {
    reference: Vec<Reference>,
}

static REFERENCES: LazyLock<Vec<Reference>> = LazyLock::new(|| {
    let text = include_str!("../../../papers/references.toml");
    // A test reads the file, so it parses here too.
    toml::from_str::<ReferenceFile>(text).map(|file| file.reference).unwrap_or_default()
});

/// All sources.
pub fn references() -> &'static [Reference] {
    &REFERENCES
}

/// Sources that a text of the registries names, in the order of [`references`].
pub fn references_named_in(texts: &[String]) -> Vec<&'static Reference> {
    let named = |r: &&Reference| texts.iter().any(|text| r.is_named_in(text));
    references().iter().filter(named).collect()
}

/// Source of the experiments of `paper`, which is a folder of `papers/`.
pub fn reference_of_paper(paper: &str) -> Option<&'static Reference> {
    references().iter().find(|r| r.paper.as_deref() == Some(paper))
}

/// The tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tool<'a> {
    /// Version.
    pub version: &'a str,
}

impl Tool<'_> {
    const NAME: &'static str = "lowtide";
    const ABOUT: &'static str =
        "A data-centre transport workbench: one TCP in a packet simulator and on real packets";
    const AUTHORS: &'static str = "The lowtide authors";
    const REPOSITORY: &'static str = env!("CARGO_PKG_REPOSITORY");
    const LICENCES: [&'static str; 2] = ["Apache-2.0", "MIT"];
    /// Year of the licence.
    const YEAR: u16 = 2026;
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Tool<'_> = Tool { version: env!("CARGO_PKG_VERSION") };

    #[test]
    fn the_file_of_references_is_valid() {
        let text = include_str!("../../../papers/references.toml");
        toml::from_str::<ReferenceFile>(text).unwrap();
        let mut keys: Vec<&str> = references().iter().map(|r| r.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), references().len(), "keys are unique");
        for r in references() {
            assert!(r.authors.iter().all(|a| a.contains(", ")), "{}: Family, Given", r.key);
            assert_eq!(r.venue.is_none(), r.kind == ReferenceKind::Rfc, "{}", r.key);
        }
    }

    #[test]
    fn every_paper_with_experiments_has_a_reference() {
        for experiment in crate::experiments() {
            assert!(reference_of_paper(experiment.paper).is_some(), "{}", experiment.paper);
        }
    }

    #[test]
    fn names_match_as_words() {
        let named = |text: &str| -> Vec<&str> {
            let found = references_named_in(&[text.to_owned()]);
            found.into_iter().map(|r| r.key.as_str()).collect()
        };
        assert_eq!(named("TDCTCP algorithm 1, line 3"), ["tdctcp-comsnets2013"]);
        assert_eq!(named("RFC 8257 §3.3, ODCTCP §5.1"), ["odctcp-2013", "rfc8257"]);
        assert_eq!(named("no ECN, so it has nothing to decode"), [""; 0]);
    }

    #[test]
    fn citation_cff_is_what_the_tool_prints() {
        let file = include_str!("../../../CITATION.cff");
        if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
            std::fs::write("../../CITATION.cff", cff(TOOL)).unwrap();
        }
        assert_eq!(file, cff(TOOL), "LOWTIDE_WRITE_DOCS=1 writes it");
        let licence = include_str!("../../../LICENSE-MIT");
        assert!(licence.contains(&format!("{} {}", Tool::YEAR, Tool::AUTHORS)), "{licence}");
        for name in Tool::LICENCES {
            assert!(env!("CARGO_PKG_LICENSE").contains(name), "{name}");
        }
    }

    #[test]
    fn bibtex_is_ascii_with_balanced_braces() {
        let all: Vec<&Reference> = references().iter().collect();
        let text = bibtex(Some(TOOL), &all);
        assert!(text.is_ascii(), "{text}");
        let mut depth = 0_i32;
        for c in text.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            assert!(depth >= 0, "{text}");
        }
        assert_eq!(depth, 0, "{text}");
        assert!(text.contains("K{\\\"u}hlewind, Mirja"), "{text}");
        assert_eq!(text.matches("\n@").count() + 1, all.len() + 1);
    }
}
