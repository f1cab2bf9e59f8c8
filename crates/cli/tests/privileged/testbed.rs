//! `lowtide run --backend`, `compare` over backends and `lowtide testbed` as processes.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// Two senders and a receiver, 200 kB each, at 40 Mbit/s.
const SMALL: &str = r#"
schema = 1
title = "Small"
[run]
duration = "30 s"
end = "done"
[topology]
kind = "star"
link-rate = "40 Mbit/s"
link-delay = "100 us"
[switch]
buffer = "200 pkt"
[switch.mark]
kind = "step"
k = "10 pkt"
[transport]
profile = "linux"
[hosts.senders]
count = 2
[hosts.receivers]
count = 1
[traffic.bulk]
kind = "transfers"
from = "senders"
to = "receivers"
count = 2
size = "200 kB"
[compare]
schemes = ["ecn", "odctcp"]
"#;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(args).current_dir(folder);
    command
}

fn lowtide(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("the command starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("small.toml"), SMALL).expect("a file");
    folder
}

pub(crate) fn a_run_on_real_packets_fills_the_directory_of_a_simulation() {
    let folder = folder();
    let at = folder.path();
    let ran = json(&lowtide(at, &["run", "small.toml", "--backend", "live", "-o", "r", "--json"]));
    assert_eq!(ran["runs"].as_array().map(Vec::len), Some(2));
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(at.join("r/manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest["backend"]["name"], "live");
    assert!(manifest["runs"][0]["measured"]["packets"].as_u64() > Some(300));
    // Complete results are not measured again.
    let again =
        json(&lowtide(at, &["run", "small.toml", "--backend", "live", "-o", "r", "--json"]));
    assert_eq!(again["digest"], ran["digest"]);
    let other = lowtide(at, &["run", "small.toml", "-o", "r"]);
    assert!(stderr(&other).contains("live on Linux"), "{}", stderr(&other));
    let report = lowtide(at, &["report", "r"]);
    assert!(report.status.success(), "{}", stderr(&report));
    let page = fs::read_to_string(at.join("r/report.html")).unwrap();
    assert!(page.contains("Real packets") && page.contains("live on Linux"), "the page names it");
    let table = lowtide(at, &["table", "r", "flows", "--csv"]);
    assert_eq!(String::from_utf8_lossy(&table.stdout).lines().count(), 5);
    let plot = lowtide(at, &["plot", "r", "--flow", "0"]);
    assert!(stderr(&plot).contains("it ran on real packets"), "{}", stderr(&plot));
}

pub(crate) fn one_scenario_is_compared_over_backends() {
    let folder = folder();
    let args = ["compare", "small.toml", "--backends", "sim,live", "--json", "--seeds", "2"];
    let found = json(&lowtide(folder.path(), &args));
    let names: Vec<_> = found["columns"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["sim", "live"]);
    let lines = found["lines"].as_array().unwrap();
    let fct = lines.iter().find(|l| l["metric"] == "fct_ms.mean" && l["scheme"] == "odctcp");
    let fct = fct.expect("its transfer times are compared");
    let value = |of: &Value| of["value"].is_f64();
    assert!(value(&fct["first"]) && value(&fct["others"][0]["b"]), "{fct:#}");
    let text = lowtide(
        folder.path(),
        &["compare", "small.toml", "--backends", "sim,live", "--seeds", "2"],
    );
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("fct_ms.mean") && text.contains("ratio to `sim`"), "{text}");
}

pub(crate) fn queries_are_compared_over_backends() {
    let folder = folder();
    let asks = "kind = \"requests\"\nfrom = \"receivers\"\nto = \"senders\"\nqueries = 20";
    let text = SMALL
        .replace("kind = \"transfers\"\nfrom = \"senders\"\nto = \"receivers\"\ncount = 2", asks)
        .replace("size = \"200 kB\"", "answer = \"20 kB\"");
    fs::write(folder.path().join("asks.toml"), text).expect("a file");
    let args = ["compare", "asks.toml", "--backends", "sim,live", "--json", "--seeds", "2"];
    let found = json(&lowtide(folder.path(), &args));
    let lines = found["lines"].as_array().unwrap();
    let line = lines.iter().find(|l| l["metric"] == "qct_ms.mean" && l["scheme"] == "ecn");
    let line = line.expect("completion times of queries are compared");
    let (sim, live) = (&line["first"]["value"], &line["others"][0]["b"]["value"]);
    // 20 kB take 4 ms at 40 Mbit/s.
    assert!(sim.as_f64() > Some(4.0) && live.as_f64() > Some(4.0), "{line:#}");
}

pub(crate) fn conflicting_options_are_rejected() {
    let folder = folder();
    for (args, why) in [
        (&["run", "small.toml", "--kernel-hosts", "senders"] as &[&str], "--backend live"),
        (&["run", "small.toml", "--backend", "live", "--our-hosts", "x"], "--backend kernel"),
        (
            &["run", "small.toml", "--backend", "live", "--kernel-hosts", "x"],
            "no host or group of hosts `x`",
        ),
        (&["run", "small.toml", "--kernel-cc", "a=b"], "--backend kernel"),
        (&["run", "small.toml", "--tries", "3"], "--backend live"),
        (&["testbed", "run", "small.toml", "--tries", "3"], "--tries"),
        (
            &["run", "small.toml", "--bottleneck", "kernel"],
            "`--bottleneck` needs `--backend kernel",
        ),
        (
            &["testbed", "run", "small.toml", "--bottleneck", "kernel"],
            "`--bottleneck` is an option of `lowtide testbed up`",
        ),
        (
            &["run", "queue-buildup", "--backend", "live", "-s", "topology.link-rate=10 Gbit/s"],
            "2 Gbit/s",
        ),
        (&["testbed", "run", "small.toml", "--backend", "live"], "all hosts have the kernel's"),
    ] {
        let output = lowtide(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{args:?}: {}", stderr(&output));
    }
}

pub(crate) fn without_root_the_kernel_backend_names_its_needs() {
    let folder = folder();
    let (at, nobody) = (folder.path(), 65_534);
    // The build folder may be closed to other users.
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("the folder is ours");
    let program = at.join("lowtide");
    fs::copy(env!("CARGO_BIN_EXE_lowtide"), &program).expect("room for a copy");
    let error = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).current_dir("/").uid(nobody).gid(nobody);
        let output = command.output().expect("the command starts");
        let why = stderr(&output);
        assert!(!output.status.success() && why.contains("that takes root"), "{args:?}: {why}");
        why
    };
    let args = ["run", "queue-buildup-100m", "--backend", "kernel", "-o", "/nonexistent/r"];
    let why = error(&[&args[..], &["-s", "compare.schemes=[\"ecn\"]"]].concat());
    assert!(why.contains("--backend live"), "{why}");
    for args in [&["testbed", "up", "queue-buildup-100m"][..], &["testbed", "down"]] {
        assert!(error(args).contains("CAP_SYS_ADMIN and CAP_NET_ADMIN"));
    }
    let script = at.join("x.pkt");
    fs::write(&script, "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n").expect("a file");
    let why = error(&["packetdrill", "--against", "kernel", &script.display().to_string()]);
    assert!(why.contains("cannot create a network namespace"), "{why}");
    assert!(why.contains("CAP_SYS_ADMIN") && why.lines().count() == 2, "{why}");
}

/// A testbed that runs in the background.
struct Up(Child);

impl Up {
    fn make(folder: &Path) -> (Self, Value) {
        let mut child =
            command(folder, &["testbed", "up", "small.toml", "--below", "bed", "--json"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("the command starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut text = String::new();
        for line in lines.by_ref() {
            let line = line.expect("a line");
            text.push_str(&line);
            if line == "}" {
                break;
            }
        }
        let mut up = Self(child);
        let said = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}", up.stderr()));
        (up, said)
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        let _ = self.0.kill();
        if let Some(mut pipe) = self.0.stderr.take() {
            let _ = pipe.read_to_string(&mut text);
        }
        text
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Names of the existing namespaces.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("bed/netns")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const NAMES: [&str; 3] = ["lowtide-receivers.0", "lowtide-senders.0", "lowtide-senders.1"];

pub(crate) fn a_testbed_goes_up_runs_and_goes_down() {
    let folder = folder();
    let at = folder.path();
    let ecn = ["-s", "compare.schemes=[\"ecn\"]"];
    let none = lowtide(at, &["testbed", "run", "small.toml", "--below", "bed", ecn[0], ecn[1]]);
    assert!(stderr(&none).contains("no testbed is up"), "{}", stderr(&none));
    let (mut up, said) = Up::make(at);
    assert_eq!(names(at), NAMES);
    assert_eq!(said["hosts"][2]["address"], "10.66.0.3");
    let second = lowtide(at, &["testbed", "up", "small.toml", "--below", "bed"]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("a testbed is up already"), "{}", stderr(&second));
    let ran = lowtide(
        at,
        &["testbed", "run", "small.toml", "--below", "bed", "-o", "r", ecn[0], ecn[1], "--json"],
    );
    let ran = json(&ran);
    assert_eq!(ran["runs"][0]["groups"][0]["failed"], 0);
    assert!(ran["runs"][0]["groups"][0]["fct_ms"]["mean"].is_f64(), "{ran:#}");
    let other = ["-s", "topology.link-rate=20 Mbit/s"];
    let other = lowtide(
        at,
        &["testbed", "run", "small.toml", "--below", "bed", ecn[0], ecn[1], other[0], other[1]],
    );
    assert!(stderr(&other).contains("another one"), "{}", stderr(&other));
    let down = json(&lowtide(at, &["testbed", "down", "--below", "bed", "--json"]));
    assert_eq!(down["ended"], said["pid"]);
    assert!(names(at).is_empty() && up.0.wait().expect("it ends").success());
    let down = json(&lowtide(at, &["testbed", "down", "--below", "bed", "--json"]));
    assert_eq!((down["ended"].as_u64(), down["removed"].as_array().map(Vec::len)), (None, Some(0)));
}

pub(crate) fn only_the_remains_of_a_killed_testbed_are_removed() {
    let folder = folder();
    let at = folder.path();
    let (mut up, _) = Up::make(at);
    up.0.kill().expect("it is there");
    up.0.wait().expect("it ends");
    assert_eq!(names(at), NAMES, "the names remain");
    // A name that lowtide did not create must not be touched.
    fs::write(at.join("bed/netns/lowtide-mine"), "x").unwrap();
    let (up, said) = Up::make(at);
    assert_eq!(said["removed"].as_array().map(Vec::len), Some(3), "{said:#}");
    drop(up);
    let down = json(&lowtide(at, &["testbed", "down", "--below", "bed", "--json"]));
    assert_eq!(down["removed"].as_array().map(Vec::len), Some(3), "{down:#}");
    assert_eq!(names(at), ["lowtide-mine"]);
    fs::remove_file(at.join("bed/netns/lowtide-mine")).unwrap();
    fs::write(at.join("bed/netns/lowtide-senders.1"), "x").unwrap();
    let taken = lowtide(at, &["testbed", "up", "small.toml", "--below", "bed"]);
    assert_eq!(taken.status.code(), Some(2));
    assert!(stderr(&taken).contains("did not make"), "{}", stderr(&taken));
    assert_eq!(names(at), ["lowtide-senders.1"]);
}
