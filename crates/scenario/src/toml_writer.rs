//! Writer of a scenario as TOML.

use std::fmt::Write as _;

/// TOML text.
#[derive(Default)]
pub(crate) struct TomlWriter(pub(crate) String);

impl TomlWriter {
    pub(crate) fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }
    pub(crate) fn table(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
    }
    pub(crate) fn bare(&mut self, key: &str, value: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }
    pub(crate) fn text(&mut self, key: &str, value: impl std::fmt::Display) {
        self.bare(key, toml::Value::String(value.to_string()));
    }
    /// Writes a multi-line text under a quoted key.
    pub(crate) fn multiline(&mut self, key: &str, text: &str) {
        self.0.push_str(&toml::Value::String(key.to_owned()).to_string());
        self.0.push_str(" = \"\"\"\n");
        for c in text.chars() {
            match c {
                '\\' => self.0.push_str("\\\\"),
                '"' => self.0.push_str("\\\""),
                '\n' | '\t' => self.0.push(c),
                // Writing to a string cannot fail.
                c if c.is_control() => drop(write!(self.0, "\\u{:04X}", u32::from(c))),
                c => self.0.push(c),
            }
        }
        self.line("\"\"\"");
    }
    /// Writes a key that may be absent.
    pub(crate) fn optional(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }
    pub(crate) fn list<'a>(&mut self, key: &str, items: impl Iterator<Item = &'a str>) {
        let items: Vec<_> = items.map(|i| toml::Value::String(i.to_owned())).collect();
        self.bare(key, toml::Value::Array(items));
    }
}
