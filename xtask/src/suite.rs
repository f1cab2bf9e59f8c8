//! Suites that are too slow for every change, by name: the commands of `xtask/suites.toml`.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suites {
    suite: Vec<Suite>,
}

/// A long suite.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    name: String,
    about: String,
    minutes: u64,
    /// Privileges, programs and networks beyond those of `cargo test`.
    needs: Option<String>,
    commands: Vec<String>,
}

fn suites() -> Result<Vec<Suite>, String> {
    let read = toml::from_str(include_str!("../suites.toml"));
    read.map(|file: Suites| file.suite).map_err(|e| format!("xtask/suites.toml: {e}"))
}

/// Lists the suites.
pub(crate) fn list() -> Result<ExitCode, String> {
    for Suite { name, about, minutes, needs, .. } in suites()? {
        let needs = needs.map(|needs| format!("; needs {needs}")).unwrap_or_default();
        println!("{name:<13} {minutes:>3} min  {about}{needs}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the suite `name`: every command, even after a failed one.
#[expect(clippy::disallowed_methods, reason = "it reports its duration")]
pub(crate) fn run(root: &Path, name: &str) -> Result<ExitCode, String> {
    let suites = suites()?;
    let Some(suite) = suites.iter().find(|s| s.name == name) else {
        let names: Vec<_> = suites.iter().map(|s| s.name.as_str()).collect();
        return Err(format!("there is no suite `{name}`: there are {}", names.join(", ")));
    };
    println!("== {name}: {}, about {} min", suite.about, suite.minutes);
    let start = Instant::now();
    let mut failed = 0;
    for command in &suite.commands {
        println!("== {command}");
        let status = Command::new("sh").args(["-c", command]).current_dir(root).status();
        let status = status.map_err(|why| format!("cannot run sh: {why}"))?;
        if !status.success() {
            eprintln!("== failed ({status}): {command}");
            failed += 1;
        }
    }
    let (seconds, all) = (start.elapsed().as_secs(), suite.commands.len());
    println!("== {name}: {seconds} s, {failed} of {all} commands failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fuzz_target_is_in_the_suite() {
        let suites = suites().unwrap();
        let fuzz = suites.iter().find(|s| s.name == "fuzz").unwrap();
        let manifest: toml::Table = include_str!("../../fuzz/Cargo.toml").parse().unwrap();
        let targets = manifest["bin"].as_array().unwrap();
        assert_eq!(targets.len(), fuzz.commands.len());
        for target in targets {
            let start = format!("bash fuzz/run.sh {} ", target["name"].as_str().unwrap());
            assert!(fuzz.commands.iter().any(|c| c.starts_with(&start)), "{start}");
        }
    }
}
