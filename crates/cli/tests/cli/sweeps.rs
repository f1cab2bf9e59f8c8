//! `lowtide run --part` and `merge` as processes, one of them killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use lowtide_record::TABLES;

use crate::plan_compare_tasks::{SMALL, command, folder, json, lowtide, text};

/// Twelve runs: two schemes, two points, three seeds.
const RUN: [&str; 5] = ["run", "small.toml", "--over", "switch.mark.k=10 pkt,20 pkt", "-q"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

fn fails(dir: &Path, args: &[&str], status: i32) -> String {
    let output = lowtide(dir, args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{stderr}");
    stderr
}

fn succeeds(dir: &Path, args: &[&str]) -> Output {
    let output = lowtide(dir, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    output
}

/// Entries of `dir` that a merge in progress would leave.
fn leftovers(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).expect("a folder");
    let names = names.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(".tmp")).collect()
}

#[test]
fn parts_of_three_processes_merge_to_the_result_of_one() {
    let dir = folder("parts");
    fs::write(dir.join("small.toml"), SMALL).expect("a file");
    let start = |index: &str| -> Child {
        let part = format!("part{index}");
        command(&dir, &with(&["--index", index, "--of", "3", "--part", &part]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process")
    };
    for child in ["0", "2"].map(start) {
        let end = child.wait_with_output().expect("its end");
        assert_eq!(end.status.code(), Some(0), "{}", text(&end.stderr));
        assert!(text(&end.stdout).contains("4 of the 12 runs"), "{}", text(&end.stdout));
    }

    // A part is no run directory, and two parts are not the whole plan.
    let message = fails(&dir, &["table", "part0", "flows"], 2);
    assert!(message.contains("`lowtide merge OUT part0 ...`"), "{message}");
    let message = fails(&dir, &["merge", "out", "part0", "part2"], 2);
    assert!(message.contains("4 of 12 runs are in no finished part, first the run dctcp, switch.mark.k = 10 pkt, seed 2:"), "{message}");
    let remedy = "`lowtide run small.toml --over 'switch.mark.k=10 pkt,20 pkt' -q \
                  --index 1 --of 3 --part DIR` makes them";
    assert!(message.contains(remedy), "{message}");
    assert!(!dir.join("out").exists());

    // The third machine has a copy of the scenario only, and the results are copied.
    let other = dir.join("other");
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("small.toml"), SMALL).expect("a file");
    succeeds(&other, &with(&["--runs", "1,4,7,10", "--part", "part1"]));
    fs::rename(other.join("part1"), dir.join("part1")).expect("moved");
    fs::remove_dir_all(&other).expect("removed");
    fs::remove_file(dir.join("small.toml")).expect("removed");
    let merged = json(&succeeds(&dir, &["merge", "out", "part0", "part1", "part2", "--json"]));
    assert!(leftovers(&dir).is_empty(), "{:?}", leftovers(&dir));

    fs::write(dir.join("small.toml"), SMALL).expect("a file");
    let whole = json(&succeeds(&dir, &with(&["--json", "-o", "whole"])));
    assert_eq!(merged["digest"], whole["digest"]);
    assert_eq!(merged["summary"], whole["summary"]);
    for table in TABLES {
        let file = format!("{table}.parquet");
        let read = |of: &str| fs::read(dir.join(of).join(&file)).expect("a table");
        assert!(read("out") == read("whole"), "{file} differs");
    }
    for file in ["scenario.toml", "report.html", "tails.csv"] {
        assert!(dir.join("out").join(file).exists(), "{file}");
    }
    // The merge can be repeated, and `run` finds the directory complete.
    succeeds(&dir, &["merge", "out", "part2", "part1", "part0", "-q"]);
    succeeds(&dir, &with(&["-o", "out"]));
    succeeds(&dir, &["check", "out"]);
    let message = fails(&dir, &["merge", ".", "part0", "part1", "part2"], 2);
    assert!(message.contains("exists and does not hold these results"), "{message}");
}

#[test]
fn a_killed_worker_leaves_a_part_that_is_refused_and_can_be_finished() {
    let dir = folder("killed-part");
    fs::write(dir.join("small.toml"), SMALL).expect("a file");
    let slow = ["-s", "run.duration=1 s", "--seeds", "2", "-j", "1"];
    let args = [&with(&slow)[..], &["--runs", "0-7", "--part", "part"]].concat();
    let mut child = command(&dir, &args).stderr(Stdio::null()).spawn().expect("a process");
    let seen = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        let runs = fs::read_dir(dir.join("part/partial")).into_iter().flatten();
        runs.flatten().any(|run| run.path().join("run.json").exists())
    });
    // `Child::kill` is SIGKILL.
    child.kill().expect("it was alive");
    child.wait().expect("its end");
    assert!(seen, "a run was finished");

    let message = fails(&dir, &["merge", "out", "part"], 2);
    assert!(message.contains("part is a half-written part"), "{message}");
    assert!(message.contains("--runs 0-7 --part part` makes the others"), "{message}");
    assert!(!dir.join("out").exists());

    let done = json(&succeeds(&dir, &[&args[..], &["--json"]].concat()));
    assert_eq!(done["runs"].as_array().map(Vec::len), Some(8), "{done}");
    let merged = json(&succeeds(&dir, &["merge", "out", "part", "--json"]));
    let whole = json(&succeeds(&dir, &[&with(&slow)[..], &["-o", "whole", "--json"]].concat()));
    assert_eq!(merged["digest"], whole["digest"]);
}

#[test]
fn a_damaged_part_is_refused_by_name_and_repaired_by_its_command() {
    let dir = folder("damaged-part");
    fs::write(dir.join("small.toml"), SMALL).expect("a file");
    let args = with(&["--seeds", "1", "--runs", "0-3", "--part", "part"]);
    succeeds(&dir, &args);
    let runs = fs::read_dir(dir.join("part/partial")).expect("a folder");
    let run = runs.map(|e| e.expect("an entry").path()).find(|p| p.is_dir()).expect("a run");
    let table = run.join("flows.parquet");
    let mut content = fs::read(&table).expect("a table");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&table, content).expect("written");
    let message = fails(&dir, &["merge", "out", "part"], 2);
    let remedy = "--runs 0-3 --part part` repairs the part";
    assert!(message.contains("flows.parquet is damaged") && message.contains(remedy), "{message}");
    assert!(!dir.join("out").exists());
    succeeds(&dir, &args);
    succeeds(&dir, &["merge", "out", "part", "-q"]);

    // Parts of two commands, and directories that are no parts.
    succeeds(&dir, &with(&["--seeds", "2", "--runs", "0", "--part", "more"]));
    let message = fails(&dir, &["merge", "both", "part", "more"], 2);
    assert!(message.contains("merge parts of one command"), "{message}");
    let other = ["run", "small.toml", "-s", "run.duration=40 ms", "-q"];
    succeeds(&dir, &[&other[..], &["--runs", "0", "--part", "other"]].concat());
    let message = fails(&dir, &["merge", "both", "part", "other"], 2);
    assert!(message.contains("merge parts of one scenario"), "{message}");
    let message = fails(&dir, &["merge", "both", "out"], 2);
    assert!(message.contains("out holds complete results, not a part"), "{message}");
    let message = fails(&dir, &["merge", "both", "nowhere"], 2);
    assert!(message.contains("nowhere holds no part"), "{message}");

    // Another selection does not go into the same directory.
    let message = fails(&dir, &with(&["--seeds", "1", "--runs", "0", "--part", "part"]), 2);
    assert!(message.contains("is for `--runs 0-3` of this plan"), "{message}");
    let message = fails(&dir, &with(&["--seeds", "1", "--runs", "7", "--part", "new"]), 2);
    assert!(message.contains("there is no run 7") && message.contains("--runs 0-3"), "{message}");
    let message = fails(&dir, &with(&["--part", "new"]), 2);
    assert!(message.contains("--part needs the runs"), "{message}");
    for alone in [&["--index", "0", "--of", "3"][..], &["--runs", "0", "-o", "new"]] {
        let message = fails(&dir, &with(alone), 2);
        let wanted = "add --part DIR (another DIR for each task) instead of -o; `lowtide merge OUT";
        assert!(message.contains(wanted), "{message}");
    }
    let wrong = ["--index", "3", "--of", "3", "--part", "new"];
    let message = fails(&dir, &with(&wrong), 2);
    assert!(message.contains("tasks are numbered from 0: --index 0 to 2"), "{message}");
    assert!(!dir.join("both").exists() && !dir.join("new").exists());
}
