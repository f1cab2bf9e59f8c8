//! A scenario that is right, and what becomes of it when one thing in it is wrong.

mod base;

use lowtide_scenario::{Scenario, ScenarioErrors};

pub(crate) use base::BASE;

/// What is wrong with `text`, which must be refused.
pub(crate) fn errors(text: &str) -> ScenarioErrors {
    match Scenario::parse(text, "t.toml").and_then(|s| s.expand()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// `BASE` with `old` replaced by `new` gives exactly one error, which has all of `parts`; the text it
/// points at is `meant`.
#[track_caller]
pub(crate) fn assert_one_error(old: &str, new: &str, meant: &str, parts: &[&str]) {
    assert!(BASE.contains(old), "{old}");
    let text = BASE.replacen(old, new, 1);
    let found = errors(&text);
    assert_eq!(found.iter().count(), 1, "{found}");
    let error = found.first();
    let shown = error.to_string();
    for part in parts {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    let span = error.span.clone().unwrap_or_else(|| panic!("no place: {shown}"));
    assert_eq!(&error.text[span], meant, "{shown}");
    assert_eq!(error.file, "t.toml");
}
