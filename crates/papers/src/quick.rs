//! The reduced form of an experiment: its changed settings and its cost limit.

use lowtide_scenario::{Scenario, ScenarioErrors};
use toml::{Table, Value};

/// The table `[quick]` of a file of claims.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QuickConfig {
    /// Keys of the scenario with one value, as for `-s key=value`.
    set: Vec<(String, String)>,
    /// Swept keys with fewer values, as for `--over key=a,b`.
    sweep: Vec<(String, Vec<String>)>,
    /// Packet-hops that all its runs together may take.
    pub hops: Option<u64>,
}

impl QuickConfig {
    pub(super) fn parse(table: &Table) -> Result<Self, String> {
        let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let mut quick = Self::default();
        for (key, value) in table {
            match value {
                Value::Integer(hops) if key == "hops" && *hops > 0 => {
                    quick.hops = u64::try_from(*hops).ok();
                }
                _ if key == "hops" => return Err("`hops` is a number of packet-hops".to_owned()),
                Value::Array(values) => {
                    quick.sweep.push((key.clone(), values.iter().map(text).collect()));
                }
                one => quick.set.push((key.clone(), text(one))),
            }
        }
        Ok(quick)
    }

    /// Returns the reduced scenario. A key of `swept` stays swept, with one value, so claims can
    /// name the point.
    pub(super) fn apply(
        &self,
        mut scenario: Scenario,
        swept: &[(String, String)],
    ) -> Result<Scenario, ScenarioErrors> {
        for (key, value) in &self.set {
            scenario = if swept.iter().any(|(k, _)| k == key) {
                scenario.with_sweep(key, std::slice::from_ref(value))?
            } else {
                scenario.with_override(key, value)?
            };
        }
        for (key, values) in &self.sweep {
            scenario = scenario.with_sweep(key, values)?;
        }
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<QuickConfig, String> {
        QuickConfig::parse(&text.parse().expect("TOML"))
    }

    #[test]
    fn one_value_is_set_several_are_swept() {
        let quick =
            of("hops = 5_000_000\n\"run.seeds\" = 2\n\"switch.mark.k\" = [\"5 pkt\"]").unwrap();
        assert_eq!(quick.hops, Some(5_000_000));
        assert_eq!(quick.set, [("run.seeds".to_owned(), "2".to_owned())]);
        assert_eq!(quick.sweep, [("switch.mark.k".to_owned(), vec!["5 pkt".to_owned()])]);
        assert!(of("hops = \"5\"").unwrap_err().contains("number of packet-hops"));
    }
}
