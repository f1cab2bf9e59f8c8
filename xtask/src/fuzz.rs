//! Runs a fuzzer in slices until its time is over or it finds nothing new.
//!
//! Interesting inputs go to `fuzz/work/`, which is not kept; `--keep` copies the smallest set with
//! the same edges to `fuzz/corpus/`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::arguments::Arguments;

const TARGETS: [&str; 3] = ["scenario", "segments", "wire"];
/// Longer inputs find nothing new, and are slow.
const MAX_INPUT_BYTES: u32 = 4_096;
/// A slower input is a finding.
const INPUT_TIMEOUT_S: u32 = 120;
const RSS_LIMIT_MB: u32 = 4_096;

/// Options of the chore.
#[derive(Debug)]
pub(crate) struct FuzzTask {
    target: String,
    minutes: u64,
    slice: u64,
    stale: u64,
    jobs: u64,
    minimize: bool,
}

impl FuzzTask {
    /// Reads the options.
    pub(crate) fn read(arguments: &[String]) -> Result<Self, String> {
        let options = ["--minutes", "--slice", "--stale", "-j"];
        let a = Arguments::read(arguments, &options, &["--keep"])?;
        let target = a.word.clone().unwrap_or_default();
        if !TARGETS.contains(&target.as_str()) {
            return Err(format!("fuzz needs a target: {}", TARGETS.join(", ")));
        }
        Ok(Self {
            target,
            minutes: a.number("--minutes", 10)?.max(1),
            slice: a.number("--slice", 5)?.max(1),
            stale: a.number("--stale", 20)?,
            jobs: a.number("-j", 1)?.max(1),
            minimize: a.has("--keep"),
        })
    }

    /// Runs it and prints the number of covered edges.
    pub(crate) fn run(&self, root: &Path) -> ExitCode {
        let result = if self.minimize { self.minimize_corpus(root) } else { self.search(root) };
        match result {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("cannot run cargo fuzz ({error}): `cargo install cargo-fuzz`");
                ExitCode::FAILURE
            }
        }
    }

    fn search(&self, root: &Path) -> std::io::Result<bool> {
        let (mut spent, mut quiet, mut edges) = (0, 0, 0);
        fs::create_dir_all(root.join("fuzz/work").join(&self.target))?;
        while spent < self.minutes {
            let minutes = self.slice.min(self.minutes - spent);
            let seconds = format!("-max_total_time={}", 60 * minutes);
            let fork = format!("-fork={}", self.jobs);
            let mut more = vec![seconds.as_str(), "-print_final_stats=1"];
            if self.jobs > 1 {
                more.push(&fork);
            }
            let folders = [format!("work/{}", self.target), format!("corpus/{}", self.target)];
            let (found, clean) = self.fuzzer(root, &folders, &more)?;
            spent += minutes;
            quiet = if found > edges { 0 } else { quiet + minutes };
            edges = edges.max(found);
            println!("{}: {spent} min, {edges} edges, none new for {quiet} min", self.target);
            if !clean {
                println!("a finding: run the file in fuzz/artifacts/{} again with", self.target);
                println!("  cargo run -p lowtide-trial --example replay -- {} FILE", self.target);
                return Ok(false);
            }
            if self.stale > 0 && quiet >= self.stale {
                break;
            }
        }
        Ok(true)
    }

    /// Replaces the corpus by the smallest set of inputs with the same edges.
    fn minimize_corpus(&self, root: &Path) -> std::io::Result<bool> {
        let corpus = root.join("fuzz/corpus").join(&self.target);
        let old = root.join("fuzz/work").join(format!("{}-old", self.target));
        if old.exists() {
            fs::remove_dir_all(&old)?;
        }
        fs::create_dir_all(root.join("fuzz/work").join(&self.target))?;
        fs::rename(&corpus, &old)?;
        fs::create_dir_all(&corpus)?;
        let folder = |name: &str| format!("work/{}{name}", self.target);
        let folders = [format!("corpus/{}", self.target), folder("-old"), folder("")];
        // Edges only, without hit counts: the corpus is for replay, not for search.
        let more = ["-set_cover_merge=1", "-use_counters=0"];
        let (_, clean) = self.fuzzer(root, &folders, &more)?;
        println!("{}: {} inputs kept", self.target, fs::read_dir(&corpus)?.count());
        Ok(clean)
    }

    /// One run; returns the covered edges, and whether it ended without a finding.
    fn fuzzer(
        &self,
        root: &Path,
        folders: &[String],
        more: &[&str],
    ) -> std::io::Result<(u64, bool)> {
        // The fuzzer needs unstable compiler flags; the code under test does not.
        let mut child = Command::new(env!("CARGO"))
            .current_dir(root.join("fuzz"))
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["fuzz", "run", "--sanitizer", "none", &self.target])
            .args(folders)
            .arg("--")
            .arg(format!("-max_len={MAX_INPUT_BYTES}"))
            .arg(format!("-timeout={INPUT_TIMEOUT_S}"))
            .arg(format!("-rss_limit_mb={RSS_LIMIT_MB}"))
            .args(more)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut edges = 0;
        if let Some(stderr) = child.stderr.take() {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let progress =
                    ["NEW ", "REDUCE", "pulse", "RELOAD"].iter().any(|w| line.contains(w));
                if !progress {
                    eprintln!("{line}");
                }
                edges = edges_in(&line).unwrap_or(edges);
            }
        }
        Ok((edges, child.wait()?.success()))
    }
}

/// `#1234 NEW cov: 99 ft: ...` means that 99 edges are covered.
fn edges_in(line: &str) -> Option<u64> {
    line.split_once("cov: ")?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_read_from_the_fuzzer_s_lines() {
        assert_eq!(edges_in("#365792	DONE   cov: 2080 ft: 11700 corp: 2853/455Kb"), Some(2080));
        assert_eq!(edges_in("stat::number_of_executed_units: 365792"), None);
        assert_eq!(edges_in("cov: many"), None);
    }

    #[test]
    fn targets_are_those_of_the_fuzz_folder() {
        let text = include_str!("../../fuzz/Cargo.toml");
        for target in TARGETS {
            assert!(text.contains(&format!("name = \"{target}\"")), "{target}");
        }
        assert_eq!(text.matches("[[bin]]").count(), TARGETS.len());
    }
}
