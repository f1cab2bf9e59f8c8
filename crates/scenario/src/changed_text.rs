//! The text of a scenario with the changes of the command line.

use toml::{Table, Value};

use crate::error::ScenarioErrors;
use crate::files::FILES;
use crate::run::RunSpec;
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
        let plan = self.expand()?;
        let mut table = match value(self.root()) {
            Value::Table(table) => table,
            _ => Table::new(),
        };
        let resolved = plan.runs.first().map(RunSpec::resolved_toml).unwrap_or_default();
        let files = resolved.parse::<Table>().ok().and_then(|mut run| run.remove(FILES));
        if let Some(files) = files {
            table.insert(FILES.to_owned(), files);
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
    use crate::Scenario;

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
}
