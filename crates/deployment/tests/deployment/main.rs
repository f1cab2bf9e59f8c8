//! Tests of mixed deployment with real runs, in one binary to link only once.

#[path = "../../../lab/tests/lab/common.rs"]
#[expect(dead_code, reason = "the tests of `lab` use all of it")]
mod common;
mod matrix;
mod rollout;
