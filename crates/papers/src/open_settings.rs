//! `papers/<paper>/open.toml`: the settings that a paper leaves open, on the page of the paper.
//!
//! Contract: a parameter has the words of the paper that leave it open, and the value of each of
//! its keys in our experiments. A test compares the values with those of the runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::ClaimError;
use crate::catalogue::{OPEN_SETTINGS, paper_file};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenSettings {
    parameter: Vec<OpenParameter>,
}

/// A parameter that a paper leaves open.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenParameter {
    /// Its name in findings.
    name: String,
    /// Its meaning.
    says: String,
    /// Words of the paper that leave it open.
    quote: String,
    /// Place of the quote.
    source: String,
    /// Why it is open.
    why: String,
    /// Rows that it applies to; empty for all experiments of the paper.
    #[serde(default)]
    only: Vec<String>,
    /// Its keys in the scenarios, each with its value there.
    value: BTreeMap<String, String>,
}

/// Settings that a paper leaves open, as a section of its page. Empty without the file.
///
/// # Errors
/// The file is wrong.
pub(super) fn open_settings_table(paper: &str) -> Result<String, ClaimError> {
    let Some(text) = paper_file(paper, OPEN_SETTINGS) else { return Ok(String::new()) };
    let open: OpenSettings = toml::from_str(text).map_err(|e| ClaimError {
        file: format!("papers/{paper}/{OPEN_SETTINGS}"),
        message: e.to_string(),
    })?;
    let mut out = "\n## Parameters that the paper leaves open\n\
                   A search found no values that can be told from these: [inferred \
                   settings](../../evidence/inferred-settings.md).\n\n\
                   | parameter | the paper | value here | experiments |\n|---|---|---|---|\n"
        .to_owned();
    for p in &open.parameter {
        let values: Vec<String> =
            p.value.iter().map(|(key, value)| format!("`{key}`: {value}")).collect();
        let rows: Vec<String> = p.only.iter().map(|row| format!("`{paper}-{row}`")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} (`{}`) | \"{}\" ({}): {} | {} | {} |",
            p.says,
            p.name,
            p.quote,
            p.source,
            p.why,
            values.join("; "),
            if rows.is_empty() { "all".to_owned() } else { rows.join(", ") },
        );
    }
    Ok(out)
}
