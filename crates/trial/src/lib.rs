//! What fuzzers throw at `wire`, `tcp` and `scenario`, and what must hold then.
//!
//! Contract: a target is a function of bytes that panics when something is wrong and is otherwise
//! silent. The same bytes always do the same. The fuzzers of `fuzz/` call these functions, and the
//! test of this crate calls them with every file of `fuzz/corpus/`, so a find of the one stays a test
//! of the other. Nothing links this crate.

mod fuzz_input;
pub mod scenario;
pub mod segments;
pub mod wire;

/// One thing to be fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its corpus folder.
    pub name: &'static str,
    /// What it does with one input.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: [Target; 3] = [
    Target { name: "scenario", run: scenario::run },
    Target { name: "segments", run: segments::run },
    Target { name: "wire", run: wire::run },
];
