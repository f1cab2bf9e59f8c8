//! Errors of a scenario and their locations.
//!
//! Contract: an error holds the text it is about, so that anyone can show it with its line and
//! carets. Errors of one file are reported together.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::Arc;

use lowtide_schema::NotSimulated;

const ABSENT: &str = "docs/explanation/not-simulated.md lists all mechanisms that are absent";

/// One error.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", self.render())]
pub struct ScenarioError {
    /// Description, one sentence without a full stop.
    pub message: String,
    /// Remedy, if it is known.
    pub help: Option<String>,
    /// Byte range in `text`; `None` if the error is about the whole.
    pub span: Option<Range<usize>>,
    /// Name of the file, or the command-line option that set the key (`-s`, `--over`).
    pub file: String,
    /// Contents of the file, or `key=value` as it was set.
    pub text: Arc<str>,
}

impl ScenarioError {
    /// Returns an error without a location.
    pub fn plain(message: impl Into<String>, help: Option<String>) -> Self {
        Self {
            message: message.into(),
            help,
            span: None,
            file: String::new(),
            text: Arc::from(String::new()),
        }
    }

    /// Line and column of the first byte of the range, from one; columns count characters.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let start = floor_boundary(&self.text, self.span.as_ref()?.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    fn render(&self) -> String {
        // Writing to a string cannot fail.
        let mut out = String::new();
        if let (Some((line, column)), Some(span)) = (self.line_column(), &self.span) {
            let text = self.text.lines().nth(line - 1).unwrap_or("");
            let end = floor_boundary(&self.text, span.end);
            let start = floor_boundary(&self.text, span.start).min(end);
            let meant = self.text[start..end].lines().next().unwrap_or("").chars().count().max(1);
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs are kept in the margin so that the carets align.
            let indent: String =
                text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let _ = writeln!(out, "{}:{line}:{column}: {}", self.file, self.message);
            let _ = writeln!(out, "{margin} |\n{number} | {text}");
            let _ = write!(out, "{margin} | {indent}{}", "^".repeat(meant));
        } else if self.file.is_empty() {
            out.push_str(&self.message);
        } else {
            let _ = write!(out, "{}: {}", self.file, self.message);
        }
        if let Some(help) = &self.help {
            let _ = write!(out, "\n  help: {help}");
        }
        out
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// All errors that were found; never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct ScenarioErrors(Vec<ScenarioError>);

impl ScenarioErrors {
    /// The errors, by file, in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, ScenarioError> {
        self.0.iter()
    }

    /// The first error.
    pub fn first(&self) -> &ScenarioError {
        &self.0[0]
    }

    /// Collects `found` into one error without duplicates; `None` if there are none.
    pub(crate) fn collect(mut found: Vec<ScenarioError>) -> Option<Self> {
        found.sort_by_key(|e| (e.file.clone(), e.span.as_ref().map(|s| s.start)));
        let mut kept: Vec<ScenarioError> = Vec::new();
        for error in found {
            if !kept.contains(&error) {
                kept.push(error);
            }
        }
        (!kept.is_empty()).then_some(Self(kept))
    }
}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self(vec![error])
    }
}

impl IntoIterator for ScenarioErrors {
    type Item = ScenarioError;
    type IntoIter = std::vec::IntoIter<ScenarioError>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a ScenarioErrors {
    type Item = &'a ScenarioError;
    type IntoIter = std::slice::Iter<'a, ScenarioError>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n\n")?;
            }
            fmt::Display::fmt(error, f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScenarioErrors {
    /// The derived form would print the whole file with every error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ScenarioErrors {}

/// Returns the known name closest to `name`. The edit distance is at most a third of the longer of
/// the two names, or one letter if they are shorter.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::damerau_levenshtein(&name, &k.to_lowercase()), k))
        .filter(|(distance, k)| {
            let longest = k.len().max(name.len());
            *distance < longest && *distance <= (longest / 3).max(1)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}

/// Message and help for `name`, which is not in `known`: `message`, or the sentence about a
/// mechanism that is not simulated.
pub(crate) fn unknown(message: String, name: &str, known: &[&str]) -> (String, Option<String>) {
    match NotSimulated::find(name) {
        Some(absent) => (absent.sentence.to_owned(), Some(ABSENT.to_owned())),
        None => (message, suggest(name, known)),
    }
}

/// Help for a name that is not in `known`: the nearest one, or the whole list.
pub(crate) fn suggest(name: &str, known: &[&str]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    let list = known.join(", ");
    Some(match nearest(name, known.iter().copied()) {
        Some(near) if known.len() > 8 => format!("did you mean `{near}`?"),
        Some(near) => format!("did you mean `{near}`? It is one of {list}"),
        None => format!("it is one of {list}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, span: Range<usize>) -> ScenarioError {
        ScenarioError {
            message: "no such key".into(),
            help: Some("write it right".into()),
            span: Some(span),
            file: "a.toml".into(),
            text: text.into(),
        }
    }

    #[test]
    fn the_carets_are_under_the_span() {
        let e = error("a = 1\n\tbé = 2\n", 7..10);
        assert_eq!(e.line_column(), Some((2, 2)));
        assert_eq!(
            e.to_string(),
            "a.toml:2:2: no such key\n  |\n2 | \tbé = 2\n  | \t^^\n  help: write it right"
        );
    }

    #[test]
    fn a_span_beyond_the_text_or_inside_a_character_does_not_panic() {
        for span in [0..99, 50..99, 8..9, 9..9] {
            assert!(error("a = 1\n\tbé = 2\n", span).to_string().starts_with("a.toml:"));
        }
        assert!(error("", 0..0).to_string().starts_with("a.toml:1:1"));
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("dctpc", ["sack", "ecn", "dctcp"]), Some("dctcp"));
        assert_eq!(nearest("utterly-else", ["sack", "ecn", "dctcp"]), None);
        assert_eq!(nearest("bbr", ["cwr", "ecn", "dx"]), None);
        assert_eq!(nearest("kk", ["kind", "a", "k"]), Some("k"));
        assert_eq!(nearest("q", ["a", "k"]), None);
        assert_eq!(nearest("ecm", ["cwr", "ecn", "dx"]), Some("ecn"));
        assert_eq!(suggest("bar", &["cwr", "ecn"]).as_deref(), Some("it is one of cwr, ecn"));
        assert_eq!(suggest("x", &[]), None);
    }
}
