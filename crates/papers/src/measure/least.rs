//! The least value of a swept key at which a measure reaches a bound: the headroom that a figure
//! of DX draws as required.
//!
//! Contract: the measure at each value is one of the leaves, so a file is checked before any run.
//! A seed that reaches the bound at no value has no value.

use lowtide_lab::axis_position;
use serde::Deserialize;
use toml::{Table, Value};

use super::ClaimMeasure;
use crate::source::RunData;

/// The least value of `key` at which a measure is `at_least`, or another measure there.
#[derive(Clone, PartialEq, Debug)]
pub struct LeastMeasure {
    /// The swept key.
    key: String,
    at_least: f64,
    /// By value, ascending.
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
struct Step {
    /// The value of the key, in the unit of the file.
    value: f64,
    /// The measure that must reach the bound.
    reach: ClaimMeasure,
    /// The measure that is the result there, if it is not the value.
    of: Option<ClaimMeasure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Spec {
    least: String,
    values: Vec<String>,
    reach: Table,
    at_least: f64,
    /// Divisor of the value, which is in picoseconds, bytes or bits per second.
    #[serde(default = "one")]
    per: f64,
    #[serde(default)]
    of: Option<Table>,
}

const fn one() -> f64 {
    1.0
}

impl LeastMeasure {
    /// Parses a table with `least`; `part` parses the measures in it.
    pub(super) fn parse(
        table: Table,
        part: impl Fn(Table) -> Result<ClaimMeasure, String>,
    ) -> Result<Self, String> {
        let spec: Spec =
            Value::Table(table).try_into().map_err(|e: toml::de::Error| e.to_string())?;
        let (reach, of) = (part(spec.reach)?, spec.of.map(&part).transpose()?);
        if spec.values.len() < 2 || spec.per <= 0.0 {
            return Err("`least` needs several `values`, and `per` above zero".to_owned());
        }
        let step = |text: &String| {
            let at = axis_position(text).ok_or_else(|| format!("`{text}` is no quantity"))?;
            Ok(Step {
                value: at / spec.per,
                reach: reach.with(&spec.least, text),
                of: of.as_ref().map(|of| of.with(&spec.least, text)),
            })
        };
        let mut steps = spec.values.iter().map(step).collect::<Result<Vec<_>, String>>()?;
        steps.sort_by(|a, b| a.value.total_cmp(&b.value));
        Ok(Self { key: spec.least, at_least: spec.at_least, steps })
    }

    /// The measures at all values.
    pub(super) fn parts(&self) -> impl Iterator<Item = &ClaimMeasure> {
        self.steps.iter().flat_map(|step| std::iter::once(&step.reach).chain(&step.of))
    }

    /// The measures that are the result, if the value of the key is not.
    pub(crate) fn results(&self) -> impl Iterator<Item = &ClaimMeasure> {
        self.steps.iter().filter_map(|step| step.of.as_ref())
    }

    /// This measure at one more value of another swept key; its own key is searched.
    pub(super) fn with(&self, key: &str, value: &str) -> Self {
        let mut one = self.clone();
        if key != self.key {
            for step in &mut one.steps {
                step.reach = step.reach.with(key, value);
                step.of = step.of.as_ref().map(|of| of.with(key, value));
            }
        }
        one
    }

    pub(super) fn values(&self, of: RunData<'_>) -> Result<Vec<Option<f64>>, String> {
        let reached = self.steps.iter().map(|step| step.reach.values(of));
        let reached = reached.collect::<Result<Vec<_>, String>>()?;
        let result = |step: &Step| match &step.of {
            Some(result) => result.values(of),
            None => Ok(vec![Some(step.value); of.seeds.len()]),
        };
        let results = self.steps.iter().map(result).collect::<Result<Vec<_>, String>>()?;
        let first = first_at_least(&reached, self.at_least, of.seeds.len());
        Ok(first.into_iter().enumerate().map(|(seed, step)| results[step?][seed]).collect())
    }
}

/// For each seed the first step whose value of that seed is at least `bound`.
fn first_at_least(steps: &[Vec<Option<f64>>], bound: f64, seeds: usize) -> Vec<Option<usize>> {
    let reaches = |of: &Vec<Option<f64>>, seed: usize| of[seed].is_some_and(|v| v >= bound);
    (0..seeds).map(|seed| steps.iter().position(|of| reaches(of, seed))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: &str = "metric = \"utilisation\", queue = \"q\"";

    fn least(rest: &str) -> Result<ClaimMeasure, String> {
        let text = format!("m = {{ least = \"x.headroom\", reach = {{ {BUSY} }}, {rest} }}");
        let table: Table = text.parse().expect("TOML");
        table["m"].clone().try_into().map_err(|e: toml::de::Error| e.to_string())
    }

    #[test]
    fn each_value_is_a_leaf_in_ascending_order() {
        let found = least(
            "values = [\"12 us\", \"1200 ns\"], per = 1e6, at-least = 0.99, \
             of = { metric = \"mean_packets\", queue = \"q\" }",
        )
        .unwrap();
        let at: Vec<_> = found.leaves().iter().map(|leaf| leaf.at()[0].1.to_owned()).collect();
        assert_eq!(at, ["1200 ns", "1200 ns", "12 us", "12 us"]);
        let ClaimMeasure::Least(ours) = &found else { panic!("{found:?}") };
        let values: Vec<u64> = ours.steps.iter().map(|s| s.value.to_bits()).collect();
        assert_eq!(values, [1.2_f64.to_bits(), 12_f64.to_bits()]);
        let with = found.with("noise", "6 us").with("x.headroom", "36 us");
        for leaf in with.leaves() {
            assert_eq!(leaf.at()[0], ("noise", "6 us"));
            assert_ne!(leaf.at()[1], ("x.headroom", "36 us"), "its own key is searched");
        }
    }

    #[test]
    fn a_seed_has_the_first_value_that_reaches_the_bound() {
        let steps = [
            vec![Some(0.9), Some(0.99), None, Some(0.5)],
            vec![Some(0.995), Some(0.5), Some(1.0), Some(0.6)],
        ];
        assert_eq!(first_at_least(&steps, 0.99, 4), [Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_wrong_search_is_rejected_with_the_reason() {
        for (rest, says) in [
            ("values = [\"1 us\"], at-least = 1", "several `values`"),
            ("values = [\"1 us\", \"2 us\"], at-least = 1, per = 0", "above zero"),
            ("values = [\"1 us\", \"dctcp\"], at-least = 1", "`dctcp` is no quantity"),
            ("values = [\"1 us\", \"2 us\"]", "at-least"),
            ("values = [\"1 us\", \"2 us\"], at-least = 1, scheme = \"dx\"", "scheme"),
        ] {
            let error = least(rest).unwrap_err();
            assert!(error.contains(says), "{rest}: {error}");
        }
    }
}
