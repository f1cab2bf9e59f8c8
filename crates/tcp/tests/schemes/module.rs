//! The module doc of a registered file: its title and its sections.

use std::fs;
use std::path::Path;

/// The documentation of one registered file.
pub(crate) struct Module {
    /// Path from the root of the repository.
    pub(crate) path: String,
    /// The first paragraph, without its leading name.
    pub(crate) title: String,
    sections: Vec<(String, String)>,
}

impl Module {
    /// The documentation of the entry `name` in `crates/congestion/src/<room>/`.
    pub(crate) fn of(room: &str, name: &str) -> Self {
        let file = name.replace('-', "_");
        let path = format!("crates/congestion/src/{room}/{file}.rs");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = fs::read_to_string(root.join(&path))
            .unwrap_or_else(|e| panic!("the file of `{name}` should be {path}: {e}"));
        Self::parse(path, &text)
    }

    fn parse(path: String, text: &str) -> Self {
        let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
        let mut parts = vec![(String::new(), String::new())];
        for line in lines.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
            if let Some(heading) = line.strip_prefix("## ") {
                parts.push((heading.to_owned(), String::new()));
            } else if let Some((_, body)) = parts.last_mut() {
                body.push_str(line);
                body.push('\n');
            }
        }
        let tidy = |text: String| plain(text.trim());
        let mut parts = parts.into_iter().map(|(heading, body)| (heading, tidy(body)));
        let title = parts.next().map(|(_, body)| body).unwrap_or_default();
        Self { path, title, sections: parts.collect() }
    }

    /// The text under this heading; a registered file must have it.
    pub(crate) fn section(&self, heading: &str) -> &str {
        let found = self.sections.iter().find(|(h, _)| h == heading);
        found.map_or_else(
            || panic!("{} has no section `{heading}` in its module doc", self.path),
            |(_, body)| body,
        )
    }

    /// The first paragraph of that section.
    pub(crate) fn first(&self, heading: &str) -> &str {
        self.section(heading).split("\n\n").next().unwrap_or_default()
    }
}

/// Replaces links to items of the code by their names.
fn plain(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}

#[test]
fn headings_cut_the_module_doc_into_sections() {
    let text = "//! Name: what it is.\n//!\n//! ## Spec\n//! RFC 1 and [`Path`].\n//!\n//! More.\n\nuse x;\n//! no";
    let module = Module::parse("a.rs".into(), text);
    assert_eq!(module.title, "Name: what it is.");
    assert_eq!(module.section("Spec"), "RFC 1 and `Path`.\n\nMore.");
    assert_eq!(module.first("Spec"), "RFC 1 and `Path`.");
}
