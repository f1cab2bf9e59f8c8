//! Test harness for tests that need more than an ordinary user has: root, namespaces, programs.
//!
//! `libtest` decides at compile time which tests are ignored, so a test without its prerequisites
//! can only pass. [`run_tests`] decides at run time: it reports such a test as `ignored`, with the
//! reason. `LOWTIDE_REQUIRE_ROOT=1` makes the test fail instead.
//!
//! A test target sets `harness = false` in its `Cargo.toml` and lists its tests in `main`:
//! ```no_run
//! # mod bulk { pub(crate) fn every_profile() {} }
//! use lowtide_test_needs::{NAMESPACES, TUN, run_tests, tests};
//!
//! fn main() -> std::process::ExitCode {
//!     run_tests([tests!(&[NAMESPACES, TUN]; bulk::every_profile)])
//! }
//! ```
//! A function that is not listed is dead code, which the lints reject.

mod needs;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

pub use needs::{ACC_ECN, IP, NAMESPACES, Need, TUN};

/// Environment variable: `1` makes missing prerequisites that root or a package provides errors.
pub const REQUIRE: &str = "LOWTIDE_REQUIRE_ROOT";

/// Environment variable: `1` lists each test, prerequisite and the reason that it is missing,
/// separated by tabs, and runs nothing. The suite `kernels` requires that one of its machines meets
/// each prerequisite.
pub const LIST_NEEDS: &str = "LOWTIDE_LIST_NEEDS";

/// Tests that share their prerequisites; made by [`tests!`].
#[derive(Clone, Debug)]
pub struct Group {
    /// Prerequisites of every test in the group.
    pub needs: &'static [Need],
    /// Path and function of each test.
    pub tests: Vec<(&'static str, fn())>,
}

/// Makes a [`Group`]: prerequisites, then the paths of its tests.
#[macro_export]
macro_rules! tests {
    ($needs:expr; $($test:path),+ $(,)?) => {
        $crate::Group { needs: $needs, tests: vec![$((stringify!($test), $test as fn())),+] }
    };
}

/// Runs the tests as `libtest` does, with its arguments.
pub fn run_tests<const N: usize>(groups: [Group; N]) -> ExitCode {
    let arguments = Arguments::from_args();
    let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1");
    if is_set(LIST_NEEDS) {
        return list_needs(&groups);
    }
    let required = is_set(REQUIRE);
    let mut trials = Vec::new();
    for group in groups {
        // Probes may be slow, so a group is probed only if one of its tests runs.
        let probed = Arc::new(OnceLock::new());
        for (name, test) in group.tests {
            let probed = Arc::clone(&probed);
            let missing = move || probed.get_or_init(|| missing(group.needs, required)).clone();
            trials.push(trial(name, test, missing));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[expect(clippy::disallowed_methods, reason = "the harness prints there too")]
fn list_needs(groups: &[Group]) -> ExitCode {
    let mut out = String::new();
    for group in groups {
        for need in group.needs {
            let why = (need.probe)().err().unwrap_or_default().replace(['\n', '\t'], " ");
            for (test, _) in &group.tests {
                let _ = writeln!(out, "{test}\t{}\t{why}", need.name);
            }
        }
    }
    let written = std::io::stdout().write_all(out.as_bytes());
    if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A missing prerequisite.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Missing {
    /// Name of the prerequisite, and why it is missing.
    reason: String,
    /// Whether the tests that need it fail.
    fails: bool,
}

/// Returns the first missing prerequisite, those that fail the tests before those that skip them.
fn missing(needs: &[Need], required: bool) -> Option<Missing> {
    let absent = needs.iter().filter_map(|need| {
        let why = (need.probe)().err()?;
        let reason = format!("{}: {why}", need.name);
        Some(Missing { reason, fails: required && need.enforceable })
    });
    absent.max_by_key(|missing| missing.fails)
}

fn trial(
    name: &str,
    test: fn(),
    missing: impl FnOnce() -> Option<Missing> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || outcome(missing(), test))
}

/// Runs `test` unless a prerequisite is missing. A panic of the test is left to the harness.
fn outcome(missing: Option<Missing>, test: fn()) -> Result<Completion, Failed> {
    match missing {
        Some(Missing { reason, fails: true }) => {
            Err(Failed::from(format!("{REQUIRE}=1 requires {reason}")))
        }
        Some(Missing { reason, .. }) => Ok(Completion::ignored_with(reason)),
        None => {
            test();
            Ok(Completion::Completed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: Need =
        Need { name: "a tool", probe: || Err("not installed".into()), enforceable: true };
    const OLD_KERNEL: Need =
        Need { name: "a feature", probe: || Err("not in this kernel".into()), enforceable: false };
    const PRESENT: Need = Need { name: "nothing", probe: || Ok(()), enforceable: true };

    fn passes() {}

    fn never_runs() {
        panic!("it runs without its prerequisites");
    }

    /// The outcome of a test with `needs`, by name.
    fn outcome_name(test: fn(), needs: &[Need], required: bool) -> &'static str {
        match outcome(missing(needs, required), test) {
            Ok(Completion::Completed) => "passed",
            Ok(Completion::Ignored { .. }) => "ignored",
            Err(_) => "failed",
        }
    }

    #[test]
    fn a_missing_prerequisite_skips_a_test_unless_it_is_required() {
        assert_eq!(outcome_name(passes, &[PRESENT], true), "passed");
        assert_eq!(outcome_name(never_runs, &[PRESENT, ABSENT], false), "ignored");
        assert_eq!(outcome_name(never_runs, &[OLD_KERNEL, ABSENT], true), "failed");
        assert_eq!(outcome_name(never_runs, &[OLD_KERNEL], true), "ignored");
    }

    #[test]
    fn the_reason_names_the_prerequisite() {
        let found = missing(&[PRESENT, ABSENT], false);
        assert_eq!(found, Some(Missing { reason: "a tool: not installed".into(), fails: false }));
        assert_eq!(missing(&[PRESENT], true), None);
    }
}
