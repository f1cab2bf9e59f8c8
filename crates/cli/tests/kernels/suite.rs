//! Runs the jobs on each machine and collects the results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::aqm;
use crate::jobs::{GUEST_JOBS, judged};
use crate::machine::{Guest, NoResult, tools};
use crate::packages::{FLEET, folder};
use crate::programs::{self, LIST, RUN, TARGETS, Target};
use crate::results::{Column, Outcome, Results, version};
use crate::scenario::{self, Measured};

/// Environment variable: names of machines, or `all`.
pub(crate) const KERNELS: &str = "LOWTIDE_KERNELS";

/// Time limit of a job in a guest. The longest takes a third of it on an idle processor.
const LIMIT: Duration = Duration::from_mins(30);

/// The page that a whole run writes.
const PAGE: &str = "docs/evidence/tested-kernels.md";

const HEAD: &str = "\
# Tested kernels
Written by `cargo xtask suite kernels`: the tests of each machine's own kernel. Debian's kernels run
in QEMU, whose clock counts instructions. Sequences, windows and counts are judged there, rates only
on the running kernel. [Testing](../explanation/testing.md) says more.

";

struct Suite {
    filters: Vec<String>,
    programs: BTreeMap<&'static str, PathBuf>,
    results: Results,
}

/// Runs the jobs whose names contain one of the filters, on the machines of the variable.
pub(crate) fn main(filters: Vec<String>) -> ExitCode {
    let Ok(machines) = std::env::var(KERNELS) else {
        println!("ignored: `cargo xtask suite kernels` sets {KERNELS}");
        return ExitCode::SUCCESS;
    };
    let is_selected = |name: &str| machines == "all" || machines.split(',').any(|m| m == name);
    let mut suite = Suite { filters, programs: BTreeMap::new(), results: Results::default() };
    let is_whole = machines == "all";
    if let Err(why) = tools().and_then(|()| suite.prepare()) {
        println!("not judged: {why}");
        return if is_whole { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    if is_selected("running") {
        suite.on_the_running_kernel();
    }
    for package in FLEET.into_iter().filter(|package| is_selected(package.name)) {
        let guest = Guest::new(package, &suite.guest_programs());
        let release = guest.as_ref().ok().map(|guest| guest.release.clone());
        suite.results.columns.push(Column { name: package.name.to_owned(), release });
        suite.in_guest(&guest);
    }
    let _ = fs::remove_dir_all(folder().join(format!("run-{}", std::process::id())));
    suite.report(is_whole)
}

impl Suite {
    fn wants(&self, job: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| job.contains(filter.as_str()))
    }

    /// Only the short subset of the interoperation cases, as in CI.
    fn is_quick(&self) -> bool {
        self.filters.iter().any(|filter| filter == "interop-quick")
    }

    fn interop_arguments(&self) -> Vec<&'static str> {
        let quick = self.is_quick().then_some("--quick");
        ["--peer", "linux", "--jobs=2"].into_iter().chain(quick).collect()
    }

    fn prepare(&mut self) -> Result<(), String> {
        if TARGETS.iter().any(|target| self.wants(target.name)) {
            self.programs = programs::build()?;
        }
        let interop = interop();
        if (self.wants("interop") || self.is_quick()) && !interop.exists() {
            return Err(format!("no {}: `cargo build -p lowtide-interop`", interop.display()));
        }
        Ok(())
    }

    fn guest_programs(&self) -> Vec<PathBuf> {
        let own = [PathBuf::from(env!("CARGO_BIN_EXE_lowtide")), interop()];
        let own = own.into_iter().filter(|program| program.exists());
        let used = TARGETS.iter().filter(|target| target.skip.is_some());
        own.chain(used.filter_map(|target| self.programs.get(target.name).cloned())).collect()
    }

    fn on_the_running_kernel(&mut self) {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let release = Some(release.trim().to_owned());
        self.results.columns.push(Column { name: "running".to_owned(), release });
        for target in &TARGETS {
            if !self.wants(target.name) {
                continue;
            }
            let program = &self.programs[target.name];
            let lines = |args: &[String], environment: &[(&str, &str)]| {
                let mut command = Command::new(program);
                command.args(args).envs(environment.iter().copied());
                let output = command.output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            };
            let missing = programs::record_needs(&lines(&[], &LIST), &mut self.results);
            if target.skip.is_some() {
                let lines = lines(&target.arguments(false), &RUN);
                let died = Outcome::Failed("the program ended early".to_owned());
                programs::record_tests(target, &lines, &missing, &died, &mut self.results);
            }
        }
        if self.wants("interop") || self.is_quick() {
            let output = Command::new(interop()).args(self.interop_arguments()).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            self.record_interop(&text, output.status.success());
        }
    }

    fn in_guest(&mut self, guest: &Result<Guest, String>) {
        for target in TARGETS.iter().filter(|target| target.skip.is_some()) {
            if self.wants(target.name) {
                self.run_target(guest, target);
            }
        }
        if self.wants("interop") || self.is_quick() {
            let argv: Vec<_> =
                ["lowtide-interop"].into_iter().chain(self.interop_arguments()).collect();
            match self.run_programs(guest, &[json!({ "argv": argv })]) {
                Ok(done) => self.record_interop(&done[0].err, done[0].status == 0),
                Err(no) => self.results.record("interop", outcome(no)),
            }
        }
        if self.wants("aqm") {
            let lines = run_job(guest, &json!({ "job": "aqm" }));
            for case in &aqm::CASES {
                let test = format!("aqm {}", case.name);
                let outcome = match &lines {
                    Ok(lines) => {
                        let line = lines.iter().find(|line| line["aqm"] == case.name).unwrap();
                        aqm::judge(case, line).map_or_else(Outcome::Failed, |text| {
                            println!("{test}: {text}");
                            Outcome::Passed
                        })
                    }
                    Err(no) => outcome(no.clone()),
                };
                self.results.record(&test, outcome);
            }
        }
        for job in &GUEST_JOBS {
            if !self.wants(job.name) {
                continue;
            }
            let kernel = guest.as_ref().map_or((0, 0), |guest| version(&guest.release));
            let [from, below] = job.kernels;
            let lines = if guest.is_ok() && (kernel < from || kernel >= below) {
                Err(NoResult::NotJudged(job.why.to_owned()))
            } else {
                run_job(guest, &json!({ "job": job.name }))
            };
            for (test, judge) in job.tests {
                let outcome = match &lines {
                    Ok(lines) => {
                        judged(|| judge(lines)).map_or_else(Outcome::Failed, |()| Outcome::Passed)
                    }
                    Err(no) => outcome(no.clone()),
                };
                self.results.record(test, outcome);
            }
        }
        if self.wants("scenario") {
            self.run_scenario(guest);
        }
    }

    fn run_target(&mut self, guest: &Result<Guest, String>, target: &Target) {
        let program = self.programs[target.name].display().to_string();
        let command = |args: Vec<String>, environment: &[(&str, &str)]| {
            let argv: Vec<_> = std::iter::once(program.clone()).chain(args).collect();
            json!({ "argv": argv, "env": environment.iter().copied().collect::<BTreeMap<_, _>>() })
        };
        let list = command(Vec::new(), &LIST);
        let mut missing = BTreeMap::new();
        if let Ok(done) = self.run_programs(guest, &[list]) {
            let lines: Vec<_> = done[0].out.lines().map(str::to_owned).collect();
            missing = programs::record_needs(&lines, &mut self.results);
        }
        let run = command(target.arguments(true), &RUN);
        let mut lines = Vec::new();
        let ended = match guest {
            Err(why) => Err(NoResult::NotJudged(why.clone())),
            Ok(guest) => {
                let job = json!({ "job": "programs", "programs": [run] });
                guest.run(&job, &[], LIMIT, &mut |line| {
                    if let Some(text) = line["out"].as_str() {
                        lines.push(text.to_owned());
                    } else if let Some(text) = line["err"].as_str() {
                        println!("{text}");
                    }
                })
            }
        };
        let rest =
            ended.map_or_else(outcome, |()| Outcome::Failed("the program ended early".into()));
        programs::record_tests(target, &lines, &missing, &rest, &mut self.results);
    }

    fn run_programs(
        &self,
        guest: &Result<Guest, String>,
        programs: &[Value],
    ) -> Result<Vec<Done>, NoResult> {
        let lines = run_job(guest, &json!({ "job": "programs", "programs": programs }))?;
        let mut done = vec![Done::default()];
        for line in lines {
            let last = done.last_mut().unwrap();
            for (text, key) in [(&mut last.out, "out"), (&mut last.err, "err")] {
                if let Some(more) = line[key].as_str() {
                    text.push_str(more);
                    text.push('\n');
                }
            }
            if let Some(status) = line["status"].as_i64() {
                last.status = status;
                done.push(Done::default());
            }
        }
        Ok(done)
    }

    fn record_interop(&mut self, text: &str, succeeded: bool) {
        let last = text.lines().last().unwrap_or_default().to_owned();
        println!("{last}");
        let failed: Vec<_> = text.lines().filter(|line| line.starts_with("FAIL")).collect();
        let outcome = match (succeeded, failed.is_empty()) {
            (true, true) => Outcome::Passed,
            (false, true) => Outcome::Failed(last),
            _ => Outcome::Failed(failed.join("; ")),
        };
        self.results.record("interop", outcome);
    }

    fn run_scenario(&mut self, guest: &Result<Guest, String>) {
        let simulated = Measured::simulated(&folder()).unwrap();
        let done = self.run_programs(guest, &scenario::commands());
        for (number, (pair, _)) in scenario::PAIRS.iter().enumerate() {
            let outcome = match &done {
                Ok(done) => {
                    let Done { out, err, status } = &done[number];
                    let measured = if *status == 0 { Measured::new(out) } else { Err(err.clone()) };
                    let judged = measured.and_then(|measured| measured.judge(simulated));
                    judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
                }
                Err(no) => outcome(no.clone()),
            };
            self.results.record(&format!("scenario dctcp-kernel, {pair}"), outcome);
        }
    }

    /// Prints the table, writes the page of a whole run, and fails by name.
    fn report(&self, is_whole: bool) -> ExitCode {
        let table = self.results.table();
        println!("\n{table}");
        // Without the other machines it says nothing that a need is not met here.
        let mut errors = if is_whole { self.results.unmet() } else { Vec::new() };
        errors.extend(self.results.failures());
        if is_whole
            && self.filters.is_empty()
            && let Some([oldest, newest]) = self.results.range()
        {
            let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
            let range =
                format!("Oldest kernel tested: {oldest}. Newest kernel tested: {newest}.\n");
            fs::write(page, format!("{HEAD}{range}\n{table}")).unwrap();
        }
        for error in &errors {
            println!("error: {error}");
        }
        if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A program of a guest that ended.
#[derive(Default)]
struct Done {
    out: String,
    err: String,
    status: i64,
}

/// The program of the interoperation suite, beside lowtide.
fn interop() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_lowtide")).with_file_name("lowtide-interop")
}

fn outcome(no: NoResult) -> Outcome {
    match no {
        NoResult::NotJudged(why) => Outcome::NotJudged(why),
        NoResult::Died(why) => Outcome::Failed(why),
    }
}

/// Runs a job in a guest; returns its lines.
fn run_job(guest: &Result<Guest, String>, job: &Value) -> Result<Vec<Value>, NoResult> {
    let guest = guest.as_ref().map_err(|why| NoResult::NotJudged(why.clone()))?;
    let (start, mut lines) = (Instant::now(), Vec::new());
    let ended = guest.run(job, &[], LIMIT, &mut |line| lines.push(line));
    println!("{}: {} s: {}", guest.name, start.elapsed().as_secs(), job["job"]);
    ended.map(|()| lines)
}
