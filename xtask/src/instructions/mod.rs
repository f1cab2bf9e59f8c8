//! Counts instructions and modelled cache misses of the hot path and compares them with the record.
//!
//! Contract: two short benchmarks run under callgrind, whose counts do not depend on the load of
//! the machine; `--large` adds one with 1024 hosts, which takes minutes. Only the event loop is
//! counted, without start-up and output. Growth of more than 5 % fails: in instructions or misses
//! per packet-hop, of a crate, or of one of the largest functions. `--record` rewrites the record
//! of the benchmarks that ran. It applies to the release profile and the compiler that it names.

mod callgrind;
mod record;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Deserialize;

use callgrind::Costs;
use record::{BenchmarkCounts, Record};

/// Benchmarks of `lowtide bench` to count.
const BENCHMARKS: [&str; 2] = ["instructions-fat-tree", "instructions-dumbbell"];
/// Benchmark of `--large`.
const LARGE: &str = "misses-1024";
/// The modelled caches: 48 KiB and 1 MiB, as those of current server CPUs; size, ways, line.
const CACHES: [&str; 4] =
    ["--cache-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64", "--LL=1048576,16,64"];
/// The event loop: only what runs within it is counted. Start-up grows with every declared
/// parameter and depends on the CPU (libc chooses its `memcpy`).
const COUNTED: &str = "--toggle-collect=lowtide_sim::world::run";
/// Path of the record.
const RECORD: &str = "benches/instructions.toml";

/// Options of the chore.
#[derive(Debug)]
pub(crate) struct InstructionsTask {
    program: Option<PathBuf>,
    large: bool,
    record: bool,
}

/// Output of `lowtide bench --json`.
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
        let a = crate::arguments::Arguments::read(arguments, &["--large", "--record"])?;
        let program = a.word.clone().map(PathBuf::from);
        Ok(Self { program, large: a.has("--large"), record: a.has("--record") })
    }

    /// Counts, then compares or records.
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        match self.count_and_compare(root) {
            Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
            Ok(complaints) => {
                for complaint in complaints {
                    eprintln!("grew: {complaint}");
                }
                eprintln!(
                    "instructions grew by more than {} %. If the growth is intended, say so in the \
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
                "there is no {}: build it with `cargo build --release`",
                program.display()
            ));
        }
        let path = root.join(RECORD);
        // Read before the minute of counting, so that a missing record is reported at once.
        let before = Record::read(&path);
        if !self.record
            && let Err(missing) = &before
        {
            return Err(missing.clone());
        }
        let large = self.large.then_some(LARGE);
        let mut now = Record {
            rustc: compiler()?,
            benchmarks: BENCHMARKS
                .into_iter()
                .chain(large)
                .map(|name| Ok((name.to_owned(), count(root, program, name)?)))
                .collect::<Result<_, String>>()?,
        };
        let Some(before) = before.ok().filter(|_| !self.record) else {
            // Benchmarks that did not run keep their counts.
            if let Ok(before) = Record::read(&path) {
                for (name, counts) in before.benchmarks {
                    now.benchmarks.entry(name).or_insert(counts);
                }
            }
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

/// Runs once to warm up and once to count, both under callgrind: instructions of the event loop per
/// packet-hop of both.
fn count(root: &Path, program: &Path, name: &str) -> Result<BenchmarkCounts, String> {
    let file = root.join("target").join(format!("{name}.callgrind"));
    let mut out_file = std::ffi::OsString::from("--callgrind-out-file=");
    out_file.push(&file);
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--compress-strings=no", "--compress-pos=no"])
        .args(CACHES)
        .arg(COUNTED)
        .arg(out_file)
        .arg(program)
        .args(["--json", "--quiet", "bench", name, "-n", "1", "--threads", "1"])
        .output()
        .map_err(|e| format!("cannot run valgrind ({e}): `apt-get install valgrind`"))?;
    if !done.status.success() {
        // Valgrind's warnings about the caches of this machine are of no use otherwise.
        let said = String::from_utf8_lossy(&done.stderr);
        let status = done.status;
        return Err(format!("`lowtide bench {name}` under valgrind ended with {status}:\n{said}"));
    }
    let printed: BenchOutput = serde_json::from_slice(&done.stdout)
        .map_err(|e| format!("`lowtide bench {name}` printed no valid result: {e}"))?;
    let row = printed.rows.first().ok_or_else(|| format!("`lowtide bench {name}` has no row"))?;
    let costs = std::fs::read_to_string(&file)
        .map_err(|e| format!("{}: {e}", file.display()))
        .and_then(|text| Costs::read(&text))?;
    // The file is large and no longer needed.
    let _ = std::fs::remove_file(&file);
    if costs.total == 0 {
        return Err(format!("`lowtide bench {name}`: no calls counted ({COUNTED})"));
    }
    Ok(BenchmarkCounts::new(&costs, row.hops * (row.runs + 1)))
}

/// Version of the compiler, `rustc 1.95.0`.
fn compiler() -> Result<String, String> {
    let failed = |e: std::io::Error| format!("cannot run rustc: {e}");
    let done = Command::new("rustc").arg("--version").output().map_err(failed)?;
    let text = String::from_utf8_lossy(&done.stdout);
    Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// Formats the counts.
fn text(record: &Record) -> String {
    let mut out = String::new();
    for (name, counted) in &record.benchmarks {
        let _ = writeln!(
            out,
            "{name}: {:.1} instructions per packet-hop; {:.2} misses of L1, {:.2} of L2",
            counted.per_hop, counted.l1_misses, counted.l2_misses
        );
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
