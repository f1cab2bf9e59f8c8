//! Key reference in Markdown: the second half of `docs/reference/scenario.md`.

use std::fmt::Write as _;

use lowtide_net::topology::REGISTRY;

use crate::keys::KeySpec;
use crate::known_names::KnownNames;
use crate::table_spec::{SWEEP, SWEEP_DOC, TableContents};
use crate::tables::sections;
use crate::value::{KeyType, NameSet};
use lowtide_schema::DefaultValue;

const SWITCH_TABLES: &str = "Tables `sender`, `receiver` and `connection`: switches of the \
    transport, each in the table of its side; `lowtide list switches` names them.";

/// Lists every table and key in Markdown, from the table specifications that the reader uses.
pub fn reference() -> String {
    let known = KnownNames::default();
    let mut out = String::new();
    // Tables whose keys depend on the kind, each with the first title of its contents.
    let mut listed: Vec<(TableContents, String)> = Vec::new();
    for section in sections() {
        let title = match section.path {
            [] => "Head".to_owned(),
            path if section.contents == TableContents::List => format!("`[[{}]]`", path.join(".")),
            path => format!("`[{}]`", path.join(".").replace('*', "NAME")),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "### {title}\n{}\n", wrapped(section.doc));
        keys(&mut out, section.keys, &known);
        let kinds = section.kinds();
        if let Some((_, first)) = listed.iter().find(|(contents, _)| *contents == section.contents)
        {
            let _ = writeln!(out, "\nThe keys of each kind are in {first}.\n");
            continue;
        }
        if !kinds.is_empty() {
            listed.push((section.contents, title));
        }
        for (name, summary, own) in kinds {
            let intro = wrapped(&format!("`kind = \"{name}\"`: {summary}."));
            let _ = writeln!(out, "\n{intro}");
            if !own.is_empty() {
                out.push('\n');
                keys(&mut out, &own, &known);
            }
            if section.contents == TableContents::Topologies {
                sides(&mut out, name);
            }
        }
        if section.has_switches() {
            let _ = writeln!(out, "\n{}", wrapped(SWITCH_TABLES));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "### `[{SWEEP}]`\n{}", wrapped(SWEEP_DOC));
    out
}

/// Breaks prose into lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let options = textwrap::Options::new(100)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

/// Writes the sides of a topology, for the key `side` of `[hosts.NAME]`.
fn sides(out: &mut String, topology: &str) {
    let sides = REGISTRY.find(topology).map_or(&[][..], |entry| entry.sides());
    if sides.is_empty() {
        return;
    }
    let sides: Vec<String> = sides.iter().map(|s| format!("`{}`: {}", s.name, s.doc)).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "\n{}", wrapped(&format!("Sides of its hosts. {}", sides.join(" "))));
}

/// Writes a table of keys.
fn keys(out: &mut String, keys: &[KeySpec], known: &KnownNames) {
    if keys.is_empty() {
        return;
    }
    out.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let default = match key.default {
            DefaultValue::Required => "required".to_owned(),
            DefaultValue::Is(text) => format!("`{text}`"),
            DefaultValue::Unset(what) => what.to_owned(),
        };
        let takes = takes(key.ty, known);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{}` | {takes} | {default} | {} |", key.name, key.doc);
    }
}

/// Describes the values of a key; names registered elsewhere are not repeated here.
fn takes(ty: KeyType, known: &KnownNames) -> String {
    match ty {
        KeyType::Name(NameSet::Profiles) => "a profile (`lowtide list profiles`)".to_owned(),
        KeyType::Name(NameSet::Schemes) => {
            "a scheme (`lowtide list schemes`) or a bundle".to_owned()
        }
        KeyType::Name(NameSet::BaseSchemes) => "a scheme (`lowtide list schemes`)".to_owned(),
        KeyType::Name(NameSet::Classes) => "a class of `[switch.class]`".to_owned(),
        KeyType::Name(NameSet::Workloads) => "a workload (`lowtide list workloads`)".to_owned(),
        KeyType::NameList(NameSet::Schemes) => "a list of schemes and bundles".to_owned(),
        KeyType::NameList(NameSet::Traffic) => "a list of traffic groups".to_owned(),
        ty => ty.describe(&|names| known.list(names)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    const MARK: &str = "<!-- Generated from the key tables; a test compares it. -->\n";

    #[test]
    fn the_page_has_the_current_key_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
        let page = fs::read_to_string(&path).unwrap();
        let (head, tail) = page.split_once(MARK).unwrap();
        if std::env::var_os("LOWTIDE_WRITE_DOCS").is_some() {
            fs::write(&path, format!("{head}{MARK}{}", reference())).unwrap();
        } else {
            assert_eq!(
                tail,
                reference(),
                "regenerate it: LOWTIDE_WRITE_DOCS=1 cargo test reference"
            );
        }
    }

    #[test]
    fn every_key_is_in_the_reference() {
        let text = reference();
        for section in sections() {
            for key in section.all_keys() {
                assert!(text.contains(&format!("| `{}` |", key.name)), "{}", key.name);
            }
        }
        assert!(text.contains("[compare.bundles.NAME]"));
    }
}
