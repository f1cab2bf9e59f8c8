//! Characters of names, titles and labels. They become lines of generated files and reach
//! terminals, so a scenario has no control characters, wherever its values come from: the file, an
//! override, a sweep.

use lowtide_output::control::{find_unprintable, is_unprintable};

use crate::diagnostics::Diagnostics;
use crate::error::ScenarioErrors;
use crate::files::FILES;
use crate::toml_tree::{SourceText, TomlData, TomlNode};

/// Reports every key and text of the tree with a control character. Embedded files (`[files]`) may
/// have lines and tabs.
pub(crate) fn check(
    scenario: &str,
    root: &TomlNode,
    sources: &[SourceText],
) -> Result<(), ScenarioErrors> {
    let mut diagnostics = Diagnostics::new(sources);
    if let Some(found) = find_unprintable(scenario) {
        let help = Some("rename the file".to_owned());
        diagnostics.add(root.at, format!("the name of the scenario has {found}"), help);
    }
    check_node(root, &mut diagnostics, false);
    ScenarioErrors::collect(diagnostics.into_errors()).map_or(Ok(()), Err)
}

fn check_node(node: &TomlNode, diagnostics: &mut Diagnostics<'_>, is_file: bool) {
    match &node.data {
        TomlData::Text(text) | TomlData::Other(text) | TomlData::Float(text) => {
            let of_lines = |c: char| is_file && matches!(c, '\n' | '\r' | '\t');
            let found = text.chars().find(|&c| is_unprintable(c) && !of_lines(c));
            if let Some(found) = found.and_then(|c| find_unprintable(c.encode_utf8(&mut [0; 4]))) {
                let help = Some("remove it".to_owned());
                diagnostics.add(node.at, format!("this text has {found}"), help);
            }
        }
        TomlData::List(items) => {
            for item in items {
                check_node(item, diagnostics, false);
            }
        }
        TomlData::Table(entries) => {
            for entry in entries {
                if let Some(found) = find_unprintable(&entry.key) {
                    let help = Some("remove it".to_owned());
                    diagnostics.add(entry.key_at, format!("this name has {found}"), help);
                }
                let is_files = entry.key == FILES && !is_file;
                match &entry.node.data {
                    TomlData::Table(files) if is_files => {
                        for file in files {
                            check_node(&file.node, diagnostics, true);
                        }
                    }
                    _ => check_node(&entry.node, diagnostics, false),
                }
            }
        }
        TomlData::Int(_) | TomlData::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn errors(scenario: &Scenario) -> Vec<String> {
        let errors = scenario.expand().err();
        errors.iter().flat_map(|e| e.iter()).map(|e| e.message.clone()).collect()
    }

    #[test]
    fn a_control_character_is_refused_wherever_a_text_comes_from() {
        let scenario = Scenario::load("first-light").unwrap();
        let text = scenario.text().to_owned();
        let title = "title = \"First light: two transfers share one port\"";
        for (written, message) in [
            ("\\u001b[2J", "this text has an escape character (U+001B)"),
            ("\\u009b2J", "this text has a control character (U+009B)"),
            ("a\\nPASS", "this text has a line feed (U+000A)"),
            ("\u{202e}x", "this text has a character that changes the direction of text (U+202E)"),
        ] {
            let text = text.replace(title, &format!("title = \"{written}\""));
            let scenario = Scenario::parse(&text, "a.toml").unwrap();
            assert_eq!(errors(&scenario), [message]);
        }
        let named = text.replace("[hosts.senders]", "[hosts.\"a\\u0007\"]");
        let named = Scenario::parse(&named, "a.toml").unwrap();
        assert_eq!(errors(&named)[0], "this name has a control character (U+0007)");
        let changed = scenario.clone().with_override("title", "\"a\\u001b\"").unwrap();
        assert_eq!(errors(&changed), ["this text has an escape character (U+001B)"]);
        let file = Scenario::parse(&text, "a\u{1b}.toml").unwrap();
        assert_eq!(errors(&file), ["the name of the scenario has an escape character (U+001B)"]);
        assert_eq!(errors(&scenario), [""; 0]);
    }

    #[test]
    fn embedded_files_have_lines_and_no_other_control_character() {
        let embedded = Scenario::load("own-flows").unwrap();
        assert_eq!(errors(&embedded), [""; 0]);
        let text = embedded.text().replacen("src,", "\\u001b,", 1);
        let scenario = Scenario::parse(&text, "a.toml").unwrap();
        assert_eq!(errors(&scenario)[0], "this text has an escape character (U+001B)");
    }
}
