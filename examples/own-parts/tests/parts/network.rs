//! The marker `tcn`, the topology `ring` and the scheme `abe` in the command of this crate.

use std::fs;

use crate::command::{folder, lowtide, output, stdout};

/// Two hosts of a ring of four switches send to one host.
const SCENARIO: &str = r#"schema = 1
title = "A ring of switches that mark by time"
[run]
duration = "100 ms"
seeds = 1
[topology]
kind = "ring"
nodes = 4
hosts-per-node = 2
link-rate = "10 Gbit/s"
link-delay = "5 us"
[switch]
buffer = "4 MB"
[switch.mark]
kind = "tcn"
threshold = "20 us"
[transport]
profile = "linux"
scheme = "abe"
[transport.sender]
tso-defer = 0
[hosts.all]
count = "rest"
[traffic.long]
kind = "transfers"
from = ["all.0", "all.2"]
to = "all.5"
count = 2
size = "20 MB"
"#;

fn file(name: &str, text: &str) -> String {
    let dir = folder(name);
    fs::create_dir_all(&dir).expect("a directory");
    let path = dir.join("ring.toml");
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

/// Runs the scenario; returns rows of a table by column.
fn rows(name: &str, text: &str, table: &str, column: &str) -> Vec<String> {
    let file = file(name, text);
    let out = folder(&format!("{name}-out")).display().to_string();
    lowtide(&["--quiet", "run", &file, "-o", &out]);
    let csv = stdout(&["table", &out, table, "--csv"]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let at = header.iter().position(|h| *h == column).expect("the column");
    lines.map(|row| row[at].to_owned()).collect()
}

#[test]
fn a_scenario_of_parts_of_this_crate_runs() {
    let marks = |text: &str, name: &str| -> u64 {
        rows(name, text, "queues", "marks").iter().map(|n| n.parse::<u64>().expect("a count")).sum()
    };
    let short = marks(SCENARIO, "tcn-20");
    let long = marks(&SCENARIO.replace("20 us", "200 us"), "tcn-200");
    assert!(short > long && long > 0, "marks: {short} above 20 us, {long} above 200 us");
    let used = rows("abe-scheme", SCENARIO, "flows", "cc_used");
    assert_eq!(used, ["abe", "abe"]);
}

#[test]
fn they_are_listed_explained_and_suggested() {
    for (kind, name, part) in
        [("markers", "tcn", "threshold"), ("topologies", "ring", "nodes"), ("schemes", "abe", "cc")]
    {
        assert!(stdout(&["list", kind]).contains(name), "{kind}");
        assert!(stdout(&["explain", name]).contains(part), "{name}");
    }
    let schema = stdout(&["schema"]);
    assert!(schema.contains("\"tcn\"") && schema.contains("\"ring\""));
    let wrong = file("wrong", &SCENARIO.replace("\"tcn\"", "\"tcm\""));
    let error = String::from_utf8_lossy(&output(&["check", &wrong]).stderr).into_owned();
    assert!(error.contains("tcn"), "{error}");
    let small = file("small", &SCENARIO.replace("nodes = 4", "nodes = 2"));
    let error = String::from_utf8_lossy(&output(&["check", &small]).stderr).into_owned();
    assert!(error.contains("at least 3"), "{error}");
}
