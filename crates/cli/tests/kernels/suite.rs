//! Runs the jobs on each machine and collects the results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::aqm;
use crate::initramfs::Programs;
use crate::jobs::{GUEST_JOBS, judged};
use crate::machine::{Guest, NoResult, tools};
use crate::packages::{FLEET, folder};
use crate::programs::{self, LIST, RUN, TARGETS, Target};
use crate::results::{Machine, Outcome, Results, version};
use crate::scenario::{self, Measured};
use crate::{qdiscs, soak};

/// Environment variable: names of machines, or `all`.
const KERNELS: &str = "LOWTIDE_KERNELS";

/// The machine without a guest.
const RUNNING: &str = "running";

/// Time limit of a job in a guest. The longest takes a tenth of it on an idle processor; other work
/// of the machine slows a guest down, and moves none of its timers.
const LIMIT: Duration = Duration::from_mins(90);

/// The cases of the interoperation suite.
const INTEROP: [&str; 4] = ["--peer", "linux", "--quick", "--jobs=2"];

/// The page with the results of all machines.
const PAGE: &str = "docs/evidence/tested-kernels.md";

const HEAD: &str = "\
# Tested kernels
Written by `cargo xtask suite kernels`: the tests of each machine's own kernel. Debian's kernels run
in QEMU, whose clock counts instructions. Sequences, windows and counts are judged there, rates only
on the running kernel. A test without an outcome was not run on that machine.
[Testing](../explanation/testing.md#fleet-of-kernels) says more.

";

/// The jobs of a machine, and their results.
struct Run<'a> {
    name: &'a str,
    filters: &'a [String],
    programs: &'a BTreeMap<String, PathBuf>,
    machine: Machine,
}

/// Runs the jobs whose names contain one of the filters, on the machines of the variable.
pub(crate) fn main(filters: &[String]) -> ExitCode {
    let Ok(machines) = std::env::var(KERNELS) else {
        println!("ignored: `cargo xtask suite kernels` sets {KERNELS}");
        return ExitCode::SUCCESS;
    };
    let is_whole = machines == "all";
    let is_selected = |name: &str| is_whole || machines.split(',').any(|m| m == name);
    let programs = match tools().and_then(|()| find_programs(filters)) {
        Ok(programs) => programs,
        Err(why) => {
            println!("not judged: {why}");
            return if is_whole { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let run =
        |name, release| Run { name, filters, programs: &programs, machine: Machine::new(release) };
    let mut done = Vec::new();
    if is_selected(RUNNING) {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        done.push((RUNNING, run(RUNNING, Some(release.trim().to_owned())).here()));
    }
    // Guests need no target of which only the needs are listed, nor its memory.
    let is_listed = |name: &str| TARGETS.iter().any(|t| t.name == name && t.skip.is_none());
    let in_guests = programs.iter().filter(|(name, _)| *name != "interop" && !is_listed(name));
    let in_guests = Programs::new(in_guests.map(|(_, path)| path));
    done.extend(thread::scope(|scope| {
        let packages = FLEET.into_iter().filter(|package| is_selected(package.name));
        let guests = packages.map(|package| {
            let (run, programs) = (&run, &in_guests);
            let guest = move || {
                let guest = Guest::new(package, programs);
                let release = guest.as_ref().ok().map(|guest| guest.release.clone());
                (package.name, run(package.name, release).in_guest(&guest))
            };
            scope.spawn(guest)
        });
        let guests: Vec<_> = guests.collect();
        guests.into_iter().map(|guest| guest.join().unwrap()).collect::<Vec<_>>()
    }));
    report(done, is_whole && filters.is_empty())
}

/// The programs of the jobs, by name.
fn find_programs(filters: &[String]) -> Result<BTreeMap<String, PathBuf>, String> {
    if TARGETS.iter().any(|target| is_wanted(filters, target.name)) {
        return programs::build();
    }
    let lowtide = PathBuf::from(env!("CARGO_BIN_EXE_lowtide"));
    let interop = lowtide.with_file_name("lowtide-interop");
    let all = [("lowtide", lowtide), ("lowtide-interop", interop)];
    Ok(all.into_iter().filter(|(_, path)| path.exists()).map(|(k, v)| (k.to_owned(), v)).collect())
}

fn is_wanted(filters: &[String], job: &str) -> bool {
    filters.is_empty() || filters.iter().any(|filter| job.contains(filter.as_str()))
}

/// Adds the results to those of earlier runs, prints the table and writes the page. A whole run
/// forgets earlier ones, and fails by name if no machine meets a need.
fn report(done: Vec<(&str, Machine)>, is_whole: bool) -> ExitCode {
    let kept = folder().join("results.json");
    let earlier = fs::read_to_string(&kept).ok().filter(|_| !is_whole);
    let mut all: Results =
        earlier.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let mut errors = Vec::new();
    for (name, machine) in done {
        let mut one = Results::default();
        one.update(name, machine.clone());
        errors.extend(one.failures());
        all.update(name, machine);
    }
    fs::create_dir_all(folder()).unwrap();
    fs::write(kept, serde_json::to_string(&all).unwrap()).unwrap();
    println!("\n{}", all.table());
    if all.0.len() == FLEET.len() + 1
        && let Some([oldest, newest]) = all.range()
    {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let range = format!("Oldest kernel tested: {oldest}. Newest kernel tested: {newest}.\n");
        fs::write(page, format!("{HEAD}{range}\n{}", all.table())).unwrap();
        errors.extend(all.unmet());
    }
    for error in &errors {
        println!("error: {error}");
    }
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Run<'_> {
    fn wants(&self, job: &str) -> bool {
        is_wanted(self.filters, job)
    }

    /// Runs the programs on the running kernel.
    fn here(mut self) -> Machine {
        for target in TARGETS.iter().filter(|target| is_wanted(self.filters, target.name)) {
            let program = &self.programs[target.name];
            let lines = |args: &[String], environment: &[(&str, &str)]| {
                let mut command = Command::new(program);
                command.args(args).envs(environment.iter().copied());
                let output = command.output().unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            };
            let missing = programs::record_needs(&lines(&[], &LIST), &mut self.machine);
            if target.skip.is_some() {
                let lines = lines(&target.arguments(false), &RUN);
                let died = Outcome::Failed("the program ended early".to_owned());
                programs::record_tests(target, &lines, &missing, &died, &mut self.machine);
            }
        }
        if self.wants("interop") {
            let output = Command::new(&self.programs["lowtide-interop"]).args(INTEROP).output();
            let output = output.unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            self.record_interop(&text, output.status.success());
        }
        self.machine
    }

    /// Runs the programs and the jobs of [`crate::guest`].
    fn in_guest(mut self, guest: &Result<Guest, String>) -> Machine {
        for target in TARGETS.iter().filter(|target| target.skip.is_some()) {
            if self.wants(target.name) {
                self.run_target(guest, target);
            }
        }
        if self.wants("interop") {
            let argv: Vec<_> = ["lowtide-interop"].into_iter().chain(INTEROP).collect();
            match run_programs(guest, &[json!({ "argv": argv })], &[]) {
                Ok(done) => self.record_interop(&done[0].err, done[0].status == 0),
                Err(no) => self.machine.record("interop", outcome(no)),
            }
        }
        if self.wants("aqm") {
            self.run_aqm(guest);
        }
        for job in GUEST_JOBS.iter().filter(|job| is_wanted(self.filters, job.name)) {
            let kernel = guest.as_ref().map_or((0, 0), |guest| version(&guest.release));
            let [from, below] = job.kernels;
            let lines = if guest.is_ok() && (kernel < from || kernel >= below) {
                Err(NoResult::NotJudged(job.why.to_owned()))
            } else {
                run_job(guest, &json!({ "job": job.name }), &[])
            };
            for (test, judge) in job.tests {
                let outcome = match &lines {
                    Ok(lines) => passed(judged(|| judge(lines))),
                    Err(no) => outcome(no.clone()),
                };
                self.machine.record(test, outcome);
            }
        }
        if self.wants("scenario") {
            self.run_scenario(guest);
        }
        if self.wants("qdiscs") {
            self.run_qdiscs(guest);
        }
        if self.wants("soak") {
            self.run_soak(guest);
        }
        self.machine
    }

    fn run_target(&mut self, guest: &Result<Guest, String>, target: &Target) {
        let program = self.programs[target.name].display().to_string();
        let command = |args: Vec<String>, environment: &[(&str, &str)]| {
            let argv: Vec<_> = std::iter::once(program.clone()).chain(args).collect();
            json!({ "argv": argv, "env": environment.iter().copied().collect::<BTreeMap<_, _>>() })
        };
        let programs = [command(Vec::new(), &LIST), command(target.arguments(true), &RUN)];
        let (mut listed, mut lines, mut is_listing) = (Vec::new(), Vec::new(), true);
        let job = json!({ "job": "programs", "programs": programs });
        let ended = run_lines(guest, &job, &[], &mut |line| {
            if let Some(text) = line["out"].as_str() {
                if is_listing { &mut listed } else { &mut lines }.push(text.to_owned());
            } else if let Some(text) = line["err"].as_str() {
                println!("{}: {text}", self.name);
            } else {
                is_listing = false;
            }
        });
        let missing = programs::record_needs(&listed, &mut self.machine);
        let died = || Outcome::Failed("the program ended early".to_owned());
        let rest = ended.map_or_else(outcome, |()| died());
        programs::record_tests(target, &lines, &missing, &rest, &mut self.machine);
    }

    fn run_aqm(&mut self, guest: &Result<Guest, String>) {
        let lines = run_job(guest, &json!({ "job": "aqm" }), &[]);
        for case in &aqm::CASES {
            let test = format!("aqm {}", case.name);
            let outcome = match &lines {
                Ok(lines) => {
                    let line = lines.iter().find(|line| line["aqm"] == case.name).unwrap();
                    let judged = aqm::judge(case, line);
                    passed(judged.map(|text| println!("{}: {test}: {text}", self.name)))
                }
                Err(no) => outcome(no.clone()),
            };
            self.machine.record(&test, outcome);
        }
    }

    fn record_interop(&mut self, text: &str, succeeded: bool) {
        let last = text.lines().last().unwrap_or_default().to_owned();
        println!("{}: {last}", self.name);
        let failed: Vec<_> = text.lines().filter(|line| line.starts_with("FAIL")).collect();
        let why = if failed.is_empty() { last } else { failed.join("; ") };
        self.machine.record("interop", passed(if succeeded { Ok(()) } else { Err(why) }));
    }

    fn run_scenario(&mut self, guest: &Result<Guest, String>) {
        let simulated = Measured::simulated().unwrap();
        let done = run_programs(guest, &scenario::commands(), &[]);
        for (number, (pair, _)) in scenario::PAIRS.iter().enumerate() {
            let outcome = match &done {
                Ok(done) => {
                    let Done { out, err, status } = &done[number];
                    let measured = if *status == 0 { Measured::new(out) } else { Err(err.clone()) };
                    passed(measured.and_then(|measured| measured.judge(simulated)))
                }
                Err(no) => outcome(no.clone()),
            };
            self.machine.record(&format!("scenario dctcp-kernel, {pair}"), outcome);
        }
    }
}

impl Run<'_> {
    /// The kernel's qdiscs in the testbed, beside the simulator.
    fn run_qdiscs(&mut self, guest: &Result<Guest, String>) {
        let files = qdiscs::files();
        let done = run_programs(guest, &qdiscs::commands(&files), &[files.path().to_owned()]);
        for (number, case) in qdiscs::CASES.iter().enumerate() {
            let outcome = match &done {
                Ok(done) => {
                    let Done { out, err, status } = &done[number];
                    let out = if *status == 0 { Ok(out.as_str()) } else { Err(err.clone()) };
                    passed(out.and_then(|out| qdiscs::judge(&files, number, out)))
                }
                Err(no) => outcome(no.clone()),
            };
            self.machine.record(&format!("testbed's bottleneck, {}", case.name), outcome);
        }
    }

    fn run_soak(&mut self, guest: &Result<Guest, String>) {
        let kernel = guest.as_ref().map_or((0, 0), |guest| version(&guest.release));
        let outcome = soak::folder().map_or_else(Outcome::NotJudged, |folder| {
            let command = soak::command(folder.path(), kernel);
            match run_programs(guest, &[command], &[folder.path().to_owned()]) {
                Ok(done) => passed(soak::judge(&done[0].out)),
                Err(no) => outcome(no),
            }
        });
        self.machine.record("soak of a minute", outcome);
    }
}

/// A program of a guest that ended.
#[derive(Default)]
struct Done {
    out: String,
    err: String,
    status: i64,
}

fn passed(judged: Result<(), String>) -> Outcome {
    judged.map_or_else(Outcome::Failed, |()| Outcome::Passed)
}

fn outcome(no: NoResult) -> Outcome {
    match no {
        NoResult::NotJudged(why) => Outcome::NotJudged(why),
        NoResult::Died(why) => Outcome::Failed(why),
    }
}

/// Runs a job in a guest.
#[expect(clippy::disallowed_methods, reason = "it reports its duration")]
fn run_lines(
    guest: &Result<Guest, String>,
    job: &Value,
    files: &[PathBuf],
    on_line: &mut dyn FnMut(Value),
) -> Result<(), NoResult> {
    let guest = guest.as_ref().map_err(|why| NoResult::NotJudged(why.clone()))?;
    let start = Instant::now();
    let ended = guest.run(job, files, LIMIT, on_line);
    println!("{}: {} s: {}", guest.name, start.elapsed().as_secs(), job["job"]);
    ended
}

/// Runs a job in a guest; returns its lines.
fn run_job(
    guest: &Result<Guest, String>,
    job: &Value,
    files: &[PathBuf],
) -> Result<Vec<Value>, NoResult> {
    let mut lines = Vec::new();
    run_lines(guest, job, files, &mut |line| lines.push(line)).map(|()| lines)
}

/// Runs programs in a guest.
fn run_programs(
    guest: &Result<Guest, String>,
    programs: &[Value],
    files: &[PathBuf],
) -> Result<Vec<Done>, NoResult> {
    let mut done = vec![Done::default()];
    for line in run_job(guest, &json!({ "job": "programs", "programs": programs }), files)? {
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
