//! A configuration in one line: the switches in which it differs from the `rfc` profile.

use lowtide_tcp::{Config, profile, switches};

/// Between switches; in no name and no value.
const BETWEEN: char = ';';

pub(super) fn write(config: &Config) -> String {
    let rows = profile::diff(&Config::default(), config);
    let rows: Vec<String> = rows.into_iter().map(|r| format!("{}={}", r.switch, r.b)).collect();
    rows.join(&BETWEEN.to_string())
}

pub(super) fn read(text: &str) -> Result<Config, String> {
    let mut config = Config::default();
    for row in text.split(BETWEEN).filter(|row| !row.is_empty()) {
        let (name, value) = row.split_once('=').ok_or_else(|| format!("`{row}` is no switch"))?;
        switches::set_text(&mut config, name, value).map_err(|e| e.to_string())?;
    }
    Ok(config)
}
