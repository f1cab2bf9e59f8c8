//! Every output names the transport that ran: terminal, JSON, report, figures, `plot`, `explain`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Two endless flows at 1 Gbit/s with two schemes.
const TWO: &str = r#"
schema = 1
title = "Two flows by DCTCP"
[run]
duration = "20 ms"
warmup = "5 ms"
end = "duration"
[topology]
kind = "star"
link-rate = "1 Gbit/s"
link-delay = "20 us"
[switch]
buffer = "100 pkt"
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
[probes]
interval = "1 ms"
[compare]
schemes = ["dx", "dctcp"]
"#;

struct TestDir(PathBuf);

impl TestDir {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ran").join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join("two.toml"), TWO).expect("a file");
        Self(dir)
    }

    fn lowtide(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        let output: Output = command.args(args).current_dir(&self.0).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    /// Runs the scenario with `set`. Returns terminal output, JSON and report.
    fn run(&self, set: &[&str]) -> (String, Value, String) {
        let set: Vec<&str> = set.iter().flat_map(|s| ["-s", s]).collect();
        let run = [&["run", "two.toml", "-q", "-o", "out"][..], &set].concat();
        let shown = self.lowtide(&run);
        let answer = self.lowtide(&[&run[..], &["--json"]].concat());
        let answer = serde_json::from_str(&answer).expect("JSON");
        (shown, answer, self.read("out/report.html"))
    }

    /// Text of all figures of the directory.
    fn figures(&self) -> String {
        let names = fs::read_dir(self.0.join("out/figures")).expect("figures");
        let names = names.map(|e| e.expect("a file").path());
        names.map(|path| fs::read_to_string(path).expect("text")).collect::<Vec<_>>().join("\n")
    }
}

/// Asserts that terminal, report and figures show `label`, and no column is `scheme` alone.
#[track_caller]
fn assert_label(place: &TestDir, shown: &str, report: &str, scheme: &str, label: &str) {
    let head = shown.lines().find(|line| line.starts_with("flows ")).expect("a table of means");
    assert!(head.contains(label), "{shown}");
    assert!(report.contains(&format!("<th>{label}</th>")), "{label} heads no column");
    assert!(!report.contains(&format!("<th>{scheme}</th>")), "{scheme} heads a column");
    let title = report.lines().find(|l| l.starts_with("<h1>")).expect("a title");
    assert!(title.contains(label), "{title}");
    let figures = place.figures();
    let says = |text: &str| figures.lines().any(|line| line.trim() == text);
    assert!(says(label) && !says(scheme), "a legend says {scheme}, or none {label}");
}

#[track_caller]
fn assert_mismatch_note(shown: &str, answer: &Value, report: &str, mismatch: &Value) {
    let mismatches = answer["mismatches"].as_array().expect("a list");
    let keys = mismatch.as_object().expect("an object");
    let same = |f: &&Value| keys.iter().all(|(key, value)| f[key] == *value);
    let found =
        mismatches.iter().find(same).unwrap_or_else(|| panic!("{mismatch} in {mismatches:?}"));
    let text = found["text"].as_str().expect("a sentence");
    assert!(shown.contains(&format!("note: {text}\n")), "{shown}");
    assert!(report.contains(&format!("<li>{text}</li>")), "{text}");
}

#[test]
fn dx_without_the_delay_option_is_labelled_newreno() {
    let place = TestDir::new("dx");
    let set = ["hosts.receivers.connection.delay-option=false"];
    let (shown, answer, report) = place.run(&set);
    let label = "dx (ran newreno)";
    assert_eq!(answer["labels"], json!({"dx": label, "dctcp": "dctcp"}));
    assert_label(&place, &shown, &report, "dx", label);
    let cc = json!({"kind": "cc", "scheme": "dx", "asked": "dx", "used": "newreno", "flows": 2, "of": 2});
    assert_mismatch_note(&shown, &answer, &report, &cc);
    let why = json!({"kind": "settings", "switch": "delay-option", "hosts": ["receivers"]});
    assert_mismatch_note(&shown, &answer, &report, &why);
    assert!(shown.contains("ran dx: newreno, ECN off; dctcp: dctcp, ECN rfc3168\n"), "{shown}");
    let ran = &answer["runs"][0]["groups"][0]["transports"];
    let wanted = json!([{"cc": "dx", "cc_used": "newreno", "ecn_requested": "off", "ecn_mode": "off",
                        "delay_option": false, "flows": 2}]);
    assert_eq!(*ran, wanted);
    let explained = place.lowtide(&["explain", "out", "--flow", "0", "--scheme", "dx"]);
    assert!(
        explained.contains("congestion control newreno (asked for: dx), ECN off (asked for: off)"),
        "{explained}"
    );
    place.lowtide(&["plot", "out", "--flow", "0", "--scheme", "dx", "-o", "flow"]);
    let plot = place.read("flow/flow-0-dx.svg");
    assert!(plot.contains("dx: flow 0 (pair, senders.0 to receivers.0), ran newreno, ECN off"));
}

#[test]
fn an_allowed_mismatch_is_reported() {
    let place = TestDir::new("mismatch");
    let set = ["hosts.receivers.connection.ecn=off", "run.allow-mismatch=true"];
    let (shown, answer, report) = place.run(&set);
    let label = "dctcp (ran newreno, ECN off)";
    assert_eq!(answer["labels"], json!({"dx": "dx", "dctcp": label}));
    assert_label(&place, &shown, &report, "dctcp", label);
    let cc = json!({"kind": "cc", "scheme": "dctcp", "used": "newreno", "flows": 2, "of": 2});
    assert_mismatch_note(&shown, &answer, &report, &cc);
    let ecn = json!({"kind": "ecn", "asked": "rfc3168", "used": "off", "flows": 2, "of": 2});
    assert_mismatch_note(&shown, &answer, &report, &ecn);
    assert!(!place.figures().contains("DCTCP's alpha"), "nothing was governed by alpha");
    let explained = place.lowtide(&["explain", "out", "--flow", "0", "--scheme", "dctcp"]);
    assert!(explained.contains("ECN off (asked for: rfc3168)"), "{explained}");
    place.lowtide(&["plot", "out", "--flow", "0", "--scheme", "dctcp", "-o", "flow"]);
    assert!(place.read("flow/flow-0-dctcp.svg").contains("ran newreno, ECN off"));
}

#[test]
fn an_override_of_the_congestion_control_is_in_every_name() {
    let place = TestDir::new("override");
    let (shown, answer, report) = place.run(&["transport.sender.cc=cubic"]);
    let labels = json!({"dx": "dx (cc=cubic)", "dctcp": "dctcp (cc=cubic)"});
    assert_eq!(answer["labels"], labels);
    for (scheme, label) in [("dx", "dx (cc=cubic)"), ("dctcp", "dctcp (cc=cubic)")] {
        assert_label(&place, &shown, &report, scheme, label);
        let cc = json!({"kind": "settings", "scheme": scheme, "switch": "cc", "asked": scheme,
                        "used": "cubic", "hosts": [], "flows": 2});
        assert_mismatch_note(&shown, &answer, &report, &cc);
    }
    assert!(shown.contains("dctcp: cubic, ECN rfc3168\n"), "{shown}");
    // `check` and `compare` show the label, too.
    let checked = place.lowtide(&["check", "two.toml", "-s", "transport.sender.cc=cubic"]);
    assert!(checked.contains("(dx (cc=cubic), dctcp (cc=cubic))"), "{checked}");
    place.lowtide(&["run", "two.toml", "-q", "-o", "plain"]);
    let compared = place.lowtide(&["compare", "plain", "out"]);
    assert!(compared.contains("dctcp | dctcp (cc=cubic)"), "{compared}");
    assert!(compared.contains("B: note: dctcp: settings replace its cc"), "{compared}");
}

#[test]
fn a_matrix_names_the_cells_that_ran_another_control() {
    let place = TestDir::new("matrix");
    let ask = ["matrix", "-q", "--senders", "dx,dctcp", "--receivers", "dx,sack"];
    let ask = [&ask[..], &["--neighbours", "none", "--seeds", "1", "-o", "out"]].concat();
    let shown = place.lowtide(&ask);
    let ran = |not: &str, cells: &str| {
        let mut lines = shown.lines().filter(|l| l.contains("ran newreno"));
        lines.any(|l| l.contains(not) && l.contains(cells))
    };
    assert!(ran("not dctcp", "dctcp > dx, dctcp > sack"), "{shown}");
    assert!(ran("not dx", "dx > sack"), "{shown}");
    let report = place.read("out/report.html");
    assert!(report.contains("<td class=\"name\">ran newreno</td><td class=\"why\">not dctcp</td>"));
    let answer = place.lowtide(&[&ask[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    for pair in answer["pairs"].as_array().expect("pairs") {
        let signals = &pair["pair"]["signals"];
        let used =
            if pair["sender"] == pair["receiver"] { &signals["cc"] } else { &json!("newreno") };
        assert_eq!(signals["cc_used"], *used, "{pair}");
    }
}
