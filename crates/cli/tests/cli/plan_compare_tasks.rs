//! `lowtide plan` and `compare` as processes: output and exit status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Creates a folder for this test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder");
    dir
}

pub(crate) fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(args).current_dir(dir);
    command
}

pub(crate) fn lowtide(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().expect("it runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

/// Two endless flows at 1 Gbit/s with two schemes, for 30 ms.
pub(crate) const SMALL: &str = r#"
schema = 1
title = "Two flows"
[run]
duration = "30 ms"
warmup = "10 ms"
seeds = 3
end = "duration"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "20 us"
[switch]
buffer = "unlimited"
[switch.mark]
kind = "step"
k = "20 pkt"
[transport]
profile = "linux"
[hosts.senders]
count = 2
[hosts.receivers]
count = 1
[traffic.pair]
kind = "transfers"
from = "senders"
to = "receivers"
count = 2
size = "unlimited"
[compare]
schemes = ["dctcp", "ecn"]
"#;

#[test]
fn a_plan_gives_k_and_g_and_checks_them() {
    let dir = folder("plan");
    let line = ["plan", "--rate", "10Gbps", "--rtt", "100us", "--flows", "2"];
    let run = |more: &[&str]| lowtide(&dir, &[&line[..], more].concat());
    let output = run(&["--seeds", "1", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer = json(&output);
    assert_eq!(answer["schema"], "lowtide.plan/2");
    assert_eq!(
        (&answer["advice"]["k_packets"], &answer["advice"]["shift_g"]),
        (&12.into(), &4.into())
    );
    let rows = answer["check"]["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|r| r["measured"].is_number()), "{rows:?}");
    let documented = include_str!("../../../../docs/reference/json.md");
    let (advice, check) = (&answer["advice"], &answer["check"]);
    for part in [&answer, advice, &advice["predicted"], check, &rows[0]] {
        for key in part.as_object().expect("an object").keys() {
            assert!(
                documented.contains(&format!("`{key}`")),
                "docs/reference/json.md lacks `{key}`"
            );
        }
    }
    let output = run(&["--no-check", "--burst-packets", "40pkt"]);
    let shown = text(&output.stdout);
    for wanted in ["52 packets", "eq. 13 and 40 packets", "buffer to reserve"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(!shown.contains("Simulated"));
    for wrong in [&["--g", "0.3"][..], &["--k", "20"], &["--rtt", "1us"]] {
        let args: Vec<&str> = match wrong {
            ["--rtt", rtt] => vec!["plan", "--rate", "10Gbps", "--rtt", rtt, "--flows", "2"],
            more => [&line[..], more].concat(),
        };
        assert_eq!(lowtide(&dir, &args).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_scenario_is_compared_with_its_changed_self() {
    let dir = folder("compare");
    fs::write(dir.join("small.toml"), SMALL).expect("a file");
    let compare = |more: &[&str]| lowtide(&dir, &[&["compare", "small.toml"][..], more].concat());
    let changed = ["--with", "switch.mark.k=60 pkt", "--seeds", "5"];
    let output = compare(&[&changed[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer = json(&output);
    assert_eq!(answer["schema"], "lowtide.compare/3");
    assert_eq!((&answer["pairs"], &answer["identical"]), (&10.into(), &0.into()));
    let rows = answer["rows"].as_array().expect("rows");
    let queue = rows.iter().find(|r| r["metric"] == "mean_packets" && r["scheme"] == "dctcp");
    let queue = queue.expect("the queue of DCTCP");
    // DCTCP's queue follows K (DCTCP eq. 10): with 60 packets instead of 20 it is longer.
    assert_eq!(queue["verdict"], "worse", "{queue}");
    let documented = include_str!("../../../../docs/reference/json.md");
    for part in [&answer, &answer["a"], queue, &queue["a"]] {
        for key in part.as_object().expect("an object").keys() {
            assert!(
                documented.contains(&format!("`{key}`")),
                "docs/reference/json.md lacks `{key}`"
            );
        }
    }
    let output = compare(&[&changed[..], &["--fail-above", "50%"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("worse, fails"));
    let only = ["--fail-above", "50%", "--metric", "goodput_mbps"];
    let output = compare(&[&changed[..], &only].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    // Three seeds, those of the file, have no verdict, so no degradation can be excluded.
    let few = ["--with", "switch.mark.k=60 pkt"];
    let output = compare(&[&few[..], &["--fail-above", "50%"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let says = "3 pairs of runs do not decide whether";
    let stderr = text(&output.stderr);
    assert!(stderr.contains(says) && stderr.contains("--seeds 5"), "{stderr}");
    let answer = json(&compare(&[&few[..], &["--json"]].concat()));
    let rows = answer["rows"].as_array().expect("rows");
    let queue = rows.iter().find(|r| r["metric"] == "mean_packets" && r["scheme"] == "dctcp");
    let queue = queue.expect("the queue of DCTCP");
    assert_eq!((&queue["verdict"], &queue["ratio_ci95"]), (&"undecided".into(), &Value::Null));
    assert!(queue["ratio_seed_range"][0].as_f64() > Some(1.0), "{queue}");

    // A complete directory is not run again, and equals its scenario.
    let place = answer["a"]["dir"].as_str().expect("a path").to_owned();
    let output = compare(&[&place, "--json"]);
    let same = json(&output);
    assert_eq!((&same["identical"], &same["pairs"]), (&6.into(), &6.into()));
    let rows = same["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|r| r["verdict"] == "same"), "{rows:?}");
    // Schemes of different names are paired by --pair; the rest is listed.
    let by_hand = ["small.toml", "--pair", "dctcp=ecn", "-q"];
    let shown = text(&compare(&by_hand).stdout);
    assert!(shown.contains("only in B: 3 runs"), "{shown}");

    let output = compare(&[]);
    assert_eq!(output.status.code(), Some(2), "there is no B");
    let output = compare(&[&place, "--with", "switch.mark.k=60 pkt"]);
    assert!(text(&output.stderr).contains("directory of results"), "{}", text(&output.stderr));
    let output = compare(&["small.toml", "--metric", "fct"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("fct_ms.mean"));
    let output = compare(&["--with", "compare.schemes=sack"]);
    assert!(text(&output.stderr).contains("A has schemes dctcp, ecn"), "{}", text(&output.stderr));
}
