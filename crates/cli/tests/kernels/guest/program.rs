//! Runs programs in the guest, one after the other, and forwards what they print.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{Report, succeed};

/// Runs each command, `{ "argv": [...], "env": {...} }`, in the folder `/data`. Lines are
/// `{ "out": ... }` and `{ "err": ... }`; the last one of each is `{ "status": ... }`.
pub(super) fn run(programs: &Value, report: Report) -> Report {
    succeed("busybox", &["--install", "-s", "/bin"]);
    succeed("ip", &["link", "set", "lo", "up"]);
    // A namespace may select, and an unprivileged socket may use, the controls of this list only.
    let folder = "/proc/sys/net/ipv4/tcp_";
    let all = fs::read(format!("{folder}available_congestion_control")).unwrap();
    fs::write(format!("{folder}allowed_congestion_control"), all).unwrap();
    let report = Arc::new(Mutex::new(report));
    for program in programs.as_array().unwrap() {
        let words: Vec<String> = serde_json::from_value(program["argv"].clone()).unwrap();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/data").env_clear();
        command.env("PATH", "/bin").env("HOME", "/tmp");
        for (key, value) in program["env"].as_object().into_iter().flatten() {
            command.env(key, value.as_str().unwrap());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let status = match command.spawn() {
            Ok(mut child) => {
                let out = forward("out", child.stdout.take().unwrap(), &report);
                let err = forward("err", child.stderr.take().unwrap(), &report);
                let status = child.wait().unwrap();
                out.join().unwrap();
                err.join().unwrap();
                status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
            }
            Err(e) => {
                let text = format!("cannot run {}: {e}", words[0]);
                report.lock().unwrap().line(&json!({ "err": text }));
                127
            }
        };
        report.lock().unwrap().line(&json!({ "status": status }));
    }
    Arc::into_inner(report).unwrap().into_inner().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "both outputs are read while the program runs")]
fn forward(
    name: &'static str,
    pipe: impl Read + Send + 'static,
    report: &Arc<Mutex<Report>>,
) -> thread::JoinHandle<()> {
    let report = Arc::clone(report);
    thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            report.lock().unwrap().line(&json!({ name: line }));
        }
    })
}
