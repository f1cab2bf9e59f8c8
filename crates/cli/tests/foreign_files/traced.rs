//! Makes the inputs, and runs workers under `strace`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::directories::make_pipe;
use crate::system_calls::{Bounds, TRACED, harm};
use crate::worker::{CASES, CURRENT, FINDINGS, Kind, STATUSES};

/// Cases of one worker: its trace has about a kilobyte for each system call of the cases.
const CASES_PER_WORKER: u64 = 1_000;
/// Time for each case, seconds, of a slow machine with other load.
const SECONDS_PER_CASE: u64 = 5;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn lowtide(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).current_dir(dir).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Makes an honest run directory, a part, an archive and scenarios.
fn make_bases(dir: &Path) {
    fs::create_dir_all(dir.join("scenarios")).unwrap();
    let run = ["run", "first-light", "-q", "--seeds", "1", "-s", "run.duration=20 ms"];
    lowtide(dir, &[&run[..], &["-o", "run"]].concat());
    lowtide(dir, &[&run[..], &["--index", "0", "--of", "1", "--part", "part"]].concat());
    lowtide(dir, &["bundle", "run", "-q", "-o", "a.tar.gz"]);
    let list: serde_json::Value =
        serde_json::from_slice(&lowtide(dir, &["--json", "list", "scenarios"])).unwrap();
    for item in list["items"].as_array().unwrap() {
        let name = item["name"].as_str().unwrap();
        fs::write(dir.join("scenarios").join(name), lowtide(dir, &["show", name])).unwrap();
    }
}

/// The content of all files below `dir`, as hashes, and the targets of links.
fn contents(dir: &Path, out: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            contents(&path, out);
        } else {
            let hash = blake3::hash(&fs::read(&path).unwrap()).to_hex().to_string();
            out.insert(path, hash);
        }
    }
}

fn all_contents(dirs: &[&Path]) -> BTreeMap<PathBuf, String> {
    let mut out = BTreeMap::new();
    for dir in dirs {
        contents(dir, &mut out);
    }
    out
}

pub(crate) fn changed_files_do_no_harm() {
    let temp = tempfile::tempdir().unwrap();
    let top = temp.path().canonicalize().unwrap();
    let (work, outside) = (top.join("work"), top.join("outside"));
    let base = work.join("base");
    for dir in [&base, &outside, &work.join("outside"), &work.join("tmp")] {
        fs::create_dir_all(dir).unwrap();
    }
    for dir in [&outside, &work.join("outside")] {
        fs::write(dir.join("secret.txt"), "secret\n").unwrap();
        fs::write(dir.join("victim.txt"), "victim\n").unwrap();
    }
    make_bases(&base);
    make_pipe(&work.join("pipe"));
    let kept: [&Path; 3] = [&base, &outside, &work.join("outside")];
    let before = all_contents(&kept);

    let first = number("LOWTIDE_FOREIGN_SEED", 0);
    let files = number("LOWTIDE_FOREIGN_FILES", 150);
    let last = first + files.div_ceil(Kind::ALL.len() as u64);
    let mut findings = Vec::new();
    for kind in Kind::ALL {
        let mut next = first;
        while next < last {
            let end = (next + CASES_PER_WORKER).min(last);
            findings.extend(trace(&work, &top.join("trace"), kind, next..end));
            let (name, count) = (kind.name(), findings.len());
            let statuses = fs::read_to_string(work.join(STATUSES)).unwrap_or_default();
            println!("{name} {next}..{end}: exit statuses {statuses}, {count} findings so far");
            next = end;
        }
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert_eq!(all_contents(&kept), before, "files that no command may change");
}

/// Runs a worker under `strace`. Returns its findings, and those of the trace.
fn trace(work: &Path, log: &Path, kind: Kind, cases: Range<u64>) -> Vec<String> {
    let Range { start: first, end: last } = cases;
    let _ = fs::remove_file(work.join(FINDINGS));
    let printed = |name: &str| File::create(log.with_extension(name)).unwrap();
    let status = Command::new("timeout")
        .arg((60 + SECONDS_PER_CASE * (last - first)).to_string())
        .args(["strace", "-f", "-qq", "-s", "4096", "-e", &format!("trace={TRACED}"), "-o"])
        .arg(log)
        .arg(std::env::current_exe().unwrap())
        .env(CASES, format!("{}:{first}..{last}", kind.name()))
        .env("TMPDIR", work.join("tmp"))
        .env("RUST_BACKTRACE", "0")
        // The directories of the build, which the loader would search.
        .env_remove("LD_LIBRARY_PATH")
        .current_dir(work)
        .stdout(printed("out"))
        .stderr(printed("err"))
        .status()
        .unwrap();
    let current = fs::read_to_string(work.join(CURRENT)).unwrap_or_default();
    let mut findings = Vec::new();
    match fs::read_to_string(work.join(FINDINGS)) {
        Ok(found) if status.success() => findings.extend(found.lines().map(str::to_owned)),
        _ => {
            findings.push(format!("{} {current}: the worker ended with {status}", kind.name()));
        }
    }
    let told = fs::read_to_string(log.with_extension("err")).unwrap();
    let panics = told.lines().filter(|line| line.contains("panicked at"));
    findings.extend(panics.map(|line| format!("{} {current}: {line}", kind.name())));
    // A scenario may name any regular file.
    let outside = work.join("../outside").canonicalize().unwrap();
    let named = [outside.join("secret.txt"), outside.join("victim.txt")];
    let of_system = ["/etc/passwd", "/proc/self/mem"].map(PathBuf::from);
    let readable = match kind {
        Kind::Scenario => named.into_iter().chain(of_system).collect(),
        Kind::Directory | Kind::Archive => Vec::new(),
    };
    let bounds = Bounds { dir: work, cwd: &work.join("case"), readable: &readable };
    let mut executed = 0;
    for line in BufReader::new(File::open(log).unwrap()).lines() {
        let line = line.unwrap();
        // The worker itself is started once.
        executed += usize::from(line.contains(" execve("));
        if executed == 1 && line.contains(" execve(") {
            continue;
        }
        findings.extend(harm(&line, &bounds));
    }
    assert_eq!(executed.min(1), 1, "the trace has the start of the worker");
    findings
}
