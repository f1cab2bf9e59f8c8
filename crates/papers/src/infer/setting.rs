//! A point in the space of a paper's open parameters.
//!
//! Contract: a value of a range has three significant digits, so that equal texts are equal
//! settings, and the text is what the scenario gets.

use serde::{Deserialize, Serialize};

use super::open::{OpenParameter, OpenSettings, ParameterDomain};

/// Part of a range, on its scale, that counts as its bound.
const AT_BOUND: f64 = 0.02;

/// One value for each open parameter, in their order; an empty one leaves the experiments as they
/// are. Without values it is the default setting: the experiments as they are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Setting {
    /// The texts of the values: a number with its unit, or the name of a choice.
    pub values: Vec<String>,
}

impl Setting {
    /// The setting of the experiments as they are.
    pub(super) fn defaults() -> Self {
        Self::default()
    }

    /// Whether it is the setting of the experiments as they are.
    pub fn is_default(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether each parameter has a value.
    pub(super) fn is_complete(&self) -> bool {
        !self.is_default() && self.values.iter().all(|v| !v.is_empty())
    }

    /// The setting at coordinates from 0 to 1, one for each parameter.
    pub(super) fn at(open: &OpenSettings, unit: &[f64]) -> Self {
        let values = open.parameters.iter().zip(unit).map(|(p, u)| p.value_at(*u)).collect();
        Self { values }
    }

    /// Keys and values for the experiment of this row, with the text of its scenario. A key of a
    /// bundle is left out if the experiment does not have the bundle.
    pub(super) fn overrides(
        &self,
        open: &OpenSettings,
        row: &str,
        scenario: &str,
    ) -> Vec<(String, String)> {
        let table: toml::Table = scenario.parse().unwrap_or_default();
        let bundles = table.get("compare").and_then(|compare| compare.get("bundles"));
        let applies = |(key, _): &(String, String)| {
            let bundle = key.strip_prefix("compare.bundles.").and_then(|k| k.split('.').next());
            bundle.is_none_or(|name| bundles.is_some_and(|b| b.get(name).is_some()))
        };
        let pairs = open.parameters.iter().zip(&self.values);
        let of_row = pairs.filter(|(p, v)| p.applies_to(row) && !v.is_empty());
        let of_row = of_row.flat_map(|(p, v)| p.overrides(v));
        of_row.filter(applies).collect()
    }
}

impl OpenParameter {
    /// The value at a coordinate from 0 to 1 in the prior.
    pub(super) fn value_at(&self, unit: f64) -> String {
        let unit = unit.clamp(0.0, 1.0);
        match &self.domain {
            ParameterDomain::Range { low, high, unit: name, log, whole, .. } => {
                let value = if *whole {
                    // All whole numbers have the same weight on a linear scale.
                    on_scale(*low, *high + 1.0, *log, unit).floor()
                } else {
                    three_digits(on_scale(*low, *high, *log, unit))
                };
                let value = value.clamp(*low, *high);
                if name.is_empty() { value.to_string() } else { format!("{value} {name}") }
            }
            ParameterDomain::Choices(choices) => {
                let index = (unit * choices.len() as f64) as usize;
                choices[index.min(choices.len() - 1)].name.clone()
            }
        }
    }

    /// Whether it is a value of the range, in its unit, or a choice.
    pub(super) fn contains(&self, value: &str) -> bool {
        match &self.domain {
            ParameterDomain::Range { low, high, unit, .. } => {
                let (number, name) = value.split_once(' ').unwrap_or((value, ""));
                let number: Option<f64> = number.parse().ok();
                name == unit && number.is_some_and(|n| (*low..=*high).contains(&n))
            }
            ParameterDomain::Choices(choices) => choices.iter().any(|c| c.name == value),
        }
    }

    /// The coordinate of a value: from 0 to 1 for a range, the index of a choice.
    pub(super) fn coordinate(&self, value: &str) -> Option<f64> {
        match &self.domain {
            ParameterDomain::Range { low, high, log, .. } => {
                let value: f64 = value.split(' ').next()?.parse().ok()?;
                let unit = if *log {
                    (value / low).ln() / (high / low).ln()
                } else {
                    (value - low) / (high - low)
                };
                Some(unit.clamp(0.0, 1.0))
            }
            ParameterDomain::Choices(choices) => {
                choices.iter().position(|c| c.name == value).map(|i| i as f64)
            }
        }
    }

    /// Whether a value of a range is at one of its bounds, so that the best value may be beyond.
    pub fn is_at_bound(&self, value: &str) -> bool {
        let near = |at: f64| at <= AT_BOUND || at >= 1.0 - AT_BOUND;
        self.choices().is_none() && self.coordinate(value).is_some_and(near)
    }

    /// Both ends of a range, or all choices.
    pub(super) fn extremes(&self) -> Vec<String> {
        match &self.domain {
            ParameterDomain::Range { .. } => vec![self.value_at(0.0), self.value_at(1.0)],
            ParameterDomain::Choices(choices) => choices.iter().map(|c| c.name.clone()).collect(),
        }
    }

    /// Values that change something: the quartiles of a range, or the choices that set a key.
    pub(super) fn changes(&self) -> Vec<String> {
        match &self.domain {
            ParameterDomain::Range { .. } => [0.25, 0.75].map(|unit| self.value_at(unit)).to_vec(),
            ParameterDomain::Choices(choices) => {
                choices.iter().filter(|c| !c.set.is_empty()).map(|c| c.name.clone()).collect()
            }
        }
    }

    /// Number of choices; `None` for a range.
    pub(super) fn choices(&self) -> Option<usize> {
        match &self.domain {
            ParameterDomain::Range { .. } => None,
            ParameterDomain::Choices(choices) => Some(choices.len()),
        }
    }

    fn overrides(&self, value: &str) -> Vec<(String, String)> {
        match &self.domain {
            ParameterDomain::Range { keys, .. } => {
                keys.iter().map(|key| (key.clone(), value.to_owned())).collect()
            }
            ParameterDomain::Choices(choices) => {
                let text =
                    |v: &toml::Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
                let of = choices.iter().find(|c| c.name == value);
                of.into_iter().flat_map(|c| &c.set).map(|(k, v)| (k.clone(), text(v))).collect()
            }
        }
    }
}

fn on_scale(low: f64, high: f64, log: bool, unit: f64) -> f64 {
    if log { low * (high / low).powf(unit) } else { low + (high - low) * unit }
}

/// Rounds to three significant digits, in decimal.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> OpenSettings {
        let words = "says = \"a\"\nquote = \"b\"\nsource = \"§V\"\nwhy = \"c\"\nprior = \"d\"\n";
        let text = format!(
            "[[parameter]]\nname = \"buffer\"\n{words}keys = [\"a.b\", \"a.c\"]\n\
             range = [\"10 kB\", \"1000 kB\"]\nscale = \"log\"\nonly = [\"fig7\"]\n\
             [[parameter]]\nname = \"window\"\n{words}keys = [\"w\"]\nrange = [\"1\", \"4\"]\n\
             scale = \"linear\"\nwhole = true\n\
             [[parameter]]\nname = \"rule\"\n{words}\
             [[parameter.choice]]\nname = \"x\"\nset = {{}}\n\
             [[parameter.choice]]\nname = \"y\"\nset = {{ \"r\" = true, \"q\" = 3 }}\n"
        );
        OpenSettings::parse(&text, "open.toml").unwrap()
    }

    #[test]
    fn coordinates_and_values_correspond() {
        let open = open();
        let setting = Setting::at(&open, &[0.5, 0.6, 0.7]);
        assert_eq!(setting.values, ["100 kB", "3", "y"]);
        let back: Vec<_> =
            open.parameters.iter().zip(&setting.values).map(|(p, v)| p.coordinate(v)).collect();
        assert_eq!(back, [Some(0.5), Some(2.0 / 3.0), Some(1.0)]);
        let at_bound = |value| open.parameters[0].is_at_bound(value);
        assert!(at_bound("1000 kB") && at_bound("10.5 kB") && !at_bound("11 kB"));
        assert!(!open.parameters[2].is_at_bound("x"));
        assert_eq!(Setting::at(&open, &[0.123, 0.0, 0.0]).values[0], "17.6 kB");
        assert_eq!(Setting::at(&open, &[1.0, 1.0, 1.0]).values, ["1000 kB", "4", "y"]);
    }

    #[test]
    fn a_key_of_a_bundle_is_for_experiments_with_the_bundle() {
        let words = "says = \"a\"\nquote = \"b\"\nsource = \"§V\"\nwhy = \"c\"\nprior = \"d\"\n";
        let text = format!(
            "[[parameter]]\nname = \"g\"\n{words}keys = [\"compare.bundles.mine.sender.x\"]\n\
             range = [\"1\", \"2\"]\nscale = \"linear\"\n"
        );
        let open = OpenSettings::parse(&text, "open.toml").unwrap();
        let setting = Setting::at(&open, &[0.0]);
        let with = "[compare.bundles.mine]\nbase = \"dctcp\"";
        assert_eq!(setting.overrides(&open, "fig1", with).len(), 1);
        assert_eq!(setting.overrides(&open, "fig1", &with.replace("mine", "other")), []);
    }

    #[test]
    fn overrides_are_those_of_the_experiment() {
        let open = open();
        let setting = Setting::at(&open, &[0.5, 0.0, 0.9]);
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        let common = [pair("w", "1"), pair("q", "3"), pair("r", "true")];
        assert_eq!(setting.overrides(&open, "fig1", ""), common);
        assert_eq!(
            setting.overrides(&open, "fig7", "")[..2],
            [pair("a.b", "100 kB"), pair("a.c", "100 kB")]
        );
        assert_eq!(Setting::defaults().overrides(&open, "fig7", ""), []);
    }
}
