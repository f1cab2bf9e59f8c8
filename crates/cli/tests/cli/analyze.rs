//! `lowtide analyze` as a process: input, output and exit status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn lowtide(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lowtide")).args(args).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Creates an empty folder for this test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder");
    path
}

/// Writes a capture of a run at its sender.
fn capture(folder: &Path) -> PathBuf {
    let (run, file) = (folder.join("run"), folder.join("flow.pcapng"));
    let (dir, path) = (run.to_str().expect("a path"), file.to_str().expect("a path"));
    let made = lowtide(&["-q", "run", "first-light", "--seeds", "1", "-o", dir]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let made = lowtide(&["pcap", dir, "--flow", "0", "--scheme", "dctcp", "-o", path]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    file
}

/// The clocks of a capture and of itself are one, and nothing is lost between them.
#[test]
fn two_captures_give_the_path_between_them() {
    let folder = folder("analyze-two");
    let file = capture(&folder);
    let path = file.to_str().expect("a path");
    let output = lowtide(&["analyze", path, path, "--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["schema"], "lowtide.path/1");
    assert_eq!(
        (&answer["clock"]["offset_ns"], &answer["clock"]["drift_ppm"]),
        (&0.0.into(), &0.0.into())
    );
    let directions = answer["directions"].as_array().expect("directions");
    assert_eq!(directions.len(), 2);
    assert!(directions.iter().all(|d| d["lost"] == 0 && d["segments"].as_u64() > Some(10)));
    let refused = lowtide(&["analyze", path, "-o", "x", path]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn a_capture_is_reported_as_text_json_and_page() {
    let folder = folder("analyze-told");
    let file = capture(&folder);
    let (path, out) = (file.to_str().expect("a path"), folder.join("told"));
    let output = lowtide(&["analyze", path]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report = text(&output.stdout);
    for part in ["1 connection; raw IP", "flow 0: ", "ECN             agreed, RFC 3168", "DCTCP"] {
        assert!(report.contains(part), "{part}: {report}");
    }
    // The answer is one line.
    assert!(
        report.lines().skip(1).all(|l| l.chars().count() <= 100 || l.starts_with(path)),
        "{report}"
    );

    let json =
        lowtide(&["--json", "analyze", path, "--flow", "0", "-o", out.to_str().expect("a path")]);
    let answer: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(answer["schema"], "lowtide.analysis/4");
    assert_eq!(
        answer["flows"][0]["directions"][0]["feedback"]["kind"].as_str().map(|k| &k[..5]),
        Some("dctcp")
    );
    let files: Vec<&str> =
        answer["files"].as_array().expect("files").iter().filter_map(Value::as_str).collect();
    assert_eq!(files.len(), 4, "{files:?}");
    assert!(files.iter().all(|f| Path::new(f).is_file()));
    let page = fs::read_to_string(out.join("analysis.html")).expect("the page");
    assert!(page.contains("<svg") && page.contains("Flow 0"));
    let again: Value =
        serde_json::from_slice(&fs::read(out.join("analysis.json")).expect("a file"))
            .expect("JSON");
    assert_eq!(again["flows"], answer["flows"]);

    let piped = Command::new(env!("CARGO_BIN_EXE_lowtide"))
        .args(["analyze", "-"])
        .stdin(Stdio::from(fs::File::open(&file).expect("the capture")))
        .output()
        .expect("it runs");
    assert_eq!(text(&piped.stdout).replacen("stdin", path, 1), report);

    let bytes = fs::read(&file).expect("the capture");
    let cut = folder.join("cut.pcapng");
    fs::write(&cut, &bytes[..bytes.len() / 2]).expect("it is written");
    let output = lowtide(&["analyze", cut.to_str().expect("a path")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("flow 0: "), "packets before the damage are reported");
    assert!(
        text(&output.stderr)
            .contains("was not read to its end: the file is cut short: the block at offset")
    );
}

#[test]
fn invalid_input_is_rejected_with_help() {
    let folder = folder("analyze-refused");
    let file = folder.join("text.pcap");
    fs::write(&file, "no capture").expect("it is written");
    let (file, folder) = (file.to_str().expect("a path"), folder.to_str().expect("a path"));
    for (args, status, message) in [
        (
            &["analyze", file][..],
            1,
            "text.pcap: this is neither pcap nor pcapng: the file begins with 6e 6f 20 63",
        ),
        (&["analyze", folder], 2, "is a directory, not a capture"),
        (&["analyze", "no-such-file.pcap"], 2, "cannot open no-such-file.pcap: "),
        (&["analyze", "-", "-o", folder], 2, "plots read the capture twice"),
        (&["analyze", file, "--top", "0"], 2, "expected a number of connections, at least 1"),
        (&["analyze", file, "--where", "size=3"], 2, "is none of host, port, cause"),
        (&["analyze", file, "--ss", file], 2, "it has no socket; give the output of `ss -tinO`"),
        (&["analyze", file, "--gain", "1.5"], 2, "expected a number above 0 and at most 1"),
    ] {
        let refused = lowtide(args);
        assert_eq!(refused.status.code(), Some(status), "{args:?}");
        assert!(text(&refused.stderr).contains(message), "{args:?}: {}", text(&refused.stderr));
    }
}

/// A classic pcap file of raw IP with one data packet of each connection.
fn many_connections(connections: u32) -> Vec<u8> {
    let mut out = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for i in 0..connections {
        let (host, port) = (0x0a00_0000 + i / 50_000, (i % 50_000 + 1) as u16);
        out.extend([i / 1_000_000, i % 1_000_000, 40, 140].map(u32::to_le_bytes).concat());
        out.extend([0x45, 0, 0, 140, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        out.extend([host, 0x0a01_0001].map(u32::to_be_bytes).concat());
        out.extend([port, 80].map(u16::to_be_bytes).concat());
        out.extend([i, 7, 0x5010_0200, 0].map(u32::to_be_bytes).concat());
    }
    out
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded_by_the_size_of_the_capture() {
    let folder = folder("analyze-memory");
    let file = folder.join("many.pcap");
    let bytes = many_connections(40_000);
    fs::write(&file, &bytes).expect("it is written");
    // docs/howto/analyze.md: 192 times the file size, plus the program's own mappings.
    let kib = 128 * 1024 + 192 * bytes.len() / 1024;
    for json in ["", "--json"] {
        let command = format!("ulimit -v {kib}; exec \"$0\" {json} analyze \"$1\"");
        let program = env!("CARGO_BIN_EXE_lowtide");
        let output = Command::new("sh")
            .args(["-c", &command, program, file.to_str().expect("a path")])
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "within {kib} KiB: {}", text(&output.stderr));
        let report = text(&output.stdout);
        assert!(
            report.contains("40\u{202f}000 connections")
                || report.contains("\"connections\": 40000")
        );
    }
}
