//! Helpers of the damage trials: an undisturbed reference run, and corruptions of files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Results, relative to the working directory.
pub(super) const OUT: &str = "out";

/// A run of two schemes whose directory has all kinds of files; takes about a second.
pub(super) const RUN: &[&str] = &[
    "-q",
    "run",
    "first-light",
    "--seeds",
    "1",
    "-s",
    "probes.interval=100us",
    "--trace",
    "0",
    "-j",
    "2",
    "-o",
    OUT,
];

/// Number of trials of each kind.
pub(super) struct TrialCounts {
    pub(super) kills: usize,
    pub(super) flips: usize,
    pub(super) parts: usize,
    pub(super) limits: usize,
    pub(super) disks: usize,
}

pub(super) fn shares() -> TrialCounts {
    let all = std::env::var("LOWTIDE_DAMAGE_TRIALS").ok().map(|n| n.parse().expect("a number"));
    let all: usize = all.unwrap_or(20);
    let (kills, parts, limits, disks) = (all / 10, all / 10, all / 20, all / 20);
    TrialCounts { kills, flips: all - kills - parts - limits - disks, parts, limits, disks }
}

pub(super) fn in_dir(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(args).current_dir(dir);
    command
}

pub(super) fn lowtide(dir: &Path, args: &[&str]) -> Output {
    in_dir(dir, args).output().expect("it starts")
}

pub(super) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// splitmix64: a seed gives the same sequence on every machine.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(purpose: &str) -> Self {
        let seed = std::env::var("LOWTIDE_DAMAGE_SEED").ok().map(|n| n.parse().expect("a number"));
        let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(purpose.bytes().fold(seed.unwrap_or(24), mix))
    }

    /// A random number below `n`, which must not be zero.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// The results of an undisturbed run.
pub(super) struct ReferenceRun {
    temp: TempDir,
    /// All files except the manifest, which has wall-clock times.
    contents: BTreeMap<String, Vec<u8>>,
    /// All files.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Kinds of files.
    pub(super) kinds: Vec<String>,
    /// Duration of the run, us.
    pub(super) micros: u64,
}

impl ReferenceRun {
    #[expect(
        clippy::disallowed_methods,
        reason = "the times of kills are drawn from the duration of a run"
    )]
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().expect("a directory");
        let start = std::time::Instant::now();
        let output = lowtide(temp.path(), RUN);
        let micros = start.elapsed().as_micros() as u64;
        assert!(output.status.success(), "{}", stderr(&output));
        let files = files(&temp.path().join(OUT));
        let mut contents = files.clone();
        contents.remove("manifest.json").expect("a manifest");
        let mut kinds: Vec<String> = files.keys().map(|name| kind(name).to_owned()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert!(kinds.len() > 16, "{kinds:?}");
        Self { temp, contents, files, kinds, micros }
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.temp.path().join(OUT)
    }

    /// Asserts that `dir` has the same files, byte by byte, and a manifest with the same hashes.
    pub(super) fn assert_same_files(&self, dir: &Path, about: &str) {
        let mut found = files(dir);
        let manifest = found.remove("manifest.json").expect(about);
        let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&self.contents), "{about}");
        for (name, content) in &self.contents {
            assert!(found[name] == *content, "{about}: {name} differs");
        }
        let files = |text: &[u8]| -> serde_json::Value {
            let manifest: serde_json::Value = serde_json::from_slice(text).expect(about);
            assert_eq!(manifest["status"], "complete", "{about}");
            manifest["files"].clone()
        };
        assert_eq!(files(&manifest), files(&self.files["manifest.json"]), "{about}");
    }

    /// Asserts that `dir` has the same tables.
    pub(super) fn assert_same_tables(&self, dir: &Path, about: &str) {
        let found = files(dir);
        for (name, content) in self.contents.iter().filter(|(n, _)| n.ends_with(".parquet")) {
            assert!(found[name] == *content, "{about}: {name} differs");
        }
    }
}

/// Kind of a file: its directory, or its name at the top level.
pub(super) fn kind(name: &str) -> &str {
    name.split_once('/').map_or(name, |(directory, _)| directory)
}

/// Reads all files below `dir`.
pub(super) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fn add(root: &Path, dir: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                add(root, &path, out);
            } else {
                let name = path.strip_prefix(root).expect("below").display().to_string();
                out.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    let mut out = BTreeMap::new();
    add(dir, dir, &mut out);
    out
}

pub(super) fn copy(from: &Path, to: &Path) {
    for (name, content) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, content).expect("a file");
    }
}

/// Corruption of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Corruption {
    Flipped { _bit: u64 },
    Truncated { _to: u64 },
    Emptied,
    Zeroed { _from: usize },
}

impl Corruption {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Flipped { .. } => "bit flipped",
            Self::Truncated { .. } => "cut",
            Self::Emptied => "emptied",
            Self::Zeroed { .. } => "sector of zeros",
        }
    }
}

/// Corrupts the file at `path`.
pub(super) fn corrupt(path: &Path, rng: &mut Rng) -> Corruption {
    const SECTOR: usize = 512;
    let mut content = fs::read(path).expect("a file");
    let len = content.len() as u64;
    let done = match rng.below(10) {
        0..=5 => {
            let bit = rng.below(len * 8);
            content[(bit / 8) as usize] ^= 1 << (bit % 8);
            Corruption::Flipped { _bit: bit }
        }
        6 | 7 => {
            let to = rng.below(len);
            content.truncate(to as usize);
            Corruption::Truncated { _to: to }
        }
        8 => {
            content.clear();
            Corruption::Emptied
        }
        _ => {
            let from = rng.below(len) as usize / SECTOR * SECTOR;
            let to = (from + SECTOR).min(content.len());
            content[from..to].fill(0);
            Corruption::Zeroed { _from: from }
        }
    };
    if fs::read(path).expect("a file") == content {
        return corrupt(path, rng);
    }
    fs::write(path, content).expect("a file");
    done
}

/// Outcomes of the trials of one kind.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) detected: usize,
    pub(super) harmless: usize,
    notes: BTreeMap<String, usize>,
}

impl Tally {
    pub(super) fn note(&mut self, what: &str) {
        *self.notes.entry(what.to_owned()).or_default() += 1;
    }

    /// Prints the counts. A trial that is neither detected nor harmless fails the test.
    pub(super) fn print(&self, kind: &str) {
        let Self { detected, harmless, notes } = self;
        let notes: Vec<String> = notes.iter().map(|(what, n)| format!("{what} {n}")).collect();
        println!(
            "{kind}: {} trials, {detected} detected, {harmless} harmless, 0 silent ({})",
            detected + harmless,
            notes.join(", ")
        );
    }
}
