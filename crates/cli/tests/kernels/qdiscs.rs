//! The testbed's bottleneck in the kernel beside the simulator: two flows of Linux's `reno` with
//! ECN through the BPF program with departure times, and through the kernel's own qdiscs. PIE is
//! not among them: single runs differ too much.

use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::initramfs::temporary;
use crate::packages::run;

const SCENARIO: &str = r#"
schema = 1
title = "Two long flows through a qdisc of the kernel"
[run]
duration = "8 s"
warmup = "2 s"
seeds = 1
end = "duration"
[topology]
kind = "star"
link-rate = "10 Mbit/s"
link-delay = "2.5 ms"
framing = "ethernet"
[switch]
buffer = "200 pkt"
[switch.mark]
MARK
[transport]
profile = "linux"
[transport.sender]
nagle = false
send-buffer = "2 MB"
freeze-growth = "round"
tso-segments = 1
tso-defer = 0
[transport.receiver]
receive-buffer = "2 MB"
[hosts.senders]
count = 2
[hosts.receivers]
count = 1
[traffic.long]
kind = "transfers"
from = "senders"
to = "receivers"
count = 2
size = "unlimited"
[probes]
interval = "20 ms"
groups = ["long"]
[disturbance]
start-jitter = "5 ms"
[compare]
schemes = ["SCHEME"]
"#;

/// Largest relative difference of the one run from the simulated means. Linux's flows have up to
/// 19 % longer queues and 26 % more marks here, with the program's step marking too.
const BOUND: f64 = 0.3;
/// Seeds of the simulation, whose mean is compared.
const SEEDS: &str = "--seeds=5";

/// A marker and the bottleneck that has its qdisc.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    mark: &'static str,
    bottleneck: &'static str,
    scheme: &'static str,
}

const STEP: &str = "kind = 'step'; k = '10 pkt'";
const RED: &str = "kind = 'red'; min = '5 pkt'; max = '15 pkt'; weight = 5";
const RED_DROP: &str = "kind = 'red'; min = '5 pkt'; max = '15 pkt'; weight = 5; signal = 'drop'";
const CODEL: &str = "kind = 'codel'; not-ect = 'drop'";

pub(crate) const CASES: [Case; 5] = [
    Case { name: "step", mark: STEP, bottleneck: "kernel", scheme: "ecn" },
    Case { name: "red", mark: RED, bottleneck: "kernel", scheme: "ecn" },
    Case { name: "red, drops", mark: RED_DROP, bottleneck: "kernel", scheme: "sack" },
    Case { name: "codel", mark: CODEL, bottleneck: "kernel", scheme: "ecn" },
    Case { name: "fq_codel", mark: CODEL, bottleneck: "kernel-fq-codel", scheme: "ecn" },
];

/// A folder with the scenario of each case.
pub(crate) fn files() -> TempDir {
    let folder = temporary();
    for (number, case) in CASES.iter().enumerate() {
        let text = SCENARIO.replace("MARK", &case.mark.replace("; ", "\n"));
        let text = text.replace("SCHEME", case.scheme);
        std::fs::write(folder.path().join(format!("case{number}.toml")), text).unwrap();
    }
    folder
}

/// The commands of a guest, one for each case, with the files of `folder`.
pub(crate) fn commands(folder: &TempDir) -> Vec<Value> {
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let command = |(number, case): (usize, &Case)| {
        let file = format!("{name}/case{number}.toml");
        let options = ["--backend", "kernel", "--bottleneck", case.bottleneck, "-o", "result"];
        let argv = ["lowtide", "--quiet", "--json", "run", &file, "--afresh"];
        json!({ "argv": argv.into_iter().chain(options).collect::<Vec<_>>() })
    };
    CASES.iter().enumerate().map(command).collect()
}

/// Mean queue, and packets marked or dropped, means of all runs.
fn measured(text: &str) -> Result<[f64; 2], String> {
    let body: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
    let runs = body["runs"].as_array().ok_or("no runs")?;
    let mut sum = [0.0; 2];
    for run in runs {
        let queues = run["queues"].as_array().into_iter().flatten();
        let port = queues.into_iter().find(|queue| queue["name"] == "switch0->receivers.0");
        let value = |key: &str| port.and_then(|port| port[key].as_f64());
        let (Some(queue), Some(marks), Some(drops)) =
            (value("mean_packets"), value("marks"), value("drops"))
        else {
            return Err(format!("no queue in {text}"));
        };
        sum[0] += queue / runs.len() as f64;
        sum[1] += (marks + drops) / runs.len() as f64;
    }
    Ok(sum)
}

/// Compares what a guest printed with the simulation.
pub(crate) fn judge(folder: &TempDir, number: usize, text: &str) -> Result<(), String> {
    let file = folder.path().join(format!("case{number}.toml"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
    command.args(["--quiet", "--json", "run"]).arg(file).args([SEEDS, "--afresh", "-o"]);
    let simulated = measured(&run(command.arg(folder.path().join("result")))?)?;
    let kernel = measured(text)?;
    let name = CASES[number].name;
    let text = format!("{name}: mean queue, signals: {kernel:.1?}, simulated {simulated:.1?}");
    println!("{text}");
    let near = (0..2).all(|i| (kernel[i] / simulated[i] - 1.0).abs() <= BOUND);
    near.then_some(()).ok_or(text)
}
