//! A scenario that is right, and what becomes of it when one thing in it is wrong.

use lowtide_scenario::{Scenario, ScenarioErrors};

pub(crate) const BASE: &str = r#"schema = 1
title = "A test"
[run]
duration = "3 s"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "10 us"
[switch]
buffer = "100 pkt"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "linux"
[transport.sender]
nagle = false
[hosts.senders]
count = 3
[hosts.receivers]
count = 1
[traffic.long]
from = "senders"
to = "receivers"
count = 2
size = "40 MB"
"#;

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
pub(crate) fn refused(old: &str, new: &str, meant: &str, parts: &[&str]) {
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
