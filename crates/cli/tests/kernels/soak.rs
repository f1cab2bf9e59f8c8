//! A minute of `kernel/tests/soak`: connections open, switch controls, wait and end while controls
//! come and go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::initramfs::temporary;
use crate::packages::run;

/// Kernels with Accurate ECN, and the values of `tcp_ecn` of sender and receiver, in turn.
const ACC_ECN: (u32, u32) = (7, 0);
const MODES: [&[&str]; 2] = [&["1/1", "2/1"], &["1/1", "3/2", "3/3", "1/3"]];

/// The folder of the soak, with its compiled program.
pub(crate) fn folder() -> Result<TempDir, String> {
    let folder = temporary();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/tests/soak");
    fs::copy(source.join("soak.sh"), folder.path().join("soak.sh")).map_err(|e| e.to_string())?;
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-static", "-o"]).arg(folder.path().join("traffic"));
    run(compile.arg(source.join("traffic.c")))?;
    Ok(folder)
}

/// The command in a guest of this kernel, whose files are in `folder`.
pub(crate) fn command(folder: &Path, kernel: (u32, u32)) -> Value {
    let script = PathBuf::from(folder.file_name().unwrap()).join("soak.sh");
    let controls = ["lt_dctcp", "lt_odctcp_snd", "lt_odctcp", "lt_odctcp_rcv", "lt_tdctcp"];
    let mut argv = vec!["bash", script.to_str().unwrap(), "60", "3mbit", "6"];
    argv.extend(controls.into_iter().chain(["--"]));
    argv.extend(MODES[usize::from(kernel >= ACC_ECN)]);
    json!({ "argv": argv })
}

/// The number after `word` in a line that starts with `start`, added over such lines.
fn sum(text: &str, start: &str, word: &str) -> u64 {
    let lines = text.lines().filter(|line| line.contains(start));
    let after = lines.filter_map(|line| line.split_once(word)).map(|(_, rest)| rest);
    let number = |rest: &str| {
        rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    after.filter_map(number).sum::<u64>()
}

/// Checks what the soak printed.
pub(crate) fn judge(text: &str) -> Result<(), String> {
    println!("{text}");
    let mut wrong = Vec::new();
    let mut expect = |is: bool, what: &str| {
        if !is {
            wrong.push(what.to_owned());
        }
    };
    expect(sum(text, "open: opened", "opened ") > 50, "few connections were opened");
    expect(sum(text, "open: opened", "switched ") > 10, "few controls were switched");
    expect(sum(text, "steps,", "loads ") > 5, "few controls were loaded");
    expect(sum(text, "open: opened", "marked ") > 100, "few segments were marked");
    expect(sum(text, "open: opened", "failed ") == 0, "a connection failed");
    expect(sum(text, "sink: accepted", "wrong ") == 0, "wrong bytes arrived");
    expect(sum(text, "stats:", "leaps ") == 0, "a window is above the written one");
    expect(text.contains("objects after: controls 0, programs 0,"), "a control was left");
    let messages = text.split_once("new messages of the kernel:");
    // The script empties caches before it looks at memory.
    let known = |line: &str| line.is_empty() || line.contains("drop_caches");
    let quiet = messages.is_some_and(|(_, rest)| rest.lines().all(known));
    expect(quiet, "the kernel has a warning");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}
