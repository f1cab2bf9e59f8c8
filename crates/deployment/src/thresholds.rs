//! The thresholds of the verdicts: data, in `scenarios/matrix.verdicts.toml`.
//!
//! Contract: a file may state any subset; the others keep their built-in values. Unknown keys, and
//! values that are not numbers or out of range, are rejected by name.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use lowtide_lab::LabError;

/// The built-in file with its comments.
pub const BUILT_IN_THRESHOLDS: &str = include_str!("../../../scenarios/matrix.verdicts.toml");

/// Version of the format.
const SCHEMA: u32 = 1;

/// The thresholds of the verdicts; the built-in file documents each number.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, expecting = "a table")]
pub struct Thresholds {
    /// Version of the format.
    pub schema: u32,
    /// The window is at its minimum.
    pub collapsed_window: CollapseThresholds,
    /// Marks do not slow the sender.
    pub blind_to_congestion: BlindnessThresholds,
    /// Shares of goodput next to a neighbour.
    pub starves_neighbour: StarvationThresholds,
    /// Thresholds of the mechanisms.
    pub mechanism: MechanismThresholds,
    /// Ratios to the value before the move.
    pub rollout: RolloutThresholds,
}

/// Table `[collapsed-window]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct CollapseThresholds {
    /// In segments.
    pub window: f64,
    /// Fraction of the fair share of the link.
    pub goodput: f64,
}

/// Table `[blind-to-congestion]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, expecting = "a table")]
pub struct BlindnessThresholds {
    /// Multiple of K.
    pub queue: f64,
    /// Fraction of the marked bytes.
    pub echo_ratio: f64,
}

/// Table `[starves-neighbour]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct StarvationThresholds {
    /// Fraction of the fair share of all goodput.
    pub share: f64,
}

/// Table `[rollout]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct RolloutThresholds {
    /// Values that differ by no more than this fraction are the same.
    pub tolerance: f64,
}

/// Table `[mechanism]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, expecting = "a table")]
pub struct MechanismThresholds {
    /// Fraction of ACKs with ECE.
    pub ece: f64,
    /// Fraction of bytes with CE.
    pub marked: f64,
    /// Fraction of data segments with ECT.
    pub ect: f64,
    /// Factor between the marked fractions.
    pub marked_ratio: f64,
    /// Reductions per ACK with ECE.
    pub cuts_per_ece_ack: f64,
    /// Factor between echoed and marked bytes.
    pub overstated: f64,
}

impl Thresholds {
    /// The built-in thresholds.
    pub fn built_in() -> Result<Self, LabError> {
        Self::parse("", "the built-in thresholds")
    }

    /// Merges `text` into the built-in thresholds; errors name `file`.
    pub fn parse(text: &str, file: &str) -> Result<Self, LabError> {
        Self::merged(text).map_err(|message| LabError::InvalidRequest {
            message: format!("{file}: {}", message.trim_end().replace('\n', " ")),
            help: Some("`lowtide matrix --print thresholds` prints a complete file".to_owned()),
        })
    }

    fn merged(text: &str) -> Result<Self, String> {
        let read = |text: &str| text.parse::<Table>().map_err(|e| format!("not TOML: {e}"));
        let mut all = read(BUILT_IN_THRESHOLDS)?;
        for (name, value) in read(text)? {
            match (all.get_mut(&name), value) {
                (Some(Value::Table(known)), Value::Table(given)) => known.extend(given),
                (_, value) => drop(all.insert(name, value)),
            }
        }
        let out_of_range = |(table, keys): (&String, &Value)| {
            let number = |v: &Value| v.as_float().or_else(|| v.as_integer().map(|n| n as f64));
            let wrong = |v: &Value| number(v).is_some_and(|n| !(0.0..=f64::MAX).contains(&n));
            let (key, value) = keys.as_table()?.iter().find(|(_, value)| wrong(value))?;
            Some(format!("`{key}` in [{table}] is {value}; it takes zero or more"))
        };
        if let Some(message) = all.iter().find_map(out_of_range) {
            return Err(message);
        }
        let found: Self = Value::Table(all)
            .try_into()
            .map_err(|e| e.to_string().replace("expected f64", "expected a number"))?;
        if found.schema == SCHEMA {
            Ok(found)
        } else {
            Err(format!("`schema` is {}; this version reads {SCHEMA}", found.schema))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Thresholds::parse(text, "my.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_file_may_state_a_subset() {
        let all = Thresholds::built_in().unwrap();
        let part = Thresholds::parse("[collapsed-window]\nwindow = 3\n", "my.toml").unwrap();
        let collapsed = CollapseThresholds { window: 3.0, ..all.collapsed_window };
        assert_eq!(part, Thresholds { collapsed_window: collapsed, ..all });
        assert_eq!(Thresholds::parse(BUILT_IN_THRESHOLDS, "built-in").unwrap(), all);
        assert!(all.starves_neighbour.share < 1.0 && all.mechanism.marked_ratio > 1.0);
    }

    #[test]
    fn errors_name_the_key() {
        assert!(refused("[colapsed]\nwindow = 2\n").contains("unknown field `colapsed`"));
        let key = refused("[collapsed-window]\nwindows = 2\n");
        assert!(key.starts_with("my.toml: unknown field `windows`"), "{key}");
        assert!(key.contains("`window` or `goodput` in `collapsed-window`"), "{key}");
        assert!(
            refused("[mechanism]\nece = \"often\"\n")
                .contains("expected a number in `mechanism.ece`")
        );
        assert!(refused("[mechanism]\nece = -1\n").contains("zero or more"));
        assert!(refused("[mechanism]\nece = nan\n").contains("zero or more"));
        assert!(refused("mechanism = 1\n").contains("expected a table in `mechanism`"));
        assert!(refused("schema = 2\n").contains("this version reads 1"));
        assert!(refused("[mechanism\n").contains("not TOML"));
    }
}
