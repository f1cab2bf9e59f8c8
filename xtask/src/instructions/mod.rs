//! Counts the instructions of the hot path and compares them with what is recorded.
//!
//! Contract: two short benchmarks under callgrind, whose counts do not depend on what else the machine
//! does. What grew by more than 5 % of its record fails: the whole per packet-hop, a crate, or one of the
//! largest functions. `--record` writes the record anew. It holds for the release profile and the compiler
//! that it names.

mod callgrind;
mod record;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde::Deserialize;

use callgrind::Costs;
use record::{Counted, Record};

/// What is counted: benchmarks of `lowtide bench`.
const BENCHMARKS: [&str; 2] = ["instructions-fat-tree", "instructions-dumbbell"];
/// Where the record is.
const RECORD: &str = "benches/instructions.toml";

/// What was asked for.
#[derive(Debug)]
pub(crate) struct InstructionsTask {
    program: Option<PathBuf>,
    record: bool,
}

/// What `lowtide bench --json` says.
#[derive(Deserialize)]
struct BenchOutput {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    hops: u64,
    runs: u64,
}

impl InstructionsTask {
    /// Reads the options.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let a = crate::arguments::Arguments::read(arguments, &[], &["--record"])?;
        Ok(Self { program: a.word.clone().map(PathBuf::from), record: a.has("--record") })
    }

    /// Counts, and compares or records.
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        match self.count_and_compare(root) {
            Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
            Ok(complaints) => {
                for complaint in complaints {
                    eprintln!("grew: {complaint}");
                }
                eprintln!(
                    "instructions grew by more than {} %. If that is what the change is for, say so in the \
                     commit and record it: `cargo xtask instructions --record`",
                    record::MAX_GROWTH
                );
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn count_and_compare(&self, root: &Path) -> Result<Vec<String>, String> {
        let default = root.join("target/release/lowtide");
        let program = self.program.as_ref().unwrap_or(&default);
        if !program.is_file() {
            return Err(format!(
                "there is no {}: `cargo build --release` makes it",
                program.display()
            ));
        }
        let path = root.join(RECORD);
        // Said before the minute that counting takes.
        let before = if self.record { None } else { Some(Record::read(&path)?) };
        let now = Record {
            rustc: compiler()?,
            benchmarks: BENCHMARKS
                .iter()
                .map(|name| Ok(((*name).to_owned(), count(root, program, name)?)))
                .collect::<Result<_, String>>()?,
        };
        let Some(before) = before else {
            now.write(&path)?;
            println!("{}recorded in {RECORD}", text(&now));
            return Ok(Vec::new());
        };
        print!("{}", text(&now));
        if before.rustc != now.rustc {
            eprintln!("the record is of {}, this is {}", before.rustc, now.rustc);
        }
        Ok(before.regressions(&now))
    }
}

/// One run to warm up and one to count, both under callgrind: instructions per packet-hop of both.
fn count(root: &Path, program: &Path, name: &str) -> Result<Counted, String> {
    let file = root.join("target").join(format!("{name}.callgrind"));
    let mut out_file = std::ffi::OsString::from("--callgrind-out-file=");
    out_file.push(&file);
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"])
        .arg(out_file)
        .arg(program)
        .args(["--json", "--quiet", "bench", name, "-n", "1"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("valgrind does not run ({e}): `apt-get install valgrind`"))?;
    if !done.status.success() {
        return Err(format!("`lowtide bench {name}` under valgrind ended with {}", done.status));
    }
    let printed: BenchOutput = serde_json::from_slice(&done.stdout)
        .map_err(|e| format!("`lowtide bench {name}` printed what is no result: {e}"))?;
    let row = printed.rows.first().ok_or_else(|| format!("`lowtide bench {name}` has no row"))?;
    let costs = std::fs::read_to_string(&file)
        .map_err(|e| format!("{}: {e}", file.display()))
        .and_then(|text| Costs::read(&text))?;
    // The file is large, and of no use to anyone afterwards.
    let _ = std::fs::remove_file(&file);
    Ok(Counted::new(&costs, row.hops * (row.runs + 1)))
}

/// The compiler's version, `rustc 1.95.0`.
fn compiler() -> Result<String, String> {
    let failed = |e: std::io::Error| format!("rustc does not run: {e}");
    let done = Command::new("rustc").arg("--version").output().map_err(failed)?;
    let text = String::from_utf8_lossy(&done.stdout);
    Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// What was counted, for people.
fn text(record: &Record) -> String {
    let mut out = String::new();
    for (name, counted) in &record.benchmarks {
        let _ = writeln!(out, "{name}: {:.1} instructions per packet-hop", counted.per_hop);
        for (kind, parts) in [("crate", &counted.crates), ("function", &counted.functions)] {
            let mut parts: Vec<_> = parts.iter().collect();
            parts.sort_by(|a, b| b.1.total_cmp(a.1));
            for (part, cost) in parts {
                let share = 100.0 * cost / counted.per_hop;
                let _ = writeln!(out, "  {cost:8.1} {share:5.1} %  {kind} {part}");
            }
        }
    }
    out
}
