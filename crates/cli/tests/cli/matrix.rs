//! `lowtide matrix` as a process: output and exit status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn lowtide(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates a folder for this test.
fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder");
    dir
}

const SHORT: [&str; 6] = ["-s", "run.duration=300 ms", "-s", "run.warmup=250 ms", "--seeds", "1"];

#[test]
fn printed_files_are_accepted_as_input() {
    let dir = folder("matrix-print");
    let (thresholds, setup, out) = (dir.join("t.toml"), dir.join("s.toml"), dir.join("out"));
    let print = |what| lowtide(&["matrix", "--print", what]).stdout;
    fs::write(&thresholds, print("thresholds")).expect("a file");
    fs::write(&setup, print("setup")).expect("a file");
    let (thresholds, setup) = (thresholds.display().to_string(), setup.display().to_string());
    let out = out.display().to_string();
    let mut args = vec!["matrix", &setup, "--thresholds", &thresholds, "--out", &out, "--json"];
    args.extend(["--senders", "dctcp", "--receivers", "dctcp,ecn", "--neighbours", "none"]);
    args.extend(SHORT);
    let output = lowtide(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["schema"], "lowtide.matrix/3");
    assert_eq!(answer["pairs"].as_array().map(Vec::len), Some(2));
    args.retain(|a| *a != "--json");
    let output = lowtide(&args);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for wanted in ["Goodput of each pair alone", "dctcp", "healthy", "report.html", "digest"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(shown.contains("One seed has no intervals"), "{shown}");
}

#[test]
fn a_deployment_on_a_scenario_is_a_sentence_and_tables_of_80_columns() {
    let out = folder("matrix-on").join("out").display().to_string();
    let args = ["matrix", "--on", "leaf-spine", "--share", "sack,dctcp", "--points", "50,100"];
    let sets = ["-s", "traffic.background.flows=100", "-s", "traffic.queries.queries=1"];
    let rest = ["--seeds", "2", "--draw", "rack", "-o", &out];
    let args = [&args[..], &sets, &rest].concat();
    let output = lowtide(&args);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(shown.starts_with("When hosts move from sack to dctcp"), "{shown}");
    for wanted in ["32 hosts, drawn by rack", "before", "instead of dctcp", "needs 100", "10 kB"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    for line in shown.lines().filter(|line| !line.starts_with("report ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // Without another run, as JSON.
    let output = lowtide(&[&args[..], &["--json"]].concat());
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&answer["schema"], &answer["draw"]),
        (&"lowtide.deployment/2".into(), &"rack".into())
    );
    let rows = answer["rows"].as_array().expect("rows");
    let whole = |r: &&Value| r["sizes"] == "all";
    assert_eq!(rows.iter().filter(whole).map(|r| r["count"].as_u64().unwrap()).sum::<u64>(), 600);
    assert!(
        rows.iter().filter(whole).all(|r| r["comparison"].is_null() == (r["share_percent"] == 0.0))
    );
}

#[test]
fn invalid_requests_are_status_2_with_help() {
    let dir = folder("matrix-bad");
    let bad = dir.join("bad.toml");
    fs::write(&bad, "[collapsed-window]\nwindows = 3\n").expect("a file");
    let (bad, none) = (bad.display().to_string(), dir.join("none.toml").display().to_string());
    let refused = |args: &[&str], wanted: &str| {
        let output = lowtide(&[&["matrix"], args].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(message.contains(wanted), "{args:?}: {message}");
        assert!(output.stdout.is_empty());
    };
    refused(&["--thresholds", &bad], "unknown field `windows`, expected `window`");
    refused(&["--thresholds", &none], "--print thresholds");
    refused(&["--senders", "dctpc"], "there is no scheme or profile `dctpc`");
    refused(&["--senders", "dctcp+cwr=maybe"], "cwr");
    refused(&["--on", "leaf-spine", "--share", "sack"], "--share takes two schemes");
    refused(&["--share", "sack,dctcp"], "`lowtide matrix --on leaf-spine --share sack,dctcp`");
    refused(&["my setup.toml", "--share", "a,b"], "--on 'my setup.toml' --share a,b`");
    let on = |more: &[&str], wanted: &str| {
        refused(&[&["--on", "leaf-spine", "--share", "sack,dctcp"], more].concat(), wanted);
    };
    on(&["--points", "30"], "28.125 % (9 hosts) and 31.25 % (10 hosts)");
    on(&["--points", "0,130"], "130 % is not a share");
    on(&["-s", "deployment.hosts=clients"], "no host group `clients`");
    on(&["--thresholds", &bad], "unknown field `windows`");
    refused(&["--on", "leaf-spine"], "--share");
    refused(&["--on", "leaf-spin", "--share", "sack,dctcp"], "leaf-spine");
    refused(
        &["--on", "leaf-spine", "--share", "sack,dctpc"],
        "there is no scheme or profile `dctpc`",
    );
    refused(&["first-light"], "first-light");
    refused(&["-s", "switch.mark.kk=3"], "`k`");
}
