//! The conformance kit, run on this crate's control. Not in `abe.rs`, because `lowtide-tcp` cannot
//! depend on the kit, which depends on it.

use lowtide_conformance::{check, check_with};
use lowtide_tcp::cc::{CcEntry, DeclaredProperties};

use crate::abe::ENTRY;
use crate::capped;

#[test]
fn both_do_what_they_declare() {
    assert_eq!(check(&ENTRY), []);
    assert_eq!(check(&capped::ENTRY), []);
}

#[test]
fn at_one_half_the_exemption_is_unneeded() {
    let broken = check_with(&ENTRY, &[("keep", "50")]);
    assert_eq!(broken.iter().map(|v| v.rule).collect::<Vec<_>>(), ["exemption"], "{broken:?}");
}

#[test]
fn the_tutorial_shows_the_rule_that_the_exemption_permits() {
    let declared = DeclaredProperties { exemptions: &[], ..capped::ENTRY.declared };
    let CcEntry { name, summary, spec, params, requires, build, .. } = capped::ENTRY;
    let entry = CcEntry { name, summary, spec, equations: &[], params, declared, requires, build };
    let broken = check(Box::leak(Box::new(entry)));
    let [violation] = broken.as_slice() else { panic!("{broken:?}") };
    let page = include_str!("../../../docs/tutorial/3-own-scheme.md");
    let shown = format!("{}: {}", violation.rule, violation.detail);
    assert!(page.contains(&format!("```text\n{shown}\n```")), "{shown}");
}
