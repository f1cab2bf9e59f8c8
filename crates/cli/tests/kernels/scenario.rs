//! The scenario `dctcp-kernel` with Linux's DCTCP and ours at either end, beside the simulator.

use std::process::Command;

use serde_json::{Value, json};

use crate::packages::run;

const NAME: &str = "dctcp-kernel";

/// A third of the scenario's time: an emulated machine runs at a tenth of the speed. In 4 s alpha
/// has come down from 1.
const SHORTER: [&str; 4] = ["-s", "run.duration=10 s", "-s", "run.warmup=4 s"];

/// Packets of 1538 bytes that the bottleneck of 3 Mbit/s sends in the 6 s that count.
const PACKETS: f64 = 3e6 * 6.0 / (8.0 * 1538.0);

/// The hosts with lowtide's TCP; the others have the kernel's.
pub(crate) const PAIRS: [(&str, &str); 3] =
    [("Linux to Linux", ""), ("ours to Linux", "senders"), ("Linux to ours", "receivers")];

/// Largest relative difference from the simulated mean queue, and difference of the share of marked
/// packets: those of the windows and alphas of bulk flows ([`crate::comparison`]).
const QUEUE: f64 = 0.1;
const MARKED: f64 = 64.0 / 1024.0;

/// The commands of a guest, one for each pair.
pub(crate) fn commands() -> Vec<Value> {
    let command = |(_, ours): &(&str, &str)| {
        let mut argv = vec!["lowtide", "--quiet", "--json", "run", NAME, "--backend", "kernel"];
        if !ours.is_empty() {
            argv.extend(["--our-hosts", ours]);
        }
        argv.extend(SHORTER);
        argv.extend(["-o", "result", "--afresh"]);
        json!({ "argv": argv })
    };
    PAIRS.iter().map(command).collect()
}

/// Mean queue, packets, and share of marked packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    queue: f64,
    marked: f64,
}

impl Measured {
    /// Reads what `lowtide run --json` printed.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let body: Value = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
        let run = &body["runs"][0];
        let queues = run["queues"].as_array().into_iter().flatten();
        let port = queues.into_iter().find(|queue| queue["name"] == "switch0->receivers.0");
        let value = |key: &str| port.and_then(|port| port[key].as_f64());
        let (Some(queue), Some(marks)) = (value("mean_packets"), value("marks")) else {
            return Err(format!("no queue or marks in {text}"));
        };
        Ok(Self { queue, marked: marks / PACKETS })
    }

    /// Simulates the scenario.
    pub(crate) fn simulated() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_lowtide"));
        command.args(["--quiet", "--json", "run", NAME]).args(SHORTER).args(["--afresh", "-o"]);
        Self::new(&run(command.arg(folder.path().join("run")))?)
    }

    /// Compares with the simulation.
    pub(crate) fn judge(self, simulated: Self) -> Result<(), String> {
        let queue = (self.queue / simulated.queue - 1.0).abs();
        let marked = (self.marked - simulated.marked).abs();
        let fits = queue <= QUEUE && marked <= MARKED;
        let text = format!("{self:?}, simulated {simulated:?}");
        println!("{text}");
        fits.then_some(()).ok_or(text)
    }
}
