//! Checks the language of comments, pages and messages against `xtask/words.toml`.
//!
//! Comments of Rust, TOML and Python files and the pages are checked for openings, idioms and line
//! length, string literals of Rust files for idioms, declarations for type names.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::source;

/// `xtask/words.toml`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    /// First words that a sentence must not have.
    openings: Vec<String>,
    /// Maximum columns of a line of text.
    columns: usize,
    /// Phrase, and its plain replacement.
    idioms: BTreeMap<String, String>,
    /// Type name, and the standard one.
    names: BTreeMap<String, String>,
}

/// A paragraph: its lines with their numbers.
type Paragraph = Vec<(usize, String)>;

/// Checks the files in git below `paths`, or all. Fails if a rule is broken.
#[expect(clippy::disallowed_methods, reason = "`println!` panics if a pipe is closed")]
pub(crate) fn run(root: &Path, paths: &[String]) -> Result<ExitCode, String> {
    let file = root.join("xtask/words.toml");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let rules: Rules = toml::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut count = 0;
    for name in files(root, paths)? {
        let path = root.join(&name);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let mut remarks = rules.check(&name, &text)?;
        remarks.sort();
        count += remarks.len();
        for (line, remark) in remarks {
            // A closed pipe (`| head`) is no error.
            let _ = writeln!(std::io::stdout(), "{name}:{line}: {remark}");
        }
    }
    let _ = writeln!(std::io::stdout(), "{count} remarks");
    Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn files(root: &Path, paths: &[String]) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--"])
        .args(paths)
        .current_dir(root)
        .output()
        .map_err(|e| format!("git: {e}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let known = ["rs", "md", "toml", "py"];
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|name| Path::new(name).extension().is_some_and(|e| known.iter().any(|k| e == *k)))
        // The list itself contains the forbidden phrases.
        .filter(|name| *name != "xtask/words.toml")
        .map(str::to_owned)
        .collect())
}

impl Rules {
    /// Line and remark of each broken rule in `text`.
    fn check(&self, name: &str, text: &str) -> Result<Vec<(usize, String)>, String> {
        let mut remarks = Vec::new();
        match Path::new(name).extension().and_then(|e| e.to_str()) {
            Some("rs") => {
                let source = source::read(text).map_err(|e| format!("{name}: {e}"))?;
                let long = |line: usize| {
                    text.lines().nth(line - 1).is_some_and(|l| l.chars().count() > self.columns)
                };
                for (line, comment) in &source.comments {
                    if long(*line) && !is_unbreakable(comment) {
                        remarks.push((*line, self.too_long()));
                    }
                }
                for paragraph in paragraphs(&source.comments) {
                    self.sentences(&paragraph, &mut remarks);
                }
                for (line, string) in &source.strings {
                    if string.contains(' ') {
                        self.idioms(&[(*line, string.clone())], &mut remarks);
                    }
                }
                self.names(text, &mut remarks);
            }
            Some("md") => {
                let lines = page(text);
                for (line, text) in &lines {
                    if text.chars().count() > self.columns && !is_unbreakable(text) {
                        remarks.push((*line, self.too_long()));
                    }
                }
                for paragraph in paragraphs(&lines) {
                    self.sentences(&paragraph, &mut remarks);
                }
            }
            _ => {
                let comments: Vec<_> = text
                    .lines()
                    .enumerate()
                    .filter_map(|(at, line)| Some((at + 1, line.trim().strip_prefix('#')?.into())))
                    .collect();
                for paragraph in paragraphs(&comments) {
                    self.sentences(&paragraph, &mut remarks);
                }
            }
        }
        Ok(remarks)
    }

    fn too_long(&self) -> String {
        format!("more than {} columns", self.columns)
    }

    /// Checks the openings and idioms of a paragraph.
    fn sentences(&self, paragraph: &Paragraph, remarks: &mut Vec<(usize, String)>) {
        let mut begins = true;
        for (line, text) in paragraph {
            let text = text.trim().trim_start_matches(['-', '*', '#', ' ']);
            let mut rest = text;
            while !rest.is_empty() {
                let end = sentence_end(rest);
                if begins {
                    let found = self.openings.iter().find(|opening| opens(rest, opening));
                    // A heading may be a question.
                    if let Some(opening) = found.filter(|_| !rest.ends_with('?')) {
                        remarks.push((*line, format!("a sentence opens with `{opening}`")));
                    }
                }
                begins = end.is_some();
                rest = end.map_or("", |end| rest[end..].trim_start());
            }
        }
        self.idioms(paragraph, remarks);
    }

    /// Finds idioms, including those that a line break divides.
    fn idioms(&self, paragraph: &[(usize, String)], remarks: &mut Vec<(usize, String)>) {
        let mut words = Vec::new();
        let mut in_code = false;
        for (line, text) in paragraph {
            for (at, part) in text.split('`').enumerate() {
                in_code ^= at > 0;
                if in_code {
                    words.push((*line, String::from("`")));
                    continue;
                }
                let split = part.split(|c: char| !c.is_alphanumeric() && c != '\'');
                let found = split.filter(|word| !word.is_empty());
                words.extend(found.map(|word| (*line, word.to_lowercase())));
            }
        }
        for (phrase, plain) in &self.idioms {
            let wanted: Vec<&str> = phrase.split(' ').collect();
            for window in words.windows(wanted.len()) {
                if window.iter().zip(&wanted).all(|((_, word), wanted)| word == wanted) {
                    remarks.push((window[0].0, format!("`{phrase}`: {plain}")));
                }
            }
        }
    }

    /// Finds declarations of types with a forbidden name.
    fn names(&self, text: &str, remarks: &mut Vec<(usize, String)>) {
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let declares =
                words.any(|word| ["struct", "enum", "trait", "type", "union"].contains(&word));
            let name = words.next().filter(|_| declares && !line.trim().starts_with("//"));
            if let Some((name, plain)) = name.and_then(|name| self.names.get_key_value(name)) {
                remarks.push((at + 1, format!("type `{name}`: {plain}")));
            }
        }
    }
}

/// Index after the first sentence of `text`, unless the sentence continues on the next line.
fn sentence_end(text: &str) -> Option<usize> {
    let mut in_code = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        in_code ^= *byte == b'`';
        let last = at + 1 == bytes.len();
        if !in_code && b".!?".contains(byte) && (last || bytes[at + 1] == b' ') {
            return Some(at + 1);
        }
    }
    None
}

/// True if `text` begins with the words of `opening`.
fn opens(text: &str, opening: &str) -> bool {
    text.strip_prefix(opening).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// A table row, a link or one long word cannot be broken.
fn is_unbreakable(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('|')
        || text.contains("://")
        || text.split_whitespace().any(|word| word.chars().count() > 70)
        || (text.contains("](") && text.split_whitespace().count() < 12)
}

/// Text of a page without code blocks and quotations.
fn page(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with('>') && !line.starts_with("    ") {
            lines.push((at + 1, line.to_owned()));
        }
    }
    lines
}

/// Splits into paragraphs of adjacent lines; a list item, a table row and a heading begin a new
/// one.
fn paragraphs(lines: &[(usize, String)]) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let mut last = 0;
    for (line, text) in lines {
        let trimmed = text.trim();
        let begins = ["- ", "* ", "|", "#"].iter().any(|mark| trimmed.starts_with(mark));
        match paragraphs.last_mut() {
            Some(paragraph) if last + 1 == *line && !begins && !trimmed.is_empty() => {
                paragraph.push((*line, text.clone()));
            }
            _ => paragraphs.push(vec![(*line, text.clone())]),
        }
        last = if trimmed.is_empty() { 0 } else { *line };
    }
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            openings: vec!["What".into(), "The same".into()],
            columns: 40,
            idioms: [("goes for".into(), "depends on".into())].into(),
            names: [("Xyz".into(), "Owner".into())].into(),
        }
    }

    fn remarks(name: &str, text: &str) -> Vec<(usize, String)> {
        let mut remarks = rules().check(name, text).unwrap();
        remarks.sort();
        remarks
    }

    #[test]
    fn openings_are_found_at_each_sentence() {
        let found = remarks("a.rs", "// Good. What is late is lost.\n// Then\n// What follows.\n");
        assert_eq!(found, [(1, "a sentence opens with `What`".into())]);
        assert_eq!(remarks("a.md", "# What does it do?\n"), []);
        assert_eq!(remarks("a.md", "- The same holds.\n").len(), 1);
    }

    #[test]
    fn idioms_are_found_across_lines_and_in_strings_but_not_in_code() {
        assert_eq!(remarks("a.rs", "// It goes\n// for K.\n").len(), 1);
        assert_eq!(remarks("a.rs", "const A: &str = \"it goes for K\";\n").len(), 1);
        assert_eq!(remarks("a.md", "The key `goes for` is not a phrase.\n"), []);
        assert_eq!(remarks("a.toml", "a = 1\n# This goes for K.\n").len(), 1);
    }

    #[test]
    fn long_lines_are_found_but_for_tables() {
        let long = "word ".repeat(10);
        assert_eq!(remarks("a.md", &long).len(), 1);
        assert_eq!(remarks("a.rs", &format!("// {long}\n")).len(), 1);
        assert_eq!(remarks("a.md", &format!("| {long} |\n")), []);
    }

    #[test]
    fn forbidden_type_names_are_found() {
        assert_eq!(remarks("a.rs", "pub enum Xyz {}\n"), [(1, "type `Xyz`: Owner".into())]);
        assert_eq!(remarks("a.rs", "// an enum Xyz\n"), []);
    }
}
