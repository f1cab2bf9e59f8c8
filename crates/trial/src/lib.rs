//! Fuzz targets for `wire`, `tcp` and `scenario`, with their invariants.
//!
//! Contract: a target is a function of bytes that panics on a fault and is otherwise silent. It is
//! deterministic. The fuzzers of `fuzz/` call these functions. The test of this crate calls them
//! with every file of `fuzz/corpus/`, so every finding becomes a regression test. No other crate
//! links this one.

mod fuzz_input;
pub mod scenario;
pub mod segments;
pub mod wire;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its corpus folder.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 3] = [
    Target { name: "scenario", run: scenario::run },
    Target { name: "segments", run: segments::run },
    Target { name: "wire", run: wire::run },
];
