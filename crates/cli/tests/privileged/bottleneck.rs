//! `lowtide live bottleneck` as a process.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lowtide_live::links::{Links, VethEnd};
use lowtide_live::netns::Namespace;
use serde_json::Value;

use crate::live::{lowtide, stderr};

pub(crate) fn invalid_arguments_are_rejected_with_help() {
    let port = "a.0=tun:eth0=10.77.0.1/24";
    for (args, why) in [
        (&["bottleneck"] as &[&str], "--port"),
        (&["bottleneck", "--port", "a.0"], "write HOST=tun:NAME=ADDRESS/BITS"),
        (&["bottleneck", "--port", "x=tun:eth0=10.77.0.1/24"], "its hosts are a.0, b.0"),
        (&["bottleneck", "--port", "a.0=xdp:eth0=10.77.0.1/24"], "AF_XDP"),
        (&["bottleneck", "--port", "a.0=tun:eth0=10.77.0.1"], "with a prefix"),
        (&["bottleneck", "--port", port, "--fault", "loss=2"], "write KIND=SHARE"),
        (&["bottleneck", "--port", port, "--fault", "c:loss=2%"], "no host `c`"),
        (&["bottleneck", "--port", port, "--rate", "fast"], "fast"),
        (&["bottleneck", "--port", port, "--mark", "ste", "--k", "20"], "step"),
        (&["bottleneck", "--port", port, "--capture", "a.0"], "HOST=FILE"),
        (&["bottleneck", "no-such", "--port", port], "no scenario `no-such`"),
        (&["bottleneck", "incast", "--rate", "1Gbps", "--port", port], "--rate sets the line"),
        (&["client", "--peer", "kernel", "--k", "20"], "add `--through`"),
        (&["client", "10.77.0.1", "--through", "--netns", "here"], "add `--peer kernel`"),
    ] {
        let output = lowtide(&[&["live"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{args:?}: {}", stderr(&output));
    }
    if lowtide_live::netns::in_host_namespace() {
        let output = lowtide(&["live", "bottleneck", "--port", port]);
        assert!(stderr(&output).contains("the machine's own network namespace"));
    }
}

/// Timeout of reads and writes, beyond any correct wait.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// Two namespaces, the second with a process in it.
pub(crate) struct TwoNamespaces {
    pub(crate) left: Namespace,
    pub(crate) right: Namespace,
    netns_holder: Child,
}

impl TwoNamespaces {
    pub(crate) fn new() -> Self {
        let (left, right) = (Namespace::new().unwrap(), Namespace::new().unwrap());
        let sleep = || Command::new("sleep").arg("600").spawn().unwrap();
        let netns_holder = right.run(sleep).unwrap();
        Self { left, right, netns_holder }
    }

    /// Starts the command and waits until its network runs, with interfaces in the namespaces.
    pub(crate) fn network(&self, args: &[&str]) -> Child {
        let right = format!("b.0=tun:eth0=10.77.0.2/24@{}", self.netns_holder.id());
        let ports = ["--port", "a.0=tun:eth0=10.77.0.1/24", "--port", &right];
        Self::run(&self.left, &[&ports, args].concat())
    }

    /// As [`Self::network`], between veth pairs in a separate namespace.
    fn on_ethernets(&self, args: &[&str]) -> Child {
        let middle = Namespace::new().unwrap();
        let hosts = [(&self.left, "p0", "10.77.0.1"), (&self.right, "p1", "10.77.0.2")];
        for (host, name, address) in hosts {
            let near = VethEnd { name, namespace: None };
            let far = VethEnd { name: "eth0", namespace: Some(host) };
            let pair = || {
                let mut links = Links::open().unwrap();
                links.add_veth(&near, &far, 1500).unwrap();
                links.disable_offloads(name).unwrap();
                links.set_link_up(name, true).unwrap();
            };
            middle.run(pair).unwrap();
            let end = || {
                let mut links = Links::open().unwrap();
                links.disable_offloads("eth0").unwrap();
                links.add_address("eth0", address.parse().unwrap(), 24).unwrap();
                links.set_link_up("eth0", true).unwrap();
            };
            host.run(end).unwrap();
        }
        let ports =
            ["--port", "a.0=packet:p0=10.77.0.1/24", "--port", "b.0=packet:p1=10.77.0.2/24"];
        Self::run(&middle, &[&ports, args].concat())
    }

    fn run(namespace: &Namespace, args: &[&str]) -> Child {
        let run = || {
            Command::new(env!("CARGO_BIN_EXE_lowtide"))
                .args(["live", "bottleneck", "-J", "--netns", "here"])
                .args(args)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut child = namespace.run(run).unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert!(line.contains("the network runs"), "{line}");
        child.stderr = Some(said.into_inner());
        child
    }

    /// Sends `n` bytes from left to right by the kernel's TCP.
    fn transfer(&self, n: usize) {
        let listener = self.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
        let mut out = self.left.run(|| TcpStream::connect("10.77.0.2:7")).unwrap().unwrap();
        let (mut into, _) = listener.accept().unwrap();
        // A lost transfer must fail instead of blocking.
        into.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        out.set_write_timeout(Some(READ_TIMEOUT)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || out.write_all(&vec![7; n]).unwrap());
            let mut got = Vec::new();
            into.read_to_end(&mut got).unwrap();
            assert!(got == vec![7; n]);
        });
    }
}

impl Drop for TwoNamespaces {
    fn drop(&mut self) {
        // The process only keeps its namespace alive.
        let _ = self.netns_holder.kill();
        let _ = self.netns_holder.wait();
    }
}

/// Ends the command by `signal`. Returns its exit status and result.
pub(crate) fn ended(child: Child, signal: &str) -> (Option<i32>, Value) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    result(child)
}

fn result(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

pub(crate) fn two_kernels_communicate_until_a_signal_ends_it() {
    for signal in ["-INT", "-TERM"] {
        let hosts = TwoNamespaces::new();
        let args = ["--rate", "1Gbit/s", "--mark", "step", "--k", "20", "--sample", "1ms"];
        let child = if signal == "-INT" { hosts.network(&args) } else { hosts.on_ethernets(&args) };
        hosts.transfer(2_000_000);
        let (code, result) = ended(child, signal);
        assert_eq!(code, Some(0), "{result}");
        assert_eq!(result["schema"], "lowtide.bottleneck/2");
        let queue = |name: &str| {
            let all = result["queues"].as_array().unwrap();
            all.iter().find(|q| q["queue"] == name).unwrap()["bytes"].as_u64().unwrap()
        };
        assert!(queue("switch0->switch1") > 2_000_000 && queue("switch1->switch0") > 1_000);
        assert!(result["hosts"][1]["delivered_bytes"].as_u64().unwrap() > 2_000_000);
        assert!(result["timing"]["late"]["count"].as_u64().unwrap() > 1_000);
        assert!(result["samples"].as_array().unwrap().len() > 10);
    }
}

pub(crate) fn the_network_of_a_scenario_drops_the_requested_share() {
    let hosts = TwoNamespaces::new();
    let path = std::env::temp_dir().join(format!("lowtide-net-{}.toml", std::process::id()));
    let text = include_str!("../../src/cmd/live/line.toml").replace("100 Mbit/s", "1 Gbit/s");
    std::fs::write(&path, text).unwrap();
    let scenario = path.to_str().unwrap();
    let child = hosts.network(&[scenario, "--fault", "a.0:loss=2%"]);
    hosts.transfer(1_000_000);
    let (code, result) = ended(child, "-INT");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, Some(0), "{result}");
    let lost = result["queues"][0]["random_losses"].as_u64().unwrap();
    assert!((2..80).contains(&lost), "{}", result["queues"][0]);
    assert_eq!(result["queues"][2]["random_losses"], 0, "no loss in the other direction");
}

pub(crate) fn it_ends_after_the_given_time() {
    let (code, result) = result(TwoNamespaces::new().network(&["-t", "0.2", "--priority", "0"]));
    assert_eq!(code, Some(0), "{result}");
    assert!(result["seconds"].as_f64().unwrap() >= 0.2, "{result}");
    assert_eq!(result["timing"]["scheduling"], "normal priority");
}

pub(crate) fn a_lost_interface_is_reported() {
    let hosts = TwoNamespaces::new();
    let child = hosts.network(&[]);
    let remove = || Command::new("ip").args(["link", "delete", "eth0"]).status();
    assert!(hosts.right.run(remove).unwrap().unwrap().success());
    let (code, result) = result(child);
    assert_eq!(code, Some(1));
    assert!(result["complaints"][0].as_str().unwrap().contains("host `b.0` is gone"), "{result}");
}
