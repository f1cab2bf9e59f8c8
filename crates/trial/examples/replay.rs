//! Replays single inputs: `cargo run -p lowtide-trial --example replay -- TARGET FILE...`. With
//! `LOWTIDE_TRACE=1` the target `segments` prints every segment.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a tool for one developer")]

use std::process::ExitCode;

use lowtide_trial::TARGETS;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|t| t.name == name) else {
        let names: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
        eprintln!("usage: replay TARGET FILE..., TARGET one of {}", names.join(", "));
        return ExitCode::from(2);
    };
    for path in arguments {
        match std::fs::read(&path) {
            Ok(data) => (target.run)(&data),
            Err(error) => {
                eprintln!("{path}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{path}: passes");
    }
    ExitCode::SUCCESS
}
