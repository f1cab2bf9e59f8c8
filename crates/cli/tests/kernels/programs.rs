//! Test programs of other packages, their tests and what these need.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_test_needs::LIST_NEEDS;
use serde_json::Value;

use crate::packages::run;
use crate::results::{Machine, Outcome};

/// A test target with needs.
pub(crate) struct Target {
    pub(crate) package: &'static str,
    pub(crate) name: &'static str,
    /// Names of tests that are left out: they concern no kernel. `None`: all of them.
    pub(crate) skip: Option<&'static [&'static str]>,
    /// Tests that do not run in guests: they judge rates, or take too long there.
    not_in_guests: &'static [&'static str],
}

/// Every target whose tests have needs. All needs are looked for, whichever tests run here.
pub(crate) const TARGETS: [Target; 6] = [
    Target {
        package: "lowtide-live",
        name: "live",
        skip: Some(&["admission::", "crowd::", "relay::", "setup::"]),
        not_in_guests: &[],
    },
    Target {
        package: "lowtide-testbed",
        name: "testbed",
        skip: Some(&["ours::"]),
        not_in_guests: &[],
    },
    Target {
        package: "lowtide",
        name: "privileged",
        skip: Some(&["bottleneck::", "damage::", "live::", "privileges::", "testbed::", "unit::"]),
        // The last five take long, or need clang, and depend on the kernel least.
        not_in_guests: &[
            "cwr::",
            "keeps_its_window",
            "leap",
            "mixed::",
            "pathologies::",
            "a_program_that",
            "another_program",
            "a_folder_that",
            "killed",
            "made_again",
        ],
    },
    Target { package: "lowtide", name: "hostile", skip: None, not_in_guests: &[] },
    Target { package: "lowtide", name: "foreign_files", skip: None, not_in_guests: &[] },
    Target {
        package: "lowtide-bottleneck",
        name: "bottleneck",
        skip: Some(&[
            "delay::",
            "ethernet::",
            "ours::",
            "pairs::",
            "relayed::",
            "setup::",
            "soak::",
        ]),
        not_in_guests: &[],
    },
];

/// Builds the targets and the program of the interoperation suite; returns the programs by name.
/// The packages are those of the suite's command, so nothing is compiled twice.
pub(crate) fn build() -> Result<BTreeMap<String, PathBuf>, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--no-run", "--message-format=json", "--features", "lowtide/kernel"]);
    for target in &TARGETS {
        cargo.args(["-p", target.package, "--test", target.name]);
    }
    // Its test needs the program, which `--bin` would build as a test.
    cargo.args(["-p", "lowtide-interop", "--test", "interop"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let messages = run(cargo.current_dir(root))?;
    let mut programs = BTreeMap::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        let (name, path) = (&message["target"]["name"], message["executable"].as_str());
        if let (Some(name), Some(path)) = (name.as_str(), path) {
            programs.insert(name.to_owned(), PathBuf::from(path));
        }
    }
    Ok(programs)
}

impl Target {
    /// Arguments with which the program runs in a guest or here.
    pub(crate) fn arguments(&self, is_guest: bool) -> Vec<String> {
        let guests = if is_guest { self.not_in_guests } else { &[] };
        let skip = self.skip.unwrap_or_default().iter().chain(guests);
        let skip = skip.flat_map(|name| ["--skip", name]);
        let all = ["--format", "json", "--test-threads", "1"].into_iter().chain(skip);
        all.map(str::to_owned).collect()
    }
}

/// Environment of a list of needs, and of a run.
pub(crate) const LIST: [(&str, &str); 1] = [(LIST_NEEDS, "1")];
pub(crate) const RUN: [(&str, &str); 2] = [("LOWTIDE_REQUIRE_ROOT", "1"), ("LOWTIDE_LIVE_MB", "1")];

/// Records the needs that a program lists, a line each. Returns the first missing need of each
/// test.
pub(crate) fn record_needs(lines: &[String], machine: &mut Machine) -> BTreeMap<String, String> {
    let mut missing = BTreeMap::new();
    for line in lines {
        let fields: Vec<_> = line.split('\t').collect();
        let [test, need, why] = fields[..] else { continue };
        machine.record_need(need, Some(why).filter(|why| !why.is_empty()));
        if !why.is_empty() {
            missing.entry(test.to_owned()).or_insert_with(|| format!("{need}: {why}"));
        }
    }
    missing
}

/// Records the outcomes that the program of `target` printed. `rest` is the outcome of a test that
/// was started and did not end; later ones are not judged.
pub(crate) fn record_tests(
    target: &Target,
    lines: &[String],
    missing: &BTreeMap<String, String>,
    rest: &Outcome,
    machine: &mut Machine,
) {
    let mut running = None;
    let mut seen = 0;
    for line in lines {
        // A test may have left a line unfinished.
        let event = line.find("{ \"type\"").and_then(|at| serde_json::from_str(&line[at..]).ok());
        let event: Value = event.unwrap_or_default();
        let Some(name) = event["name"].as_str().filter(|_| event["type"] == "test") else {
            continue;
        };
        let outcome = match event["event"].as_str() {
            Some("ok") => Outcome::Passed,
            Some("failed") => {
                let why = event["stdout"].as_str().unwrap_or_default().trim();
                Outcome::Failed(why.lines().next().unwrap_or_default().to_owned())
            }
            Some("ignored") => {
                let why = missing.get(name).map_or("ignored", String::as_str);
                Outcome::NotJudged(why.to_owned())
            }
            _ => {
                running = Some(name.to_owned());
                continue;
            }
        };
        running = None;
        seen += 1;
        machine.record(&format!("{} {name}", target.name), outcome);
    }
    if let Some(name) = running {
        machine.record(&format!("{} {name}", target.name), rest.clone());
    } else if seen == 0 {
        machine.record(&format!("{} (all)", target.name), rest.clone());
    }
}
