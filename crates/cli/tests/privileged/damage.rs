//! Damaged result directories: the process is killed, bits flip, files are truncated, the disk is
//! full. All damage is detected or harmless: the tables equal those of an undisturbed run.
//!
//! `LOWTIDE_DAMAGE_TRIALS` is the number of trials of all kinds; `LOWTIDE_DAMAGE_SEED` is the seed
//! of times and positions. `cargo test -p lowtide --test privileged damage -- --nocapture` prints
//! the counts.

mod trial;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use lowtide_test_needs::Need;
use tempfile::TempDir;
use trial::{
    Corruption, OUT, RUN, ReferenceRun, Rng, Tally, copy, corrupt, files, in_dir, lowtide, shares,
    stderr,
};

/// A file system in memory, mounted in a mount namespace.
pub(crate) const TMPFS: Need = Need {
    name: "a private file system",
    probe: || {
        let mount = ["-m", "mount", "-t", "tmpfs", "t", "/mnt"];
        let output = Command::new("unshare").args(mount).output().map_err(|e| e.to_string())?;
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(()) } else { Err(why) }
    },
    enforceable: true,
};

/// The process is killed at a random time, once or twice; the same command then continues.
pub(crate) fn killed_runs_continue_to_the_results_of_a_whole_one() {
    let whole = ReferenceRun::new();
    let mut rng = Rng::new("kills");
    let mut tally = Tally::default();
    // Adapts to the speed of the machine, so that about half of the kills are in time.
    let mut span = whole.micros;
    for trial in 0..shares().kills {
        let temp = tempfile::tempdir().unwrap();
        let mut left = 1 + rng.below(2);
        while left > 0 {
            let mut child = in_dir(temp.path(), RUN)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("it starts");
            std::thread::sleep(Duration::from_micros(rng.below(span)));
            child.kill().expect("a child");
            if child.wait().expect("a child").success() {
                tally.note("too late");
                span = span * 4 / 5;
                let _ = fs::remove_dir_all(temp.path().join(OUT));
                continue;
            }
            span = span * 6 / 5;
            left -= 1;
            let out = temp.path().join(OUT);
            tally.note(
                match (out.join("manifest.json").exists(), out.join("runs.parquet").exists()) {
                    (false, _) => "killed before there was a directory",
                    (true, false) => "killed as runs went on",
                    (true, true) => "killed as the directory was completed",
                },
            );
        }
        let again = lowtide(temp.path(), RUN);
        assert!(again.status.success(), "trial {trial}: {}", stderr(&again));
        whole.assert_same_files(&temp.path().join(OUT), &format!("kill, trial {trial}"));
        tally.harmless += 1;
    }
    tally.print("kills");
}

/// Commands that read the directory `OUT`; `TABLE` is replaced by the name of a table.
const READERS: [&[&str]; 8] = [
    &["table", OUT, "TABLE", "--csv"],
    &["compare", OUT, "../whole/out", "--json", "--metric", "all"],
    &["diff", OUT, "../whole/out"],
    &["report", OUT],
    &["explain", OUT, "--flow", "1", "--scheme", "dctcp"],
    &["plot", OUT, "--flow", "0", "--scheme", "dctcp", "-o", "plots"],
    &["pcap", OUT, "--flow", "0", "--scheme", "dctcp", "-o", "flow.pcap"],
    RUN,
];

/// One file of complete results is damaged: `check` always detects it, and each command that reads
/// results either detects it or prints the undamaged results.
pub(crate) fn damaged_results_are_noticed_or_do_no_harm() {
    let whole = ReferenceRun::new();
    let mut rng = Rng::new("results");
    let mut tally = Tally::default();
    let names: Vec<&String> = whole.files.keys().collect();
    let tables: Vec<&str> = names.iter().filter_map(|n| n.strip_suffix(".parquet")).collect();
    let mut expected: BTreeMap<Vec<String>, Vec<u8>> = BTreeMap::new();
    let place = |temp: &Path| {
        copy(&whole.dir(), &temp.join("whole/out"));
        copy(&whole.dir(), &temp.join("at").join(OUT));
    };
    for trial in 0..shares().flips {
        let temp = tempfile::tempdir().unwrap();
        place(temp.path());
        let at = temp.path().join("at");
        // The kinds of files alternate; the file of a kind is random.
        let kind = whole.kinds[trial % whole.kinds.len()].as_str();
        let of: Vec<_> = names.iter().filter(|n| trial::kind(n) == kind).collect();
        let name = of[rng.below(of.len() as u64) as usize].as_str();
        let reader = READERS[rng.below(READERS.len() as u64) as usize];
        let table = name.strip_suffix(".parquet").unwrap_or(tables[trial % tables.len()]);
        let args: Vec<String> =
            reader.iter().map(|a| if *a == "TABLE" { table } else { a }.to_owned()).collect();
        let args_now: Vec<&str> = args.iter().map(String::as_str).collect();
        let right = expected.entry(args.clone()).or_insert_with(|| {
            let undamaged = tempfile::tempdir().expect("a directory");
            place(undamaged.path());
            let output = lowtide(&undamaged.path().join("at"), &args_now);
            assert!(output.status.success(), "{args:?}: {}", stderr(&output));
            output.stdout
        });
        let done = corrupt(&at.join(OUT).join(name), &mut rng);
        let about = format!("trial {trial}: {done:?} of {name}, {args:?}");
        let noticed = |output: &std::process::Output| {
            let message = stderr(output);
            let file = name.rsplit('/').next().unwrap_or(name);
            !output.status.success() && message.contains("damaged") && message.contains(file)
        };
        let check = lowtide(&at, &["check", OUT]);
        assert!(noticed(&check), "{about}: {check:?}");
        let output = lowtide(&at, &args_now);
        if noticed(&output) {
            assert!(stderr(&output).contains("--afresh"), "{about}: {output:?}");
            tally.detected += 1;
        } else {
            assert!(output.status.success(), "{about}: {output:?}");
            assert_eq!(output.stdout, *right, "{about}");
            if reader == RUN {
                whole.assert_same_files(&at.join(OUT), &about);
            }
            tally.harmless += 1;
        }
        tally.note(done.name());
        tally.note(kind);
    }
    tally.print("damaged results");
}

/// Kills a command when the first of its two runs is finished. Returns its directory and the names
/// of its files.
fn interrupted() -> (TempDir, Vec<String>) {
    let one_by_one: Vec<&str> = RUN.iter().map(|&arg| if arg == "2" { "1" } else { arg }).collect();
    for _ in 0..20 {
        let temp = tempfile::tempdir().unwrap();
        let mut child = in_dir(temp.path(), &one_by_one).stderr(Stdio::null()).spawn().unwrap();
        let partial = temp.path().join(OUT).join("partial");
        let is_run = |run: fs::DirEntry| run.path().join("run.json").exists();
        let is_begun = || fs::read_dir(&partial).into_iter().flatten().flatten().any(is_run);
        while !is_begun() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let names: Vec<String> = files(&temp.path().join(OUT)).into_keys().collect();
        let is_run = |name: &&String| name.starts_with("partial/") && name.ends_with("run.json");
        if names.iter().filter(is_run).count() == 1 {
            return (temp, names);
        }
    }
    panic!("no command was killed between its two runs");
}

/// A file of an interrupted command is damaged: the next command repeats the lost runs.
pub(crate) fn damaged_parts_are_run_again() {
    let whole = ReferenceRun::new();
    let mut rng = Rng::new("parts");
    let mut tally = Tally::default();
    let (half, names) = interrupted();
    for trial in 0..shares().parts {
        let temp = tempfile::tempdir().unwrap();
        copy(&half.path().join(OUT), &temp.path().join(OUT));
        let name = &names[rng.below(names.len() as u64) as usize];
        let done = corrupt(&temp.path().join(OUT).join(name), &mut rng);
        let about = format!("trial {trial}: {done:?} of {name}");
        let mut output = lowtide(temp.path(), RUN);
        if output.status.success() {
            whole.assert_same_files(&temp.path().join(OUT), &about);
            tally.harmless += 1;
        } else {
            let message = stderr(&output);
            assert_eq!(name, "manifest.json", "{about}: {message}");
            assert!(
                message.contains("manifest.json is damaged") && message.contains("--afresh"),
                "{message}"
            );
            output = lowtide(temp.path(), &[RUN, &["--afresh"]].concat());
            assert!(output.status.success(), "{about}: {output:?}");
            whole.assert_same_tables(&temp.path().join(OUT), &about);
            tally.detected += 1;
        }
        tally.note(done.name());
    }
    tally.print("damaged parts");
}

/// Files cannot grow beyond a limit of the process, which needs no root: the command fails with a
/// write error and help, and continues when there is room.
pub(crate) fn files_that_cannot_grow_are_write_errors() {
    let whole = ReferenceRun::new();
    let mut rng = Rng::new("limits");
    let mut tally = Tally::default();
    for trial in 0..shares().limits {
        let temp = tempfile::tempdir().unwrap();
        // In blocks of 512 B; the largest file has some hundred kB.
        let blocks = rng.below(280);
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let first = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_lowtide")])
            .args(RUN)
            .current_dir(temp.path())
            .output()
            .expect("a shell");
        let first = (first.status.success(), stderr(&first));
        write_error_or_success(first, "File too large", &format!("{blocks} blocks"), &mut tally);
        let again = lowtide(temp.path(), RUN);
        assert!(again.status.success(), "trial {trial}: {}", stderr(&again));
        whole.assert_same_files(&temp.path().join(OUT), &format!("limit, trial {trial}"));
    }
    tally.print("files that cannot grow");
}

#[cfg(target_os = "linux")]
fn write_error_or_success(
    (success, message): (bool, String),
    reason: &str,
    about: &str,
    tally: &mut Tally,
) {
    if success {
        tally.harmless += 1;
    } else {
        let refused = message.contains("on disk") && message.contains("are free");
        let written = message.contains("cannot ")
            && message.contains(reason)
            && message.contains("make room");
        assert!(refused || written, "{about}: {message}");
        assert!(!message.contains("not a readable table"), "{about}: {message}");
        tally.note(if refused { "refused beforehand" } else { "write error" });
        tally.detected += 1;
    }
}

/// As above with a disk that becomes full (a small file system in memory; needs root).
pub(crate) fn full_disks_are_write_errors() {
    const SCRIPT: &str = "set -e
        mkdir disk; mount -t tmpfs -o size=$1k tmpfs disk; cd disk
        if [ $2 -gt 0 ]; then (sleep 0.$2; dd if=/dev/zero of=filler bs=4k 2>/dev/null || true) & fi
        set +e; \"$0\" $3 >../out1 2>../err1; echo $? >../status1; wait; rm -f filler
        mount -o remount,size=64m . && \"$0\" $3 >../out2 2>../err2; echo $? >../status2
        cp -r out ../out";
    let whole = ReferenceRun::new();
    let mut rng = Rng::new("disks");
    let mut tally = Tally::default();
    for trial in 0..shares().disks {
        let temp = tempfile::tempdir().unwrap();
        // Too small from the start, or filled by another process after several milliseconds.
        let (size, filled) = match trial % 2 {
            0 => (300 + rng.below(1_100), 0),
            _ => (16_000, 1 + rng.below((whole.micros / 1_000).clamp(100, 998))),
        };
        let script = Command::new("unshare")
            .args(["-m", "sh", "-c", SCRIPT, env!("CARGO_BIN_EXE_lowtide"), &size.to_string()])
            .args([&format!("{filled:03}"), &RUN.join(" ")])
            .current_dir(temp.path())
            .output()
            .expect("unshare");
        let about = format!("trial {trial}: {size} kB, filled after {filled} ms: {script:?}");
        let text = |name: &str| fs::read_to_string(temp.path().join(name)).expect(&about);
        let first = (text("status1").trim() == "0", text("err1"));
        write_error_or_success(first, "No space left on device", &about, &mut tally);
        assert_eq!(text("status2").trim(), "0", "{about}: {}", text("err2"));
        whole.assert_same_files(&temp.path().join(OUT), &about);
    }
    tally.print("full disks");
}

/// Every corruption changes the content of the file.
pub(crate) fn every_corruption_changes_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("file");
    let mut rng = Rng::new("harm");
    let mut seen: Vec<&str> = Vec::new();
    for _ in 0..64 {
        fs::write(&path, [7_u8; 3_000]).unwrap();
        let done: Corruption = corrupt(&path, &mut rng);
        assert_ne!(fs::read(&path).unwrap(), [7_u8; 3_000], "{done:?}");
        seen.push(done.name());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["bit flipped", "cut", "emptied", "sector of zeros"]);
}
