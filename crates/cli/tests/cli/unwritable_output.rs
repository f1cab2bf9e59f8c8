//! Outputs that cannot be written: stderr, stdout, result files. The judge is the exit status that
//! a shell sees. `/dev/full` answers every write with ENOSPC.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `script` in a shell, in its own folder. `$L` is the command.
fn shell(script: &str, folder: &Path) -> Output {
    Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .env("L", env!("CARGO_BIN_EXE_lowtide"))
        .output()
        .expect("bash runs")
}

#[test]
fn the_exit_status_does_not_depend_on_stderr() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.toml"), "schema = 1\ntitle = 3\n").unwrap();
    fs::write(folder.path().join("bad.pkt"), "not a script\n").unwrap();
    for (command, status) in [
        ("run nosuch", 2),
        ("check bad.toml", 2),
        ("nosuch", 2),
        ("packetdrill bad.pkt", 2),
        ("explain nothing", 2),
        ("analyze nosuch.pcap", 2),
        ("table nodir flows", 2),
        ("report nodir", 2),
        ("import sonic nofile", 2),
        ("export sonic leaf-spine --ports 'a b'", 2),
        ("export sonic leaf-spine -s switch.mark.not-ect=drop", 0),
        ("run first-light -q -o a", 0),
        ("run first-light --progress lines -o b", 0),
        ("run first-light -o c --json", 0),
        ("list", 0),
    ] {
        for stderr in ["2>/dev/null", "2>/dev/full", "2>&-", "2> >(exec true)"] {
            let script = format!("\"$L\" {command} >/dev/null {stderr}");
            let output = shell(&script, folder.path());
            assert_eq!(output.status.code(), Some(status), "{script}: {output:?}");
        }
    }
}

#[test]
fn a_full_stdout_is_one_sentence_and_a_closed_one_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        "list",
        "--help",
        "run --help",
        "--version",
        "show first-light",
        "new star",
        "schema",
        "completions bash",
        "explain dctcp",
        "list --json",
        "check first-light",
        "cite dctcp",
        "run first-light -q -o a",
        "run first-light --json -o b",
        "export junos leaf-spine --queue-memory '400 kB'",
    ] {
        let full = shell(&format!("\"$L\" {command} >/dev/full"), folder.path());
        let text = String::from_utf8_lossy(&full.stderr).into_owned();
        assert_eq!(full.status.code(), Some(2), "{command}: {text}");
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: cannot write to stdout: No space left"), "{text}");
        let both = shell(&format!("\"$L\" {command} >/dev/full 2>/dev/full"), folder.path());
        assert_eq!(both.status.code(), Some(2), "{command}");
        for closed in ["| exec true", "| head -c 1", ">&-"] {
            let script = format!("set -o pipefail; \"$L\" {command} {closed}");
            let output = shell(&script, folder.path());
            assert!(output.status.success(), "{script}: {output:?}");
        }
    }
}

/// A limit of the file size is a full disk that needs no root: SIGXFSZ is ignored, so that writes
/// fail with EFBIG.
#[test]
fn a_result_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ran = shell("\"$L\" run first-light -q -o run >/dev/null", folder.path());
    assert!(ran.status.success(), "{ran:?}");
    fs::write(folder.path().join("file"), "").unwrap();
    for (command, made) in [
        ("run first-light -q -o new", "new/manifest.json"),
        ("report run", "none"),
        ("bundle run -o run.tgz", "run.tgz"),
        ("pcap run --flow 0 -o flow.pcapng", "flow.pcapng"),
        ("plot run --flow 0 -o plots", "plots/none"),
        ("man man1", "man1/lowtide-run.1"),
    ] {
        let script = format!("trap '' XFSZ; ulimit -f 1; \"$L\" {command} 2>&1 >/dev/null | cat");
        let script = format!("set -o pipefail; {script}");
        let output = shell(&script, folder.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.contains("File too large"), "{command}: {text}");
        assert!(!folder.path().join(made).exists(), "{command}");
    }
    for command in ["run first-light -q -o file/x", "man file/x", "bundle run -o file/x.tgz"] {
        let output = shell(&format!("\"$L\" {command}"), folder.path());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.contains("error: cannot "), "{command}: {text}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
    let is_temporary = |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e == "tmp");
    assert!(left.iter().find(is_temporary).is_none(), "{left:?}");
}
