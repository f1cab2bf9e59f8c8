//! Several connections with each peer, in separate namespaces. The whole matrix is a command:
//! `cargo run -p lowtide-interop`.
//!
//! A peer that this machine lacks is reported as ignored, with the reason. `LOWTIDE_REQUIRE_ROOT=1`
//! makes missing namespaces or TUN interfaces a failure, `LOWTIDE_REQUIRE_PEERS=1` a missing
//! program or library.
#![cfg(target_os = "linux")]

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use lowtide_interop::cases::{Case, quick};
use lowtide_interop::peers::{MissingDependency, PEERS, Peer, probe};
use lowtide_interop::run::{CaseOutcome, CaseResult};
use lowtide_interop::suite::Suite;
use lowtide_test_needs::REQUIRE;

/// Environment variable: `1` turns a missing program or library of a peer into a failure.
const REQUIRE_PEERS: &str = "LOWTIDE_REQUIRE_PEERS";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for peer in PEERS {
        // The first requested case runs all cases of a peer.
        let results = Arc::new(OnceLock::new());
        for case in quick() {
            let results = Arc::clone(&results);
            let name = format!("{peer}::{case}");
            trials.push(Trial::ignorable_test(name, move || trial(peer, &case, &results)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trial(
    peer: Peer,
    case: &Case,
    results: &OnceLock<Vec<CaseResult>>,
) -> Result<Completion, Failed> {
    if let Err(missing) = probe(peer) {
        return skip(&missing);
    }
    let results = results.get_or_init(|| {
        let program = env!("CARGO_BIN_EXE_lowtide-interop").into();
        Suite { program, jobs: 2, captures: None }.run(peer, &quick(), &|_| {})
    });
    let name = case.to_string();
    let outcome = results.iter().find(|r| r.case == name).map(|r| &r.outcome);
    match outcome {
        Some(CaseOutcome::Pass) => Ok(Completion::Completed),
        Some(CaseOutcome::Fail(why)) => Err(Failed::from(why)),
        Some(CaseOutcome::Known(why) | CaseOutcome::Skip(why)) => Ok(Completion::ignored_with(why)),
        None => Err(Failed::from("the case left no result")),
    }
}

/// Skips a test, or fails it if the environment requires the missing dependency.
fn skip(missing: &MissingDependency) -> Result<Completion, Failed> {
    let variable = if missing.is_privilege { REQUIRE } else { REQUIRE_PEERS };
    if std::env::var(variable).is_ok_and(|value| value == "1") {
        return Err(Failed::from(format!("{variable}=1 requires it: {}", missing.why)));
    }
    Ok(Completion::ignored_with(&missing.why))
}
