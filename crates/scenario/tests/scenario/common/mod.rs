//! A valid scenario, and its errors when one part of it is wrong.

mod base;

use lowtide_scenario::{Scenario, ScenarioErrors};

pub(crate) use base::BASE;

/// Returns the errors of `text`, which must be rejected.
pub(crate) fn errors(text: &str) -> ScenarioErrors {
    match Scenario::parse(text, "t.toml").and_then(|s| s.expand()) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors,
    }
}

/// Asserts that `BASE` with `old` replaced by `new` gives exactly one error, which contains all of
/// `parts` and points at the text `meant`.
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
