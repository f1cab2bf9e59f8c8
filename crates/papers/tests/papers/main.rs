//! Tests of the papers' experiments, in one binary to link only once.

mod claims;
#[path = "../../../lab/tests/lab/common.rs"]
#[expect(dead_code, reason = "the tests of `lab` use all of it")]
mod common;
mod coverage;
mod open_settings;
mod scorecard;
