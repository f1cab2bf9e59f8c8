//! `papers/<paper>/open.toml`: the settings that a paper leaves open.
//!
//! Contract: a parameter has the words of the paper that leave it open, and a range or choices with
//! their reason. One without is refused, as is a parameter that sets what an experiment sweeps.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Table;

use crate::{ClaimError, QuickConfig};

/// The settings that a paper leaves open, and the forms in which they are inferred.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OpenSettings {
    /// The parameters, in the order of the file.
    pub parameters: Vec<OpenParameter>,
    /// Experiments that are too long for an inference, by row.
    pub(super) leave_out: Vec<String>,
    /// The reduced form of an experiment, if it differs from its `[quick]`.
    pub(super) forms: BTreeMap<String, QuickConfig>,
}

/// A parameter that a paper leaves open.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenParameter {
    /// Its name in the file.
    pub name: String,
    /// Its meaning.
    pub says: String,
    /// Words of the paper that leave it open.
    pub quote: String,
    /// Place of the quote.
    pub source: String,
    /// Why it is open.
    pub why: String,
    /// Reason of the bounds or choices.
    pub prior: String,
    /// Experiments that it applies to, by row; empty for all of the paper.
    pub(super) only: Vec<String>,
    /// Its values.
    pub(super) domain: ParameterDomain,
}

/// Values of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ParameterDomain {
    /// Numbers between two bounds, uniform on a linear or logarithmic scale.
    Range { keys: Vec<String>, low: f64, high: f64, unit: String, log: bool, whole: bool },
    /// Named alternatives, all with the same weight.
    Choices(Vec<ParameterChoice>),
}

/// An alternative.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterChoice {
    /// Its name.
    pub(super) name: String,
    /// Settings of the scenario; empty for the experiments as they are.
    pub(super) set: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    leave_out: Vec<String>,
    parameter: Vec<Entry>,
    #[serde(default)]
    form: BTreeMap<String, Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    says: String,
    #[serde(default)]
    quote: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    prior: String,
    #[serde(default)]
    keys: Vec<String>,
    range: Option<[String; 2]>,
    scale: Option<ParameterScale>,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    choice: Vec<ParameterChoice>,
    #[serde(default)]
    only: Vec<String>,
}

/// Scale on which a range is uniform.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ParameterScale {
    Linear,
    Log,
}

impl OpenSettings {
    /// The settings of one parameter.
    pub(super) fn of_parameter(parameter: &OpenParameter) -> Self {
        Self { parameters: vec![parameter.clone()], ..Self::default() }
    }

    /// Parses a file; `name` identifies it in errors.
    ///
    /// # Errors
    /// A parameter lacks its quote, source, reasons or values, or exists twice.
    pub fn parse(text: &str, name: &str) -> Result<Self, ClaimError> {
        let fail = |message: String| ClaimError { file: name.to_owned(), message };
        let file: File = toml::from_str(text).map_err(|e| fail(e.to_string()))?;
        let mut parameters: Vec<OpenParameter> = Vec::new();
        for entry in file.parameter {
            let id = entry.name.clone();
            let refuse = |wrong: String| fail(format!("parameter `{id}`: {wrong}"));
            let parameter = entry.parameter().map_err(refuse)?;
            if parameters.iter().any(|known| known.name == id) {
                return Err(refuse("there are two of this name".to_owned()));
            }
            parameters.push(parameter);
        }
        if parameters.is_empty() {
            return Err(fail("it needs a `[[parameter]]`".to_owned()));
        }
        let form = |(row, table): (String, Table)| {
            let wrong = |message: String| fail(format!("[form.{row}]: {message}"));
            if table.contains_key("run.seeds") {
                return Err(wrong("the inference sets `run.seeds` itself".to_owned()));
            }
            Ok((row.clone(), QuickConfig::parse(&table).map_err(wrong)?))
        };
        let forms = file.form.into_iter().map(form).collect::<Result<_, _>>()?;
        Ok(Self { parameters, leave_out: file.leave_out, forms })
    }
}

impl Entry {
    fn parameter(self) -> Result<OpenParameter, String> {
        for (field, text) in [
            ("quote", &self.quote),
            ("source", &self.source),
            ("why", &self.why),
            ("prior", &self.prior),
        ] {
            if text.trim().is_empty() {
                return Err(format!("it needs `{field}`"));
            }
        }
        let domain = match (&self.range, self.choice.len()) {
            (Some(_), 0) => self.range_domain()?,
            (Some(_), _) => return Err("it has `range` and choices; it needs one of them".into()),
            (None, 0 | 1) => return Err("it needs `range`, or several `[[choice]]`".into()),
            (None, _) => {
                if !self.keys.is_empty() || self.scale.is_some() || self.whole {
                    return Err("`keys`, `scale` and `whole` belong to a range".into());
                }
                ParameterDomain::Choices(distinct(self.choice)?)
            }
        };
        let Self { name, says, quote, source, why, prior, only, .. } = self;
        Ok(OpenParameter { name, says, quote, source, why, prior, only, domain })
    }

    fn range_domain(&self) -> Result<ParameterDomain, String> {
        let [low, high] = self.range.as_ref().ok_or("it needs `range`")?;
        let ((low, unit), (high, other)) = (quantity(low)?, quantity(high)?);
        let log = self.scale.ok_or("a range needs `scale`, linear or log")? == ParameterScale::Log;
        if unit != other {
            return Err("both bounds of `range` need the same unit".to_owned());
        }
        if low >= high || (log && low <= 0.0) {
            return Err("`range` needs a lower bound below the upper, above zero for `log`".into());
        }
        if self.keys.is_empty() {
            return Err("a range needs `keys`".to_owned());
        }
        if self.whole && (low.fract() != 0.0 || high.fract() != 0.0) {
            return Err("the bounds of a `whole` range are whole numbers".to_owned());
        }
        let (keys, unit, whole) = (self.keys.clone(), unit.to_owned(), self.whole);
        Ok(ParameterDomain::Range { keys, low, high, unit, log, whole })
    }
}

fn distinct(choices: Vec<ParameterChoice>) -> Result<Vec<ParameterChoice>, String> {
    for (i, choice) in choices.iter().enumerate() {
        if choices[..i].iter().any(|c| c.name == choice.name || c.set == choice.set) {
            return Err(format!("choice `{}` repeats a name or its settings", choice.name));
        }
    }
    Ok(choices)
}

/// A number and its unit, which may be empty.
fn quantity(text: &str) -> Result<(f64, &str), String> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let value: Option<f64> = number.parse().ok().filter(|v: &f64| v.is_finite());
    value.map(|v| (v, unit)).ok_or_else(|| format!("`{text}` is not a number with a unit"))
}

impl OpenParameter {
    /// Whether it applies to the experiment of this row.
    pub(super) fn applies_to(&self, row: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == row)
    }

    /// Keys of the scenario that it may set.
    pub(super) fn keys(&self) -> Vec<&str> {
        match &self.domain {
            ParameterDomain::Range { keys, .. } => keys.iter().map(String::as_str).collect(),
            ParameterDomain::Choices(choices) => {
                choices.iter().flat_map(|c| c.set.keys().map(String::as_str)).collect()
            }
        }
    }

    /// Its values as text: a range with its scale, or the names of the choices.
    pub fn values_text(&self) -> String {
        match &self.domain {
            ParameterDomain::Range { low, high, unit, log, .. } => {
                let scale = if *log { "log" } else { "linear" };
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                format!("{low} to {high}{unit}, {scale}")
            }
            ParameterDomain::Choices(choices) => {
                choices.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "name = \"buffer\"\nsays = \"Buffer\"\nquote = \"its buffer size\"\n\
                         source = \"§V\"\nwhy = \"no size\"\nprior = \"two defaults\"\n";

    fn parse(rest: &str) -> Result<OpenSettings, ClaimError> {
        OpenSettings::parse(&format!("[[parameter]]\n{rest}"), "open.toml")
    }

    #[test]
    fn a_range_and_choices_are_read() {
        let range = "keys = [\"switch.buffer\"]\nrange = [\"7.5 kB\", \"64 kB\"]\nscale = \"log\"";
        let open = parse(&format!("{WORDS}{range}")).unwrap();
        assert_eq!(open.parameters[0].keys(), ["switch.buffer"]);
        assert_eq!(open.parameters[0].values_text(), "7.5 to 64 kB, log");
        let choices = "[[parameter.choice]]\nname = \"as stated\"\nset = {}\n\
                       [[parameter.choice]]\nname = \"b\"\nset = { \"switch.buffer\" = \"1 MB\" }";
        let open = parse(&format!("{WORDS}{choices}")).unwrap();
        assert_eq!(open.parameters[0].values_text(), "as stated, b");
    }

    #[test]
    fn a_parameter_without_quote_or_values_is_refused() {
        let range = "keys = [\"switch.buffer\"]\nrange = [\"1 kB\", \"2 kB\"]\nscale = \"log\"";
        for field in ["quote", "source", "why", "prior"] {
            let without: Vec<&str> =
                WORDS.lines().filter(|line| !line.starts_with(field)).collect();
            let error = parse(&format!("{}\n{range}", without.join("\n"))).unwrap_err();
            assert_eq!(error.message, format!("parameter `buffer`: it needs `{field}`"));
        }
        for (rest, says) in [
            ("", "needs `range`, or several"),
            ("keys = [\"a\"]\nrange = [\"1 kB\", \"2 kB\"]", "needs `scale`"),
            ("keys = [\"a\"]\nrange = [\"1 kB\", \"2 MB\"]\nscale = \"log\"", "same unit"),
            ("keys = [\"a\"]\nrange = [\"2 kB\", \"1 kB\"]\nscale = \"log\"", "below the upper"),
            ("keys = [\"a\"]\nrange = [\"x kB\", \"1 kB\"]\nscale = \"log\"", "not a number"),
            ("keys = [\"a\"]\nrange = [\"0\", \"1\"]\nscale = \"log\"", "above zero"),
            ("range = [\"1\", \"2\"]\nscale = \"linear\"", "needs `keys`"),
            ("[[parameter.choice]]\nname = \"a\"\nset = {}", "or several"),
        ] {
            let error = parse(&format!("{WORDS}{rest}")).unwrap_err();
            assert!(error.message.contains(says), "{rest}: {}", error.message);
        }
    }

    #[test]
    fn a_form_does_not_set_seeds() {
        let range = "keys = [\"a\"]\nrange = [\"1\", \"2\"]\nscale = \"linear\"\n";
        let form = "[form.fig7]\n\"run.seeds\" = 3";
        let error = parse(&format!("{WORDS}{range}{form}")).unwrap_err();
        assert!(error.message.contains("[form.fig7]: the inference sets"), "{}", error.message);
    }
}
