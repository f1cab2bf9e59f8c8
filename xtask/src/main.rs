//! Repository chores.
//!
//! `registry` maintains the lists of registered files, `docs` the pages generated from the code,
//! `notices` the licences of all that others wrote. `suite` runs a long suite by name.
//! `instructions` counts those of the hot path, `lines` counts product code, packages and the bytes
//! of the command, `files` refuses programs and large files, `words` checks the language of
//! comments and pages. `record` writes results of claims into their files.
//! `docs/explanation/testing.md` and `docs/explanation/performance.md` say more. Exit 0 done, 1
//! stale or failed, 2 wrong usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "chores print to their terminal")]

mod arguments;
mod build_size;
mod docs;
mod files;
mod instructions;
#[cfg(test)]
mod layers;
mod limits;
mod lines;
mod notices;
mod record;
mod registry;
mod source;
mod suite;
mod words;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask registry [--check]
       cargo xtask docs
       cargo xtask files
       cargo xtask instructions [--record] [PROGRAM]
       cargo xtask lines
       cargo xtask notices [--check]
       cargo xtask record FILE [--again]
       cargo xtask suite [NAME]
       cargo xtask words [PATH...]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((chore, rest)) = arguments.split_first() else { return usage("no chore is given") };
    match chore.as_str() {
        "registry" => match rest {
            [] => registry(false),
            [check] if check == "--check" => registry(true),
            _ => usage("registry takes only --check"),
        },
        "docs" => match rest {
            [] => docs::write(root()),
            _ => usage("docs takes no arguments"),
        },
        "record" => match record::RecordTask::read(rest) {
            Ok(plan) => plan.run(root()),
            Err(why) => usage(&why),
        },
        "lines" => match rest {
            [] => lines::run(root()).unwrap_or_else(|why| failed(&why)),
            _ => usage("lines takes no arguments"),
        },
        "files" => match rest {
            [] => files::run(root()).unwrap_or_else(|why| failed(&why)),
            _ => usage("files takes no arguments"),
        },
        "notices" => match rest {
            [] => notices(false),
            [check] if check == "--check" => notices(true),
            _ => usage("notices takes only --check"),
        },
        "words" => words::run(root(), rest).unwrap_or_else(|why| failed(&why)),
        "suite" => match rest {
            [] => suite::list().unwrap_or_else(|why| failed(&why)),
            [name] => suite::run(root(), name).unwrap_or_else(|why| usage(&why)),
            _ => usage("suite takes one name"),
        },
        "instructions" => match instructions::InstructionsTask::read(rest) {
            Ok(plan) => plan.run(root()),
            Err(why) => usage(&why),
        },
        other => usage(&format!("there is no chore `{other}`")),
    }
}

fn usage(why: &str) -> ExitCode {
    eprintln!("{why}\n{USAGE}");
    ExitCode::from(2)
}

fn failed(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::FAILURE
}

fn registry(check: bool) -> ExitCode {
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

fn notices(check: bool) -> ExitCode {
    match notices::run(root(), check) {
        Ok(true) if check => {
            eprintln!("stale: {}; run `cargo xtask notices`", notices::FILE);
            ExitCode::FAILURE
        }
        Ok(true) => {
            eprintln!("rewrote {}", notices::FILE);
            ExitCode::SUCCESS
        }
        Ok(false) => ExitCode::SUCCESS,
        Err(why) => failed(&why),
    }
}

/// Root folder of the workspace.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
