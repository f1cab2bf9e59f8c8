//! The text of a scenario with the changes of the command line.

use toml::{Table, Value};
use toml_edit::DocumentMut;

use crate::error::ScenarioErrors;
use crate::files::FILES;
use crate::scenario::Scenario;
use crate::toml_tree::{TomlData, TomlNode};

impl Scenario {
    /// Returns the scenario as TOML with the changes of the command line and without comments; the
    /// files that it names are embedded. Defaults are left out, unlike in a resolved run, so other
    /// schemes can be compared or deployed on it.
    ///
    /// # Errors
    /// Those of [`Scenario::expand`].
    pub fn to_toml(&self) -> Result<String, ScenarioErrors> {
        self.expand()?;
        let mut table = match value(self.root()) {
            Value::Table(table) => table,
            _ => Table::new(),
        };
        let read = self.files_read();
        if !read.is_empty() {
            let files = table.entry(FILES).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(files) = files {
                files.extend(read.into_iter().map(|(name, text)| (name, Value::String(text))));
            }
        }
        Ok(table.to_string())
    }

    /// Returns the text as it was read, without overrides, with the files that
    /// [`Scenario::expand`] has read in its table `[files]`.
    pub fn text_with_files(&self) -> String {
        let read = self.files_read();
        let text = self.text();
        if read.is_empty() {
            return text.to_owned();
        }
        let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
        let files = document.entry(FILES).or_insert_with(toml_edit::table);
        if let Some(files) = files.as_table_like_mut() {
            for (name, text) in read {
                files.insert(&name, toml_edit::value(text));
            }
        }
        document.to_string()
    }
}

fn value(node: &TomlNode) -> Value {
    match &node.data {
        TomlData::Text(text) | TomlData::Other(text) => Value::String(text.clone()),
        TomlData::Int(n) => Value::Integer(*n),
        TomlData::Float(text) => {
            text.parse().map_or_else(|_| Value::String(text.clone()), Value::Float)
        }
        TomlData::Bool(b) => Value::Boolean(*b),
        TomlData::List(items) => Value::Array(items.iter().map(value).collect()),
        TomlData::Table(entries) => {
            Value::Table(entries.iter().map(|e| (e.key.clone(), value(&e.node))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Files, RunSpec, Scenario};

    /// The files of `own-flows`, which embeds them.
    #[derive(Debug)]
    struct Beside(toml::Table);

    impl Files for Beside {
        fn read(&self, name: &str) -> Result<String, String> {
            let text = self.0.get(name).and_then(toml::Value::as_str);
            text.map(str::to_owned).ok_or_else(|| "there is none".to_owned())
        }
    }

    #[test]
    fn files_of_flows_and_of_the_topology_are_embedded() {
        let embedded = Scenario::load("own-flows").unwrap();
        let mut table: toml::Table = embedded.text().parse().unwrap();
        let Some(toml::Value::Table(files)) = table.remove("files") else { panic!("no files") };
        assert_eq!(files.len(), 2);
        let resolved = |s: &Scenario| -> Vec<String> {
            s.expand().unwrap().runs.iter().map(RunSpec::resolved_toml).collect()
        };
        let expected = resolved(&embedded);
        // All files beside the scenario, or one of them embedded.
        let mut with_one = table.clone();
        let one = files.iter().take(1).map(|(name, text)| (name.clone(), text.clone()));
        with_one.insert("files".to_owned(), toml::Value::Table(one.collect()));
        let spaced = with_one.to_string().replace("\n[files]\n", "\n[ files ]\n");
        for text in [table.to_string(), with_one.to_string(), spaced] {
            let beside = Arc::new(Beside(files.clone()));
            let scenario = Scenario::parse_with(&text, "own-flows.toml", beside).unwrap();
            assert_eq!(resolved(&scenario), expected);
            for alone in [scenario.to_toml().unwrap(), scenario.text_with_files()] {
                let again = Scenario::parse(&alone, "own-flows.toml").unwrap();
                assert_eq!(resolved(&again), expected, "{alone}");
            }
        }
        assert_eq!(embedded.text_with_files(), embedded.text());
    }

    #[test]
    fn overrides_are_in_the_text_and_defaults_are_not() {
        let scenario = Scenario::load("leaf-spine").unwrap();
        let changed = scenario.with_override("switch.mark.k", "18 kB").unwrap();
        let text = changed.to_toml().unwrap();
        assert!(text.contains("k = \"18 kB\"") && !text.contains("rto-min-applies"), "{text}");
        let again = Scenario::parse(&text, "leaf-spine.toml").unwrap();
        let resolved = |s: &Scenario| -> Vec<String> {
            s.expand().unwrap().runs.iter().map(RunSpec::resolved_toml).collect()
        };
        assert_eq!(resolved(&again), resolved(&changed));
    }
}
