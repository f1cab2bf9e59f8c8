//! `lowtide packetdrill` as a process: output and exit status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn lowtide(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates a folder for this test with these scripts.
fn folder(name: &str, scripts: &[(&str, &str)]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    for (file, text) in scripts {
        let path = dir.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    dir
}

const GOOD: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 assert state == CLOSED\n";
const WRONG: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 close(3) = -1 EBADF\n";
const BAD: &str = "0 frobnicate(3) = 0\n";

#[test]
fn folders_are_searched_and_all_passing_is_status_0() {
    let dir = folder("pass", &[("b.pkt", GOOD), ("a/c.pkt", GOOD), ("notes.txt", BAD)]);
    let output = lowtide(&["packetdrill", &dir.display().to_string()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("ok ") && lines[0].ends_with("c.pkt"), "{text}");
    assert!(lines[1].ends_with("b.pkt"), "{text}");
    assert_eq!(lines[2], "2 scripts: 2 ok, 0 failed, 0 refused");
}

#[test]
fn a_failed_script_is_status_1_and_a_refused_one_is_status_2() {
    let dir = folder("fail", &[("good.pkt", GOOD), ("wrong.pkt", WRONG)]);
    let output = lowtide(&["packetdrill", &dir.display().to_string()]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("wrong.pkt:2: this call returned another value"), "{text}");
    assert!(text.contains("expected: -1 EBADF"), "{text}");

    let dir = folder("bad", &[("bad.pkt", BAD), ("wrong.pkt", WRONG)]);
    let output = lowtide(&["--json", "packetdrill", &dir.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["schema"], "lowtide.packetdrill/1");
    assert_eq!((&answer["failed"], &answer["refused"]), (&1.into(), &1.into()));
    assert_eq!(answer["scripts"][0]["verdict"], "refused");
    assert_eq!(answer["scripts"][0]["failure"]["message"], "`frobnicate` is not supported");
    assert_eq!(answer["scripts"][1]["failure"]["got"], "0");

    let output = lowtide(&["packetdrill", "no-such-file.pkt"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn settings_of_the_command_line_come_last() {
    let text = format!("--so_flags=\"profile=rfc\"\n{GOOD}");
    let dir = folder("settings", &[("one.pkt", &text)]);
    let path = dir.join("one.pkt").display().to_string();
    let output = lowtide(&["packetdrill", "--so-flags", "profile=solaris", &path]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
}
