//! Licence texts, each once: texts that differ only in blanks, marks and their copyright lines are
//! one.

use std::collections::BTreeMap;

/// Texts with the components that have them.
#[derive(Default)]
pub(super) struct Texts {
    /// Position in `groups` of a text, by its words.
    positions: BTreeMap<String, usize>,
    groups: Vec<Group>,
}

/// A text without its copyright lines.
struct Group {
    body: String,
    /// Components by their copyright lines.
    owners: BTreeMap<Vec<String>, Vec<String>>,
}

impl Texts {
    /// Adds a text of a component.
    pub(super) fn add(&mut self, component: &str, text: &str) {
        let lines = || text.lines().map(str::trim_end);
        let copyright: Vec<String> =
            lines().filter(|l| is_copyright(l)).map(|l| l.trim().to_owned()).collect();
        let body: Vec<&str> = lines().filter(|l| !is_copyright(l)).collect();
        let body = body.join("\n").trim_matches('\n').to_owned();
        // Some have the text with straight quotes or other marks.
        let words: Vec<&str> =
            body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let words = words.join(" ").to_lowercase();
        let position = *self.positions.entry(words).or_insert_with(|| {
            self.groups.push(Group { body, owners: BTreeMap::new() });
            self.groups.len() - 1
        });
        if let Some(group) = self.groups.get_mut(position) {
            let owners = group.owners.entry(copyright).or_default();
            if owners.last().is_none_or(|last| last != component) {
                owners.push(component.to_owned());
            }
        }
    }

    /// All texts, each after the components that have it and their copyright lines.
    pub(super) fn shown(&self) -> String {
        let rule = "~".repeat(80);
        let mut out = String::new();
        for group in &self.groups {
            out.extend(["\n", &rule, "\n"]);
            for (copyright, components) in &group.owners {
                out.push_str(&wrapped(&components.join(", ")));
                for line in copyright {
                    out.extend(["    ", line, "\n"]);
                }
            }
            out.extend([&rule, "\n", &group.body, "\n"]);
        }
        out
    }
}

/// Whether a line names who holds the copyright: with a year or the sign. Lines of a licence that
/// speak of copyright have neither.
fn is_copyright(line: &str) -> bool {
    let lower = line.trim().to_lowercase();
    let year = lower.as_bytes().windows(4).any(|w| w.iter().all(u8::is_ascii_digit));
    let sign = lower.contains("(c)") || lower.contains('©');
    lower.starts_with("copyright") && (year || sign)
}

/// A list of names in lines of at most 80 characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for name in text.split_inclusive(", ") {
        if width > 0 && width + name.trim_end().len() > 80 {
            out.push('\n');
            width = 0;
        }
        out.push_str(name);
        width += name.len();
    }
    let lines: Vec<&str> = out.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_licences_of_several_authors_are_one_text() {
        let mut texts = Texts::default();
        texts.add("a 1", "MIT License\n\nCopyright (c) 2015 Ann\n\nPermission is\ngranted");
        texts.add("b 2", "MIT License\nCopyright 2016 Bob\nPermission is granted\n");
        texts.add("c 3", "Copyright notice and\nlicence [yyyy]");
        let shown = texts.shown();
        assert_eq!(shown.matches("Permission").count(), 1, "{shown}");
        let owners = "b 2\n    Copyright 2016 Bob\na 1\n    Copyright (c) 2015 Ann\n";
        assert!(shown.contains("c 3\n"), "{shown}");
        for owner in owners.split_inclusive('\n') {
            assert!(shown.contains(owner), "{shown}");
        }
        assert!(shown.contains("Copyright notice and\nlicence [yyyy]"), "no owner: it stays");
    }

    #[test]
    fn names_are_wrapped() {
        let names: Vec<String> = (0..40).map(|i| format!("crate-{i} 1.0.{i}")).collect();
        let text = wrapped(&names.join(", "));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.replace('\n', " ").trim(), names.join(", "));
    }
}
