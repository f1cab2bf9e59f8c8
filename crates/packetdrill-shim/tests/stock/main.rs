//! Runs every script that stock packetdrill supports over the shared object's C interface, as
//! packetdrill does: its clock, its numbers, its calls, at the end one RST for each connection,
//! then `free`. Every process draws addresses and ports anew, as packetdrill does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "tests print what they measured")]

mod connection;
mod play;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_packetdrill::script::Script;

/// Scripts that depend on an exact instant. packetdrill's clock advances by a microsecond with each
/// read, so a pause of one RTO is longer than an RTO, and a second RTT shorter than the minimum.
const TIMING_SENSITIVE: [&str; 3] = ["cwnd/idle-short.pkt", "tlp/tail-of-two.pkt", "tlp/wrap.pkt"];

/// Scripts with their names, sorted.
fn scripts() -> Vec<(String, PathBuf)> {
    fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, out);
            } else if path.extension().is_some_and(|e| e == "pkt") {
                out.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packetdrill/scripts");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let name = |path: &Path| path.strip_prefix(&root).expect("a name").display().to_string();
    paths.into_iter().map(|path| (name(&path), path)).collect()
}

/// The script as `--stock` prints it; `None` if it is refused.
fn stock(name: &str, path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).expect("a script");
    Script::parse(name, &text).expect("a script").for_stock().ok()
}

/// Helper process of the tests below: plays the scripts from a given index.
#[test]
#[ignore = "run by the tests below, in a separate process"]
fn child() {
    let number =
        |name: &str| -> usize { std::env::var(name).expect("a number").parse().expect("a number") };
    let (from, draw) = (number("LOWTIDE_FROM"), number("LOWTIDE_DRAW"));
    let read_clock = number("LOWTIDE_LOOK") == 1;
    for (name, path) in scripts().iter().skip(from) {
        let Some(text) = stock(name, path) else { continue };
        eprintln!("script {name}");
        let script = Script::parse(name, &text).expect("what --stock printed");
        match play::play(&script, draw as u16, read_clock) {
            Ok(()) => eprintln!("ended {name}"),
            Err(why) => eprintln!("failed {name}: {why}"),
        }
    }
    eprintln!("all played");
}

/// Result of one script.
#[derive(Debug, PartialEq, Eq)]
struct ScriptRun {
    name: String,
    digest: Option<String>,
    /// The difference, or the error that ended the process.
    fault: Option<String>,
}

fn run_all(draw: u16, read_clock: bool) -> Vec<ScriptRun> {
    let names: Vec<String> = scripts().into_iter().map(|(name, _)| name).collect();
    let mut out: Vec<ScriptRun> = Vec::new();
    let mut from = 0;
    loop {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child", "--ignored", "--nocapture"])
            .env("LOWTIDE_FROM", from.to_string())
            .env("LOWTIDE_DRAW", draw.to_string())
            .env("LOWTIDE_LOOK", u8::from(read_clock).to_string())
            .output()
            .expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let mut surplus = Vec::new();
        for line in stderr.lines() {
            if let Some(name) = line.strip_prefix("script ") {
                out.push(ScriptRun { name: name.to_string(), digest: None, fault: None });
                surplus.clear();
            } else if let Some(digest) = line.strip_prefix("lowtide: packets ") {
                out.last_mut().expect("a script").digest = Some(digest.to_string());
            } else if let Some(why) = line.strip_prefix("failed ") {
                out.last_mut().expect("a script").fault = Some(why.to_string());
            } else if line.starts_with("lowtide: ") {
                surplus.push(line.to_string());
            }
        }
        if stderr.lines().any(|line| line == "all played") {
            return out;
        }
        let last = out.last_mut().unwrap_or_else(|| panic!("{stderr}"));
        last.fault = Some(format!("ended the process: {}", surplus.join("; ")));
        from = 1 + names.iter().position(|name| *name == last.name).expect("its name");
    }
}

#[test]
fn every_stock_script_passes_with_a_stable_digest() {
    let first = run_all(1, false);
    let exact = |ran: &&ScriptRun| TIMING_SENSITIVE.contains(&ran.name.as_str());
    let faults: Vec<String> = first
        .iter()
        .filter(|ran| !exact(ran))
        .filter_map(|ran| Some(format!("{}: {}", ran.name, ran.fault.as_ref()?)))
        .collect();
    assert!(faults.is_empty(), "{} of {}\n{}", faults.len(), first.len(), faults.join("\n"));
    assert!(first.iter().filter(exact).all(|ran| ran.fault.is_some()), "one of these passes now");
    let refused = scripts().iter().filter(|(name, path)| stock(name, path).is_none()).count();
    assert_eq!(first.len() + refused, scripts().len());
    assert!(first.len() >= 600, "only {} scripts", first.len());
    assert!(first.iter().filter(|ran| !exact(ran)).all(|ran| ran.digest.is_some()));
    // Other addresses and ports, as packetdrill draws them in each process.
    for (a, b) in first.iter().zip(&run_all(2, false)) {
        assert_eq!(a, b);
    }
}

/// Scripts whose closing RST gets a challenge ACK (RFC 5961 §3.2). A challenge ACK for an RST of
/// the script is unexpected, and ends the process.
#[test]
fn challenge_acks_to_a_script_rst_are_unexpected() {
    let aborted: Vec<String> = run_all(1, true)
        .into_iter()
        .filter(|ran| ran.fault.as_ref().is_some_and(|why| why.contains("that no line expects")))
        .map(|ran| ran.name)
        .collect();
    for name in [
        "blind/syn-in-window.pkt",
        "close/data-beyond-fin.pkt",
        "dctcp/ce-out-of-order-while-pending.pkt",
        "options/passive-sack.pkt",
        "reassembly/data-after-fin.pkt",
        "sack/four-blocks.pkt",
        "timestamps/paws-sequence-reuse.pkt",
        "window/receiver-reopens.pkt",
    ] {
        assert!(aborted.iter().any(|other| other == name), "{name} has no challenge ACK");
    }
    assert!(aborted.len() >= 27, "{aborted:?}");
}

/// Calls that no script uses, and errors that the player must detect.
#[test]
fn differences_are_reported_with_their_line() {
    let played = |line: &str| {
        let text = format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 ioctl(3, SIOCINQ, [0]) = -1 EINVAL
+.1 < S 0:0(0) win 65535 <mss 1000,nop,nop,sackOK>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 < P. 1:1001(1000) ack 1 win 65535
+0 ioctl(4, SIOCINQ, [1000]) = 0
+0 read(4, ..., 300) = 300
{line}
"
        );
        let text = Script::parse("x", &text).expect("a script").for_stock().expect("for stock");
        play::play(&Script::parse("x", &text).expect("a script"), 1, false)
    };
    for (line, fault) in [
        ("* > . 1:1(0) ack 1001", None),
        ("+0 ioctl(4, FIONREAD, [701]) = 0\n* > . 1:1(0) ack 1001", Some("gave 700, expected 701")),
        ("* > . 1:1(0) ack 1002", Some("ack: Some(1001)")),
        ("* > . 1:1(0) ack 1001 <nop,nop,sack 1:2>", Some("options []")),
        ("+.1 > . 1:1(0) ack 1001", Some(" us, expected from ")),
        ("+0 read(4, ..., 900) = 900", Some("gave Ok(700)")),
        ("* > . 1:1(0) ack 1001\n* > . 1:1(0) ack 1001", Some("no packet was sent")),
    ] {
        let why = played(line).err();
        assert_eq!(why.is_some(), fault.is_some(), "{line}: {why:?}");
        let (why, fault) = (why.unwrap_or_default(), fault.unwrap_or_default());
        assert!(why.contains(fault), "{line}: {why}");
    }
}
