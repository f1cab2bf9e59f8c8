//! Configurations as one line: the switches that differ from the `rfc` profile.

use lowtide_tcp::{Config, profile, switches};

/// Separator of switches; it occurs in no name or value.
const SEPARATOR: char = ';';

pub(super) fn write(config: &Config) -> String {
    let rows = profile::diff(&Config::default(), config);
    let rows: Vec<String> = rows.into_iter().map(|r| format!("{}={}", r.switch, r.b)).collect();
    rows.join(&SEPARATOR.to_string())
}

pub(super) fn read(text: &str) -> Result<Config, String> {
    let mut config = Config::default();
    for row in text.split(SEPARATOR).filter(|row| !row.is_empty()) {
        let (name, value) =
            row.split_once('=').ok_or_else(|| format!("`{row}` is not a switch"))?;
        switches::set_text(&mut config, name, value).map_err(|e| e.to_string())?;
    }
    Ok(config)
}
