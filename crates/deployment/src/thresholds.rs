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
const SCHEMA: i64 = 1;

/// The thresholds of the verdicts; the built-in file documents each number.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// Ratios of a 99th percentile to that before the move.
    pub rollout: RolloutThresholds,
}

/// Table `[collapsed-window]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CollapseThresholds {
    /// In segments.
    pub window: f64,
    /// Fraction of the fair share of the link.
    pub goodput: f64,
}

/// Table `[blind-to-congestion]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BlindnessThresholds {
    /// Multiple of K.
    pub queue: f64,
    /// Fraction of the marked bytes.
    pub echo_ratio: f64,
}

/// Table `[starves-neighbour]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StarvationThresholds {
    /// Fraction of the fair share of all goodput.
    pub share: f64,
}

/// Table `[rollout]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct RolloutThresholds {
    /// Harmful from this ratio on.
    pub harm: f64,
    /// Better up to this ratio.
    pub benefit: f64,
}

/// Table `[mechanism]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
        let refuse = |message: String, help: &str| LabError::InvalidRequest {
            message: format!("{file}: {message}"),
            help: Some(help.to_owned()),
        };
        let print = "`lowtide matrix --print thresholds` prints a complete file";
        let mut all: Table =
            BUILT_IN_THRESHOLDS.parse().map_err(|e| refuse(format!("not TOML: {e}"), print))?;
        let given: Table = text.parse().map_err(|e| refuse(format!("not TOML: {e}"), print))?;
        for (name, value) in given {
            let Some(known) = all.get_mut(&name) else {
                let tables: Vec<&str> = all.keys().map(String::as_str).collect();
                let message = format!("there is no `{name}`; there are {}", tables.join(", "));
                return Err(refuse(message, print));
            };
            match (known, value) {
                (Value::Integer(_), Value::Integer(SCHEMA)) => {}
                (Value::Integer(_), other) => {
                    let message = format!("`{name}` is {other}; this version reads {SCHEMA}");
                    return Err(refuse(message, print));
                }
                (Value::Table(known), Value::Table(given)) => {
                    merge_table(known, &name, given).map_err(|message| refuse(message, print))?;
                }
                (_, other) => {
                    let message =
                        format!("`{name}` is {} where a table is wanted", other.type_str());
                    return Err(refuse(message, "write it as `[table]` with keys below"));
                }
            }
        }
        Value::Table(all).try_into().map_err(|e| refuse(e.to_string(), print))
    }
}

/// Overrides the values of one table.
fn merge_table(known: &mut Table, table: &str, given: Table) -> Result<(), String> {
    for (key, value) in given {
        let Some(place) = known.get_mut(&key) else {
            let keys: Vec<&str> = known.keys().map(String::as_str).collect();
            return Err(format!("there is no `{key}` in [{table}]; it has {}", keys.join(", ")));
        };
        let number = match value {
            Value::Float(number) => number,
            Value::Integer(number) => number as f64,
            other => {
                return Err(format!("`{key}` in [{table}] is {other}, but it takes a number"));
            }
        };
        if !number.is_finite() || number < 0.0 {
            return Err(format!("`{key}` in [{table}] is {number}; it takes zero or more"));
        }
        *place = Value::Float(number);
    }
    Ok(())
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
        assert!(refused("[colapsed]\nwindow = 2\n").contains("there is no `colapsed`"));
        let key = refused("[collapsed-window]\nwindows = 2\n");
        assert!(key.contains("my.toml: there is no `windows` in [collapsed-window]"), "{key}");
        assert!(key.contains("window, goodput") || key.contains("goodput, window"), "{key}");
        assert!(refused("[mechanism]\nece = \"often\"\n").contains("takes a number"));
        assert!(refused("[mechanism]\nece = -1\n").contains("zero or more"));
        assert!(refused("[mechanism]\nece = nan\n").contains("zero or more"));
        assert!(refused("mechanism = 1\n").contains("where a table is wanted"));
        assert!(refused("schema = 2\n").contains("this version reads 1"));
        assert!(refused("[mechanism\n").contains("not TOML"));
    }
}
