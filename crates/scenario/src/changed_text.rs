//! The text of a scenario with the changes of the command line.

use toml::{Table, Value};

use crate::error::ScenarioErrors;
use crate::files::{FILES, RecordedFiles};
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
        let files = RecordedFiles::new(self.files());
        self.expand_with(&files)?;
        let mut table = match value(self.root()) {
            Value::Table(table) => table,
            _ => Table::new(),
        };
        let read = files.into_texts();
        if !read.is_empty() {
            let embedded = table.entry(FILES).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(embedded) = embedded {
                embedded.extend(read.into_iter().map(|(name, text)| (name, Value::String(text))));
            }
        }
        Ok(table.to_string())
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

    use crate::Scenario;
    use crate::files::Files;

    #[test]
    fn overrides_are_in_the_text_and_defaults_are_not() {
        let scenario = Scenario::load("leaf-spine").unwrap();
        let changed = scenario.with_override("switch.mark.k", "18 kB").unwrap();
        let text = changed.to_toml().unwrap();
        assert!(text.contains("k = \"18 kB\"") && !text.contains("rto-min-applies"), "{text}");
        let again = Scenario::parse(&text, "leaf-spine.toml").unwrap();
        let resolved = |s: &Scenario| -> Vec<String> {
            s.expand().unwrap().runs.iter().map(crate::RunSpec::resolved_toml).collect()
        };
        assert_eq!(resolved(&again), resolved(&changed));
    }

    /// Parts of a sweep carry this text, from which their plan is made again.
    #[test]
    fn the_text_of_every_embedded_scenario_gives_its_plan() {
        for found in crate::embedded_scenarios() {
            let scenario = Scenario::load(found.name).unwrap().seeds(2).unwrap();
            let plan = scenario.expand().unwrap();
            let text = scenario.to_toml().unwrap();
            let again = Scenario::parse(&text, "plan.toml").unwrap().named(&plan.name);
            let again = again.expand().unwrap_or_else(|e| panic!("{}: {e}", found.name));
            assert_eq!(again.hash, plan.hash, "{}", found.name);
            assert_eq!((again.points, again.schemes), (plan.points, plan.schemes));
            let hashes = |runs: &[crate::RunSpec]| -> Vec<String> {
                runs.iter().map(|run| run.hash.clone()).collect()
            };
            assert_eq!(hashes(&again.runs), hashes(&plan.runs), "{}", found.name);
        }
    }

    #[test]
    fn the_files_of_all_points_are_embedded() {
        /// A list of one flow, whose size is in the name.
        #[derive(Debug)]
        struct Lists;
        impl Files for Lists {
            fn read(&self, name: &str) -> Result<String, String> {
                let bytes = name.trim_end_matches(".csv");
                Ok(format!("src,dst,bytes,start\nweb.0,db.0,{bytes},0 ms\n"))
            }
        }
        // The topology is embedded already.
        let text = Scenario::load("own-flows").unwrap().text().to_owned();
        let own = Scenario::parse_with(&text, "own.toml", Arc::new(Lists)).unwrap();
        let files = ["1000.csv".to_owned(), "2000.csv".to_owned()];
        let swept = own.with_sweep("traffic.mine.file", &files).unwrap();
        let (plan, text) = (swept.expand().unwrap(), swept.to_toml().unwrap());
        let again = Scenario::parse(&text, "plan.toml").unwrap().expand().unwrap();
        assert_eq!((again.runs.len(), again.hash), (plan.runs.len(), plan.hash));
    }
}
