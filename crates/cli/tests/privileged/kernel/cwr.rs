//! CWR of a DCTCP sender in the kernel, against a receiver of classic ECN (ODCTCP §5.1). Linux
//! queues CWR itself; a control of `kernel/tests` withholds it.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use lowtide_kernel::{Registration, register_object};
use serde_json::Value;

use super::{Transfer, Twin, hosts, one_at_a_time, senders};
use crate::bottleneck::ended;
use crate::live::{lowtide, stderr};

/// Compiles a program of `kernel/` as `crates/kernel` does, and returns the object.
pub(super) fn compile(source: &str, defines: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86" };
    let output = Command::new("clang")
        .current_dir(folder)
        .args(["-O2", "-g", "-mcpu=v3", "-target", "bpf", "-Wall", "-Werror", "-I."])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .args(defines)
        .args(["-c", source, "-o", "-"])
        .output()
        .expect("clang, which built the twins");
    assert!(output.status.success(), "{source}: {}", stderr(&output));
    output.stdout
}

fn register(name: &str, defines: &[&str]) -> Registration {
    let registered = register_object(name, &compile("tests/cwr.bpf.c", defines));
    registered.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A transfer with a sender of the kernel, and the analysis of the capture at the sender.
#[derive(Debug)]
struct SenderRun {
    /// snd_cwnd in segments, ascending, and least and greatest alpha, after the first second.
    windows: Vec<u64>,
    alpha: (f64, f64),
    /// ECN cuts, as the control counted them.
    cuts: u64,
    /// Segments with CWR, ACKs, and ACKs with ECE on the wire.
    cwr: u64,
    acks: u64,
    ece_acks: u64,
    mbit_per_second: f64,
    findings: Vec<String>,
}

impl SenderRun {
    fn median_window(&self) -> u64 {
        self.windows[self.windows.len() / 2]
    }
}

/// Transfers until the capture shows the feedback of the receiver, at most three times: a receiver
/// that acknowledges each segment, as Linux does while it is in its quick-ACK mode, does not.
fn run(name: &'static str) -> SenderRun {
    let mut undecided = String::new();
    for _ in 0..3 {
        match transfer(name) {
            Ok(run) => return run,
            Err(feedback) => undecided = feedback,
        }
    }
    panic!("{undecided}");
}

/// Runs a transfer through a line of 20 Mbit/s and 4 ms round trip that marks from 10 packets on.
/// The receiver is Linux with classic ECN. Returns its feedback if that is undecided.
fn transfer(name: &'static str) -> Result<SenderRun, String> {
    let file = format!("lowtide-{name}-{}.pcapng", std::process::id());
    let capture = std::env::temp_dir().join(file);
    let at_sender = format!("a.0={}", capture.display());
    let hosts = hosts();
    let line = ["--rate", "20Mbit/s", "--delay", "2ms", "--buffer", "200pkt"];
    let mark = ["--mark", "step", "--k", "10", "--capture", &at_sender];
    let network = hosts.network(&[&line[..], &mark].concat());
    let transfer = Transfer::start(&hosts, Some(name), None);
    thread::sleep(Duration::from_secs(1));
    let mut looks = Vec::new();
    for _ in 0..15 {
        thread::sleep(Duration::from_millis(100));
        looks.extend(senders(name));
    }
    drop(transfer);
    ended(network, "-INT");
    let output = lowtide(&["analyze", capture.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    std::fs::remove_file(capture).unwrap();
    let analysis: Value = serde_json::from_slice(&output.stdout).unwrap();
    let flow = &analysis["flows"][0];
    assert_eq!(flow["ecn"], "rfc3168", "{name}");
    let bytes = |d: &&Value| d["bytes"].as_u64();
    let direction = flow["directions"].as_array().unwrap().iter().max_by_key(bytes).unwrap();
    let feedback = &direction["feedback"];
    if feedback["kind"] == "undecided" {
        return Err(format!("{name}: {feedback}"));
    }
    assert_eq!(feedback["kind"], "rfc3168", "{name}: {feedback}");
    let count = |value: &Value| value.as_u64().unwrap();
    let marks = |key: &str| count(&direction["marks"][key]);
    let nanoseconds = count(&direction["end_ns"]) - count(&direction["start_ns"]);
    let mut windows: Vec<u64> = looks.iter().map(|s| count(&s["snd_cwnd"])).collect();
    windows.sort_unstable();
    let alphas = looks.iter().map(|s| s["alpha"].as_f64().unwrap());
    let kinds = flow["findings"].as_array().unwrap().iter();
    let run = SenderRun {
        windows,
        alpha: alphas.fold((1.0, 0.0), |(least, most), a| (a.min(least), a.max(most))),
        cuts: count(&looks.last().unwrap()["cuts"]),
        cwr: marks("cwr"),
        acks: marks("acks"),
        ece_acks: marks("ece_acks"),
        mbit_per_second: count(&direction["acked_bytes"]) as f64 * 8e3 / nanoseconds as f64,
        findings: kinds.map(|f| f["kind"].as_str().unwrap().to_owned()).collect(),
    };
    println!("{name}: {run:?}");
    Ok(run)
}

pub(crate) fn a_sender_in_the_kernel_collapses_only_without_cwr() {
    let _one = one_at_a_time();
    let ours = {
        let _twin = Twin::load("lt_odctcp_snd", &[]);
        run("lt_odctcp_snd")
    };
    let kernels = {
        let _control = register("lt_kernel_cwr", &[]);
        run("lt_kernel_cwr")
    };
    let withheld = {
        let _control = register("lt_no_cwr", &["-DLT_WITHHELD"]);
        run("lt_no_cwr")
    };
    let collapsed = |run: &SenderRun| run.findings.iter().any(|f| f == "window-collapse");
    let is_stuck = |run: &SenderRun| run.findings.iter().any(|f| f == "stuck-ece");
    // The CWR of the kernel alone is enough: it ends the latched echo once a round trip.
    for run in [&ours, &kernels] {
        // K and the bandwidth-delay product are about 17 segments.
        assert!(run.median_window() > 10, "{run:?}");
        assert!(run.alpha.1 < 0.9, "{run:?}");
        assert!(run.cwr > 20 && run.cwr.abs_diff(run.cuts) <= run.cuts / 4, "{run:?}");
        assert!(run.ece_acks < run.acks / 2, "{run:?}");
        assert!(!collapsed(run) && !is_stuck(run), "{run:?}");
    }
    assert_eq!(withheld.cwr, 0, "{withheld:?}");
    assert!(withheld.ece_acks > withheld.acks * 9 / 10, "{withheld:?}");
    assert!(withheld.alpha.0 > 0.99, "{withheld:?}");
    assert!(withheld.median_window() == 2 && withheld.windows.last() < Some(&4), "{withheld:?}");
    assert!(collapsed(&withheld) && is_stuck(&withheld), "{withheld:?}");
    assert!(withheld.mbit_per_second < kernels.mbit_per_second / 2.0, "{withheld:?}");
}
