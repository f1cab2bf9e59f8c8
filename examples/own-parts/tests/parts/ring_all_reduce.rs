//! The workload `ring-all-reduce` in the command of this crate.

use std::fs;

use crate::command::{folder, lowtide, output, stdout};

/// Four hosts at 10 Gbit/s; each receives six chunks of 250 kB from its predecessor.
const SCENARIO: &str = r#"schema = 1
title = "A ring of four hosts"
[run]
duration = "1 s"
seeds = 1
[topology]
kind = "star"
link-rate = "10 Gbit/s"
link-delay = "5 us"
[switch]
buffer = "4 MB"
[switch.mark]
kind = "step"
k = "65 pkt"
[transport]
profile = "linux"
scheme = "dctcp"
[hosts.gpu]
count = 4
[traffic.step]
kind = "ring-all-reduce"
from = "gpu"
to = "gpu"
data = "1 MB"
"#;

/// Writes the scenario with `old` replaced by `new`; returns its path.
fn scenario(name: &str, old: &str, new: &str) -> String {
    assert!(SCENARIO.contains(old), "{old}");
    let dir = folder(name);
    fs::create_dir_all(&dir).expect("a directory");
    let path = dir.join("ring.toml");
    fs::write(&path, SCENARIO.replacen(old, new, 1)).expect("a file");
    path.display().to_string()
}

/// Runs the scenario with these settings; returns bytes, start and end in ps of the first host's
/// steps.
fn steps(name: &str, settings: &[&str]) -> Vec<[u64; 3]> {
    let out = folder(&format!("{name}-out")).display().to_string();
    let file = scenario(name, "data", "data");
    let mut args = vec!["--quiet", "run", &file, "-o", &out];
    for setting in settings {
        args.extend(["-s", setting]);
    }
    lowtide(&args);
    let table = stdout(&["table", &out, "queries", "--csv"]);
    let mut rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let column = |row: &[&str], name: &str| {
        let at = header.iter().position(|h| *h == name).expect("a column");
        row[at].to_owned()
    };
    let number = |row: &[&str], name: &str| column(row, name).parse().expect("a number");
    rows.filter(|row| column(row, "client") == "gpu.0")
        .map(|row| ["answer_bytes", "start_ps", "end_ps"].map(|name| number(&row, name)))
        .collect()
}

#[test]
fn the_workload_is_listed_and_explained_beside_the_others() {
    let listed = stdout(&["list", "workloads"]);
    let names: Vec<&str> = listed.lines().filter_map(|l| l.split_whitespace().nth(1)).collect();
    assert!(names.contains(&"ring-all-reduce") && names.contains(&"incast"), "{listed}");
    let explained = stdout(&["explain", "ring-all-reduce"]);
    for part in ["Patarasu", "data = required", "reduce-time = 0 s"] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let schema = stdout(&["schema"]);
    assert!(schema.contains("\"ring-all-reduce\"") && schema.contains("\"reduce-time\""));
}

#[test]
fn a_scenario_runs_with_it_and_its_parameters_count() {
    let plain = steps("plain", &[]);
    assert_eq!(plain.len(), 6, "{plain:?}");
    for [bytes, start, end] in &plain {
        // At 10 Gbit/s 250 kB take 200 us; slow start and round trips are extra.
        assert_eq!(*bytes, 250_000);
        assert!((200_000_000..400_000_000).contains(&(end - start)), "{plain:?}");
    }
    assert!(plain.windows(2).all(|two| two[1][1] == two[0][2]), "no pause: {plain:?}");
    let slow = steps("slow", &["traffic.step.rounds=2", "traffic.step.reduce-time=50 us"]);
    assert_eq!(slow.len(), 12, "{slow:?}");
    assert!(slow.windows(2).all(|two| two[1][1] == two[0][2] + 50_000_000), "{slow:?}");
}

#[test]
fn a_wrong_name_and_a_wrong_key_get_the_nearest() {
    for (name, old, new, near) in [
        ("name", "\"ring-all-reduce\"", "\"ring-all-reduc\"", "did you mean `ring-all-reduce`"),
        ("key", "data = ", "date = ", "did you mean `data`"),
        ("value", "\"1 MB\"", "\"1 s\"", "`data`"),
        ("ring", "to = \"gpu\"", "to = \"gpu.0\"", "name the same hosts in `from` and `to`"),
    ] {
        let file = scenario(&format!("wrong-{name}"), old, new);
        let output = output(&["check", &file]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(near), "{near}: {errors}");
    }
}
