//! Checks that the notice of the pages' script names what `web/package-lock.json` bundles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

const LOCK: &str = "web/package-lock.json";
const NOTICE: &str = "crates/charts/assets/NOTICE";

#[derive(Deserialize)]
struct Lock {
    packages: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Package {
    version: Option<String>,
    /// Whether it only builds the script.
    #[serde(default)]
    dev: bool,
}

pub(super) fn check(root: &Path) -> Result<(), String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"));
    let missing = missing(&read(LOCK)?, &read(NOTICE)?)?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("{NOTICE} lacks {}: add it with its licence", missing.join(", ")))
}

/// The bundled packages (`echarts 6.1.0`) that the notice does not name.
fn missing(lock: &str, notice: &str) -> Result<Vec<String>, String> {
    let lock: Lock = serde_json::from_str(lock).map_err(|e| format!("{LOCK}: {e}"))?;
    let notice = notice.to_lowercase();
    let bundled = lock.packages.iter().filter(|(_, package)| !package.dev);
    let named = bundled.filter_map(|(path, package)| {
        let name = path.rsplit("node_modules/").next().filter(|name| !name.is_empty())?;
        Some(format!("{name} {}", package.version.as_deref().unwrap_or_default()))
    });
    Ok(named.filter(|name| !notice.contains(&name.to_lowercase())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundled_package_that_the_notice_lacks_is_named() {
        let lock = r#"{"packages": {"": {}, "node_modules/a": {"version": "1.2"},
            "node_modules/a/node_modules/@b/c": {"version": "2.0"},
            "node_modules/esbuild": {"version": "0.1", "dev": true}}}"#;
        assert_eq!(missing(lock, "A 1.2, MIT").unwrap(), ["@b/c 2.0"]);
        assert!(missing(lock, "A 1.2, MIT; @b/c 2.0").unwrap().is_empty());
        assert_eq!(missing(lock, "a 1.3 @b/c 2.0").unwrap(), ["a 1.2"]);
    }
}
