//! The crates in Rust's standard library, from the page of the toolchain on its copyright.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Component;

/// The page, below the folder of the toolchain.
const PAGE: &str = "share/doc/rust/COPYRIGHT-library.html";
/// Crates of the library that are built for other systems than Linux, by the start of their names.
const OTHER_SYSTEMS: [&str; 8] =
    ["fortanix-", "hermit-", "moto-", "r-efi", "vex-", "wasi", "windows", "wit-"];

/// Returns the library and the crates in it.
pub(super) fn components(root: &Path) -> Result<Vec<Component>, String> {
    let path = toolchain(root)?.join(PAGE);
    let page = fs::read_to_string(&path)
        .map_err(|e| format!("{}: {e}; rustup installs it with the toolchain", path.display()))?;
    let found = read(&page)?;
    if found.len() < 2 {
        return Err(format!("{} names no crates", path.display()));
    }
    Ok(found)
}

fn toolchain(root: &Path) -> Result<PathBuf, String> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cannot run rustc: {e}"))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

fn read(page: &str) -> Result<Vec<Component>, String> {
    let mut sections = page.split("<h3>📦 ");
    let own = between_all(sections.next().unwrap_or_default(), "<b>Copyright:</b>", "</p>");
    let mut copyright: Vec<String> = own.iter().map(|line| format!("Copyright {line}")).collect();
    copyright.sort();
    copyright.dedup();
    let mut components = vec![Component {
        name: "std".to_owned(),
        version: env!("CARGO_PKG_RUST_VERSION").to_owned(),
        licence: "(MIT OR Apache-2.0) AND BSD-2-Clause AND Unicode-3.0".to_owned(),
        texts: vec![copyright.join("\n")],
    }];
    for section in sections {
        let title = section.split("</h3>").next().unwrap_or_default();
        let (name, version) = split_version(title)
            .ok_or_else(|| format!("`{title}` is not a crate with a version"))?;
        if OTHER_SYSTEMS.iter().any(|start| name.starts_with(start)) {
            continue;
        }
        let licence = between_all(section, "<b>License:</b>", "</p>");
        let texts = between_all(section, "<pre>", "</pre>");
        let (Some(licence), false) = (licence.first(), texts.is_empty()) else {
            return Err(format!("the standard library has no licence text for `{title}`"));
        };
        components.push(Component {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.clone(),
            texts,
        });
    }
    Ok(components)
}

/// Splits `wasi-0.11.1+wasi-snapshot` before the first number that follows a hyphen.
fn split_version(title: &str) -> Option<(&str, &str)> {
    let mut hyphens = title.match_indices('-').map(|(i, _)| title.split_at(i));
    hyphens
        .find(|(_, rest)| rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit))
        .map(|(name, rest)| (name, rest.trim_start_matches('-')))
}

/// All texts between two marks, without HTML's escapes.
fn between_all(page: &str, start: &str, end: &str) -> Vec<String> {
    let parts = page.split(start).skip(1).filter_map(|part| part.split(end).next());
    let plain = |text: &str| {
        let text = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#34;", "\"");
        text.replace("&#39;", "'").replace("&#38;", "&")
    };
    parts.map(|part| plain(part.trim_matches('\n').trim_end())).map(trimmed_line).collect()
}

/// A text of one line without surrounding blanks.
fn trimmed_line(text: String) -> String {
    if text.contains('\n') { text } else { text.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_read_without_crates_of_other_systems() {
        let page = "<p><b>Copyright:</b> 2014 A &#38; B</p>\n<h3>📦 r-efi-alloc-2.1.0</h3>\n\
            <h3>📦 cfg-if-1.0.4</h3>\n<p><b>License:</b> MIT OR Apache-2.0</p>\n<pre>\n  \
            One &#60;x@y&#62;\n\nTwo\n\n  </pre>";
        let found = read(page).unwrap();
        assert_eq!(found[0].texts, ["Copyright 2014 A & B"]);
        assert_eq!((found[1].name.as_str(), found[1].version.as_str()), ("cfg-if", "1.0.4"));
        assert_eq!(found[1].licence, "MIT OR Apache-2.0");
        assert_eq!(found[1].texts, ["  One <x@y>\n\nTwo"]);
        assert_eq!(found.len(), 2);
        assert_eq!(split_version("wasi-0.11.1+wasi-snapshot-preview1").unwrap().0, "wasi");
        assert!(read("<h3>📦 cfg-if-1.0.4</h3>").is_err(), "a crate without a text");
    }
}
