//! The conformance kit, run on this crate's control. Not in `abe.rs`, because `lowtide-tcp` cannot
//! depend on the kit, which depends on it.

use lowtide_conformance::{check, check_with};

use crate::abe::ENTRY;

#[test]
fn it_does_what_it_declares() {
    assert_eq!(check(&ENTRY), []);
}

#[test]
fn at_one_half_the_exemption_is_unneeded() {
    let broken = check_with(&ENTRY, &[("keep", "50")]);
    assert_eq!(broken.iter().map(|v| v.rule).collect::<Vec<_>>(), ["exemption"], "{broken:?}");
}
