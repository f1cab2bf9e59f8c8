//! `lowtide testbed uml`: each test boots a machine, which takes several seconds.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use lowtide_test_needs::Need;
use serde_json::Value;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["testbed", "uml", "--limit", "60s"]).args(args);
    command
}

fn uml(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// User Mode Linux 6.1 crashes on CPUs with AMX; no package changes that.
pub(crate) const REGISTERS: Need = Need {
    name: "a User Mode Linux that can restore the registers of this CPU",
    probe: || {
        let dies = stderr(&uml(&["--", "--version"])).contains("XSAVE");
        if dies { Err("it dies at its first process".into()) } else { Ok(()) }
    },
    enforceable: false,
};

pub(crate) fn without_a_kernel_it_says_where_to_get_one() {
    let output = command(&["--", "list"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("apt-get install"), "{}", stderr(&output));
    let output = uml(&["--kernel", "/bin/true", "--", "list"]);
    assert!(stderr(&output).contains("modules"), "{}", stderr(&output));
    for args in [&["list"] as &[&str], &["--memory", "1 MB", "--", "list"], &[]] {
        assert_eq!(uml(args).status.code(), Some(2), "{args:?}");
    }
    // The command of the first process is refused outside of a machine.
    let guest = ["testbed", "uml-guest", "/tmp"];
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide")).args(guest).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// Our DCTCP and that of Linux interoperate in both directions. The kernel accepts ECN on a SYN
/// with ECT, as only DCTCP does.
pub(crate) fn our_dctcp_and_the_kernels_interoperate() {
    for role in ["client", "server"] {
        let mut args = vec!["--", "live", role, "--peer", "kernel", "-n", "500K", "-i", "0", "-J"];
        args.extend(["--kernel-cc", "dctcp", "--kernel-ecn", "on", "--scheme", "dctcp"]);
        let output = uml(&args);
        assert!(output.status.success(), "{role}: {}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["kernel"], serde_json::json!(["dctcp", "1"]));
        assert_eq!((&result["bytes"], &result["checksums_agree"]), (&512_000.into(), &true.into()));
        let ours = if role == "client" { &result["streams"] } else { &result["served"] };
        assert_eq!(ours[0]["transport"]["ecn"], "Classic", "{ours}");
        assert_eq!(ours[0]["transport"]["cc"], "dctcp", "{ours}");
    }
}

pub(crate) fn files_output_and_status_are_those_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let run = |out: &str| {
        let args = ["--", "run", "first-light", "--seeds", "1", "--json", "-o", out];
        command(&args).current_dir(&inside).output().unwrap()
    };
    let good = run("results");
    assert!(good.status.success(), "{}", stderr(&good));
    let result: Value = serde_json::from_slice(&good.stdout).unwrap();
    assert!(result["digest"].is_string());
    assert!(inside.join("results/report.html").is_file());
    // Other folders are read-only.
    let bad = run("../outside/results");
    assert_eq!(bad.status.code(), Some(1));
    assert!(stderr(&bad).contains("Read-only"), "{}", stderr(&bad));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// Number of processes of the machine whose folder is `folder`.
fn alive(folder: &str) -> usize {
    let lines = fs::read_dir("/proc").expect("there is /proc").flatten();
    let lines = lines.filter_map(|e| fs::read(e.path().join("cmdline")).ok());
    lines.filter(|l| String::from_utf8_lossy(l).contains(folder)).count()
}

/// A command that is killed leaves only a folder, which the next one removes.
pub(crate) fn a_machine_ends_with_its_parent_process() {
    let parent = tempfile::tempdir().unwrap();
    let parent = parent.path();
    let mut child = command(&["--", "live", "client", "--peer", "kernel", "-t", "60", "-i", "0.1"])
        .env("TMPDIR", parent)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(line.contains("Mbit/s"), "the transfer runs: {line}");
    let text = parent.to_str().unwrap();
    assert!(alive(text) > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    for _ in 0..1_000 {
        if alive(text) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(alive(text), 0, "the machine has ended");
    assert_eq!(fs::read_dir(parent).unwrap().count(), 1, "its folder is left");
    let mut next = command(&["--", "list", "cc"]);
    assert!(next.env("TMPDIR", parent).output().unwrap().status.success());
    assert_eq!(fs::read_dir(parent).unwrap().count(), 0, "both folders are removed");
}

/// Both ends have the DCTCP of User Mode Linux, which the host's kernel may lack. The network is
/// ours.
const TWO_FLOWS: &str = r#"
schema = 1
title = "Two DCTCP flows on a slow line"
run = { duration = "2 s", end = "duration" }
topology = { kind = "star", link-rate = "4 Mbit/s", link-delay = "1 ms" }
switch = { buffer = "200 pkt", mark = { kind = "step", k = "10 pkt" } }
transport = { profile = "linux" }
hosts = { senders = { count = 2 }, receivers = { count = 1 } }
traffic.long = { kind = "transfers", from = "senders", to = "receivers", count = 2, size = "unlimited" }
compare = { schemes = ["dctcp"] }
"#;

pub(crate) fn a_scenario_runs_on_the_kernel_inside() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("two.toml"), TWO_FLOWS).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["run", "two.toml", "--seeds", "1", "--backend", "uml", "-o", "results", "--json"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["digest"].is_string(), "{result}");
    let manifest = fs::read(folder.join("results/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["backend"]["name"], "uml");
    // The kernel is not the one on which this test runs.
    let here = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let there = manifest["backend"]["kernel"].as_str().unwrap();
    assert!(!there.contains(here.trim()), "{there}");
    assert!(manifest["command"].as_str().unwrap().contains("--backend uml"), "{manifest}");
    let table = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["table", "results", "flows", "--csv"])
        .current_dir(folder)
        .output()
        .unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    let mut lines = table.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let mut flows = 0;
    for row in lines {
        flows += 1;
        assert_eq!((row[column("cc_used")], row[column("ecn")]), ("dctcp", "true"), "{table}");
        assert!(row[column("delivered_bytes")].parse::<u64>().unwrap() > 10_000, "{table}");
    }
    assert_eq!(flows, 2);
}
