//! Writes `THIRD-PARTY-NOTICES.txt`: the licences and notices of everything in the packages that
//! others wrote. These are the linked crates, Rust's standard library, the font and the script of
//! the pages.
//!
//! The file is committed, so that a build of the Python package without further tools includes it.
//! A test compares it with the lock file.

mod crates;
mod library;
mod script;
mod texts;

use std::fs;
use std::path::Path;

use texts::Texts;

/// The file, in the root folder.
pub(crate) const FILE: &str = "THIRD-PARTY-NOTICES.txt";

/// Notices that belong to files of this repository: title, path.
const OWN_FILES: [(&str, &str); 2] = [
    ("Liberation Sans, the font of figures (OFL-1.1)", "crates/typeset/fonts/LICENSE"),
    ("The script of the HTML pages", "crates/charts/assets/NOTICE"),
];

/// Something that others wrote, with its licence.
struct Component {
    name: String,
    version: String,
    /// SPDX expression.
    licence: String,
    /// Contents of its licence and notice files, in the order of their paths.
    texts: Vec<String>,
}

/// Writes the file. Returns whether it changed; with `check` it writes nothing.
pub(crate) fn run(root: &Path, check: bool) -> Result<bool, String> {
    let wanted = compose(root)?;
    let path = root.join(FILE);
    if fs::read_to_string(&path).is_ok_and(|found| found == wanted) {
        return Ok(false);
    }
    if !check {
        fs::write(&path, wanted).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(true)
}

fn compose(root: &Path) -> Result<String, String> {
    script::check(root)?;
    let crates = crates::linked(root)?;
    let library = library::components(root)?;
    let mut out = String::from(
        "THIRD-PARTY NOTICES OF LOWTIDE\n\n\
         lowtide itself is licensed under MIT OR Apache-2.0. Its packages also contain the parts\n\
         below, each under its own licence. `cargo xtask notices` writes this file.\n",
    );
    let mut texts = Texts::default();
    for (title, components) in [("Crates", &crates), ("Crates of Rust's library", &library)] {
        out.push_str(&heading(title));
        for component in components {
            let Component { name, version, licence, .. } = component;
            out.extend([name, " ", version, ": ", licence, "\n"]);
            for text in &component.texts {
                texts.add(&format!("{name} {version}"), text);
            }
        }
    }
    for (title, path) in OWN_FILES {
        let text =
            fs::read_to_string(root.join(path)).map_err(|e| format!("cannot read {path}: {e}"))?;
        out.push_str(&heading(title));
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out.push_str(&heading("Licences and notices of the crates"));
    out.push_str(&texts.shown());
    Ok(out)
}

fn heading(title: &str) -> String {
    let line = "=".repeat(80);
    format!("\n{line}\n{title}\n{line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_notices_follow_from_the_lock_file() {
        let stale = run(crate::root(), true).unwrap();
        assert!(!stale, "{FILE} is stale: run `cargo xtask notices` and commit it");
    }

    #[test]
    fn each_crate_has_a_text() {
        let crates = crates::linked(crate::root()).unwrap();
        assert!(crates.len() > 100, "{}", crates.len());
        for Component { name, texts, .. } in crates {
            let words = texts.iter().map(|text| text.split_whitespace().count());
            assert!(words.sum::<usize>() > 80, "{name} has no licence text: {texts:?}");
        }
    }

    #[test]
    fn the_licence_of_the_wheel_names_every_allowed_one() {
        let read = |name: &str| -> toml::Table {
            toml::from_str(&fs::read_to_string(crate::root().join(name)).unwrap()).unwrap()
        };
        let project = read("pyproject.toml");
        let expression = project["project"]["license"].as_str().unwrap();
        let named: Vec<&str> = expression.split([' ', '(', ')']).collect();
        let rules = read("deny.toml");
        let allowed = rules["licenses"]["allow"].as_array().unwrap();
        assert!(allowed.len() > 3);
        for licence in allowed.iter().filter_map(toml::Value::as_str).chain(["OFL-1.1"]) {
            assert!(named.contains(&licence), "{licence} is missing in pyproject.toml");
        }
    }
}
