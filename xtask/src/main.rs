//! Repository chores.
//!
//! `cargo xtask registry` rewrites the lists of registered files; `cargo xtask registry --check`
//! only says which are stale. Exit 0 done, 1 stale or failed, 2 wrong usage.

mod registry;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask registry [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let check = match arguments.as_slice() {
        ["registry"] => false,
        ["registry", "--check"] => true,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match registry::run(root(), check) {
        Ok(stale) if check && !stale.is_empty() => {
            for path in stale {
                eprintln!("stale: {}", path.display());
            }
            eprintln!("run `cargo xtask registry`");
            ExitCode::FAILURE
        }
        Ok(changed) => {
            for path in changed {
                eprintln!("rewrote {}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
