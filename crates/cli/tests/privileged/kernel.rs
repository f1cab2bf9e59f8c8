//! `lowtide kernel` as a process: BPF twins in the kernel of this machine.
//!
//! A twin is registered for the whole machine, so these tests run one after the other.

pub(crate) mod cwr;
pub(crate) mod refusals;
pub(crate) mod unit;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lowtide_live::netns::{Namespace, set_sysctl};
use lowtide_test_needs::Need;
use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};
use serde_json::Value;

use crate::bottleneck::{TwoNamespaces, ended};
use crate::live::{lowtide, stderr};

/// A binary with BPF programs, and a kernel that takes them.
pub(crate) const PROGRAMS: Need = Need {
    name: "BPF programs",
    probe: || {
        if !cfg!(feature = "kernel") {
            return Err("this build has no feature `kernel`".to_owned());
        }
        let why = stderr(&lowtide(&["kernel", "list"])).trim().to_owned();
        if why.contains("or later") { Err(why) } else { Ok(()) }
    },
    enforceable: false,
};

/// Threshold of the bottleneck, packets.
const K: u64 = 20;

pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A loaded twin; unloaded at the end of the test, also of one that failed.
pub(crate) struct Twin(&'static str);

impl Twin {
    pub(crate) fn load(name: &'static str, args: &[&str]) -> Self {
        let output = lowtide(&[&["kernel", "load", name], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        Self(name)
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // A test may have unloaded it.
        let _ = lowtide(&["kernel", "unload", "--force", self.0]);
    }
}

fn json(args: &[&str]) -> Value {
    let output = lowtide(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// State of a twin as `kernel list` shows it.
fn state(name: &str) -> Value {
    let list = json(&["kernel", "list"]);
    list["twins"].as_array().unwrap().iter().find(|t| t["name"] == name).unwrap().clone()
}

/// Established sockets of a twin that connected to port 7.
fn senders(name: &str) -> Vec<Value> {
    let stats = json(&["kernel", "stats"]);
    let sockets = stats["sockets"].as_array().unwrap().iter().filter(|s| {
        let remote = s["remote"].as_str().unwrap();
        s["control"] == name && s["state"] == "established" && remote.ends_with(":7")
    });
    sockets.cloned().collect()
}

/// A transfer from left to right that goes on until it is dropped.
struct Transfer {
    sender: TcpStream,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Transfer {
    /// Sockets ask for these controls; `None` asks for nothing.
    #[expect(clippy::disallowed_methods, reason = "traffic that goes on beside the test")]
    fn start(hosts: &TwoNamespaces, sender: Option<&str>, receiver: Option<&str>) -> Self {
        let listener = hosts.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
        choose(&listener, receiver);
        let connect = || {
            use socket2::{Domain, Socket, Type};
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            choose(&socket, sender);
            let to: std::net::SocketAddr = "10.77.0.2:7".parse().unwrap();
            socket.connect(&to.into()).unwrap();
            TcpStream::from(socket)
        };
        let out = hosts.left.run(connect).unwrap();
        let (mut into, _) = listener.accept().unwrap();
        let mut writer = out.try_clone().unwrap();
        let write = move || while writer.write_all(&[7; 8192]).is_ok() {};
        let read = move || {
            let mut buffer = vec![0; 65_536];
            while into.read(&mut buffer).is_ok_and(|n| n > 0) {}
        };
        Self { sender: out, threads: vec![thread::spawn(write), thread::spawn(read)] }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // Both threads then see the end of the stream.
        let _ = self.sender.shutdown(std::net::Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn choose(socket: &impl AsFd, control: Option<&str>) {
    if let Some(control) = control {
        setsockopt(&socket.as_fd(), TcpCongestion, &OsString::from(control)).unwrap();
    }
}

fn control(socket: &impl AsFd) -> OsString {
    getsockopt(&socket.as_fd(), TcpCongestion).unwrap()
}

/// Two hosts with classic ECN and NewReno as their default.
fn hosts() -> TwoNamespaces {
    let hosts = TwoNamespaces::new();
    for host in [&hosts.left, &hosts.right] {
        let set = || {
            set_sysctl("ipv4/tcp_ecn", "1").unwrap();
            set_sysctl("ipv4/tcp_congestion_control", "reno").unwrap();
        };
        host.run(set).unwrap();
    }
    hosts
}

/// Arguments of a bottleneck of 100 Mbit/s that marks above [`K`] packets.
const MARKING: [&str; 8] =
    ["--rate", "100Mbit/s", "--buffer", "200pkt", "--mark", "step", "--k", "20"];

/// Looks at the sockets `looks` times; each window must be one that the rules can have.
fn watch(name: &str, looks: u32) -> Value {
    let mut last = Value::Null;
    for _ in 0..looks {
        thread::sleep(Duration::from_millis(100));
        for socket in senders(name) {
            let segments = socket["snd_cwnd"].as_u64().unwrap();
            // The path holds K packets, the line one, and the window swings: a leap is far beyond.
            assert!(segments < 10 * K, "a window that leaps: {socket}");
            let alpha = socket["alpha"].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&alpha), "{socket}");
            assert_eq!(socket["leaps"], 0, "{socket}");
            last = socket;
        }
    }
    assert!(!last.is_null(), "no socket uses {name}");
    last
}

/// The bottleneck's queue from left to right.
fn queue(result: &Value) -> &Value {
    let queues = result["queues"].as_array().unwrap();
    queues.iter().find(|q| q["queue"] == "switch0->switch1").unwrap()
}

pub(crate) fn names_and_parameters_are_checked_before_anything_is_loaded() {
    for (args, why) in [
        (&["load", "cubic"][..], "there is no twin `cubic`; there are lt_dctcp"),
        (&["load", "lt_dctcp", "--param", "shift-g=11"], "a whole number, 0 to 10"),
        (
            &["load", "lt_dctcp", "--param", "shift-g=many"],
            "`many` is not a whole number from 0 to 10",
        ),
        (&["load", "lt_dctcp", "--param", "shift-g=3", "--param", "shift-g=4"], "is given twice"),
        (&["load", "lt_dctcp", "--param", "g=1"], "no parameter `g`"),
        (&["load", "lt_dctcp", "--param", "shift-g"], "--param NAME=VALUE"),
        (&["load", "lt_dctcp", "--delack-max", "1 ms"], "--cgroup"),
        (&["load", "lt_dctcp", "--cgroup", "/", "--delack-max", "2 s"], "below 1 s"),
    ] {
        let output = lowtide(&[&["kernel"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{args:?}: {}", stderr(&output));
    }
    if !cfg!(feature = "kernel") {
        let output = lowtide(&["kernel", "load", "lt_dctcp"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("--features kernel"), "{}", stderr(&output));
    }
    let unit = lowtide(&["kernel", "unit", "dctcp", "--param", "shift-g=5", "--default"]);
    let unit = String::from_utf8(unit.stdout).unwrap();
    assert!(unit.contains("kernel load lt_dctcp --param shift-g=5 --default\n"), "{unit}");
}

pub(crate) fn a_twin_is_loaded_used_and_unloaded() {
    let _one = one_at_a_time();
    let twin = Twin::load("lt_dctcp", &["--param", "shift-g=5"]);
    let loaded = state(twin.0);
    assert_eq!(loaded["state"], "loaded");
    assert_eq!(loaded["parameters"][0], "shift-g=5");
    let again = lowtide(&["kernel", "load", "lt_dctcp"]);
    assert!(stderr(&again).contains("already"), "{}", stderr(&again));

    let hosts = hosts();
    let network = hosts.network(&MARKING);
    let transfer = Transfer::start(&hosts, Some("lt_dctcp"), Some("lt_dctcp"));
    assert_eq!(control(&transfer.sender), "lt_dctcp");
    let socket = watch("lt_dctcp", 20);
    assert!(socket["cuts"].as_u64().unwrap() > 0, "{socket}");
    assert!(socket["alpha"].as_f64().unwrap() < 1.0, "{socket}");

    let refused = lowtide(&["kernel", "unload", "lt_dctcp"]);
    assert!(stderr(&refused).contains("sockets use `lt_dctcp`"), "{}", stderr(&refused));
    assert!(lowtide(&["kernel", "unload", "--force", "lt_dctcp"]).status.success());
    assert_eq!(state("lt_dctcp")["state"], "draining");
    watch("lt_dctcp", 3);
    drop(transfer);
    let (_, result) = ended(network, "-INT");
    let queue = queue(&result);
    assert!(queue["marks"].as_u64().unwrap() > 0, "{queue}");
    assert_eq!(queue["drops"], 0, "{queue}");
    assert!(queue["max_packets"].as_u64().unwrap() < 5 * K, "{queue}");
    let gone = lowtide(&["kernel", "unload", "lt_dctcp"]);
    assert!(stderr(&gone).contains("not loaded"), "{}", stderr(&gone));
}

pub(crate) fn a_one_sided_sender_keeps_its_window_against_a_plain_receiver() {
    let _one = one_at_a_time();
    let _twin = Twin::load("lt_odctcp_snd", &[]);
    let hosts = hosts();
    let network = hosts.network(&MARKING);
    let transfer = Transfer::start(&hosts, Some("lt_odctcp_snd"), None);
    let socket = watch("lt_odctcp_snd", 20);
    // CWR after each cut ends the latched echo: alpha and the window do not collapse.
    assert!(socket["alpha"].as_f64().unwrap() < 0.9, "{socket}");
    assert!(socket["snd_cwnd"].as_u64().unwrap() > K / 4, "{socket}");
    drop(transfer);
    let (_, result) = ended(network, "-INT");
    assert_eq!(queue(&result)["drops"], 0, "{result}");
    assert!(queue(&result)["marks"].as_u64().unwrap() > 0, "{result}");
}

/// Looks, 100 ms apart, until the sockets of a namespace that is gone must be closed.
const CLOSING: u32 = 300;

/// Minutes of the soak test; some seconds without it.
const SOAK: &str = "LOWTIDE_SOAK_MINUTES";

/// Loads and unloads twins under traffic while connections come and go. Both ends run on any core.
#[expect(clippy::disallowed_methods, reason = "it lasts for a given time")]
pub(crate) fn windows_never_leap_while_twins_come_and_go() {
    const NAMES: [&str; 4] = ["lt_dctcp", "lt_odctcp_snd", "lt_odctcp", "lt_tdctcp"];
    let _one = one_at_a_time();
    let minutes = std::env::var(SOAK).ok().and_then(|m| m.parse::<u64>().ok());
    let time = minutes.map_or(Duration::from_secs(6), |m| Duration::from_secs(60 * m));
    let end = std::time::Instant::now() + time;
    let hosts = hosts();
    let network = hosts.network(&MARKING);
    let (mut rounds, mut connections) = (0, 0);
    for name in NAMES.iter().cycle() {
        if std::time::Instant::now() > end {
            break;
        }
        let twin = Twin::load(name, &[]);
        let receiver = if *name == "lt_odctcp_snd" { None } else { Some(*name) };
        let long = Transfer::start(&hosts, Some(name), receiver);
        watch(name, 2);
        assert!(lowtide(&["kernel", "unload", "--force", twin.0]).status.success());
        watch(name, 2);
        drop(long);
        let again = Twin::load(name, &[]);
        for _ in 0..5 {
            let short = Transfer::start(&hosts, Some(name), receiver);
            watch(name, 1);
            drop(short);
            connections += 1;
        }
        drop(again);
        assert_ne!(state(name)["state"], "loaded");
        rounds += 1;
    }
    println!("{rounds} rounds, {connections} short connections");
    assert!(rounds > 0);
    let (_, result) = ended(network, "-INT");
    assert!(queue(&result)["marks"].as_u64().unwrap() > 0, "{result}");
    // The kernel closes the sockets of a namespace that is gone in the background.
    for name in NAMES {
        let closed = || state(name)["sockets"] == 0;
        let in_time = (0..CLOSING).any(|_| {
            closed() || {
                thread::sleep(Duration::from_millis(100));
                false
            }
        });
        assert!(in_time, "{name} has sockets that do not close: {}", state(name));
    }
}

/// Folder of a new cgroup of version 2, removed at the end.
struct Cgroup(PathBuf);

impl Cgroup {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
        let root = mount.split(' ').nth(1)?;
        let folder = Path::new(root).join(format!("lowtide-test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        Some(Self(folder))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Connects to port 7 from `left` in a process of `cgroup`, with a program that knows nothing of
/// congestion controls, and returns it.
fn connect_from(cgroup: &Path, left: &Namespace) -> std::process::Child {
    with_port_7(cgroup, left, "sleep 60 <&3")
}

/// As [`connect_from`], and sends zeros until it is ended.
fn send_from(cgroup: &Path, left: &Namespace) -> std::process::Child {
    with_port_7(cgroup, left, "cat /dev/zero >&3")
}

fn with_port_7(cgroup: &Path, left: &Namespace, command: &str) -> std::process::Child {
    let procs = cgroup.join("cgroup.procs");
    let script =
        format!("echo $$ > {} && exec 3<>/dev/tcp/10.77.0.2/7 && exec {command}", procs.display());
    let spawn = || Command::new("bash").args(["-c", &script]).spawn().unwrap();
    left.run(spawn).unwrap()
}

pub(crate) fn a_cgroup_selects_a_twin() {
    let _one = one_at_a_time();
    let Some(cgroup) = Cgroup::new() else {
        panic!("no cgroup of version 2 is mounted");
    };
    let folder = cgroup.0.display().to_string();
    let twin = Twin::load("lt_odctcp_snd", &["--cgroup", &folder, "--delack-max", "1 ms"]);
    assert_eq!(state(twin.0)["cgroups"][0], folder.as_str());
    let hosts = hosts();
    let network = hosts.network(&[]);
    let listener = hosts.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
    let mut inside = connect_from(&cgroup.0, &hosts.left);
    let (accepted, _) = listener.accept().unwrap();
    let outside = hosts.left.run(|| TcpStream::connect("10.77.0.2:7")).unwrap().unwrap();
    assert_eq!(senders(twin.0).len(), 1, "the one in the cgroup");
    assert_eq!(control(&outside), "reno");
    assert_eq!(control(&accepted), "reno");
    inside.kill().unwrap();
    inside.wait().unwrap();
    drop((accepted, outside));
    ended(network, "-INT");
    let not_a_cgroup = lowtide(&["kernel", "load", "lt_dctcp", "--cgroup", "/tmp"]);
    assert!(
        stderr(&not_a_cgroup).contains("is no cgroup of version 2"),
        "{}",
        stderr(&not_a_cgroup)
    );
    assert_eq!(state("lt_dctcp")["state"], "not loaded", "nothing remains half-loaded");
}

/// A cgroup selects the control in SYN-SENT, before the window and ECN are known.
pub(crate) fn a_control_selected_before_the_syn_starts_as_any_other() {
    let _one = one_at_a_time();
    let cgroup = Cgroup::new().expect("a mount of type cgroup2");
    let folder = cgroup.0.display().to_string();
    let twin = Twin::load("lt_dctcp", &["--cgroup", &folder]);
    let hosts = hosts();
    let network = hosts.network(&MARKING);
    for (receiver, used) in [(Some(twin.0), twin.0), (None, "reno")] {
        let listener = hosts.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
        choose(&listener, receiver);
        let mut sender = send_from(&cgroup.0, &hosts.left);
        let (mut into, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 2_000_000];
        into.read_exact(&mut buffer).unwrap();
        let senders = senders(twin.0);
        if used == twin.0 {
            assert_eq!(senders.len(), 1);
            assert_eq!(senders[0]["leaps"], 0, "{}", senders[0]);
            assert_eq!(senders[0]["ecn"], "rfc3168", "{}", senders[0]);
            let counts = ["delivered", "delivered_ce"].map(|key| senders[0][key].as_u64().unwrap());
            assert!(counts[0] > counts[1] && counts[1] > 0, "{}", senders[0]);
            assert!(senders[0]["cuts"].as_u64().unwrap() > 0, "{}", senders[0]);
            assert!(senders[0]["snd_cwnd"].as_u64().unwrap() > 2, "{}", senders[0]);
        } else {
            // The listener refused ECN, as the SYN had ECT: the control fell back, and is named.
            assert!(senders.is_empty(), "{senders:?}");
            let stats = json(&["kernel", "stats"]);
            let fell_back = |s: &&Value| s["control"] == "reno" && s["fell_back"] == true;
            assert_eq!(stats["sockets"].as_array().unwrap().iter().filter(fell_back).count(), 1);
            let metrics = lowtide(&["kernel", "stats", "--prometheus"]).stdout;
            let metrics = String::from_utf8(metrics).unwrap();
            let named = "lowtide_kernel_fell_back{control=\"reno\",ecn=\"off\"";
            assert!(metrics.contains(named), "{metrics}");
        }
        sender.kill().unwrap();
        sender.wait().unwrap();
    }
    ended(network, "-INT");
}

pub(crate) fn a_route_selects_a_twin_and_keeps_it_loaded() {
    let _one = one_at_a_time();
    let hosts = hosts();
    let network = hosts.network(&[]);
    let inside = |args: &[&str]| hosts.left.run(|| lowtide(args)).unwrap();
    let load = inside(&["kernel", "load", "lt_odctcp_snd", "--route", "10.77.0.0/24"]);
    assert!(load.status.success(), "{}", stderr(&load));
    let twin = Twin("lt_odctcp_snd");
    let listener = hosts.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
    let out = hosts.left.run(|| TcpStream::connect("10.77.0.2:7")).unwrap().unwrap();
    assert_eq!(control(&out), twin.0);
    drop((out, listener));
    // Also from another namespace, the host's own.
    for refused in [
        inside(&["kernel", "unload", "lt_odctcp_snd"]),
        lowtide(&["kernel", "unload", "lt_odctcp_snd"]),
    ] {
        assert!(stderr(&refused).contains("a route names `lt_odctcp_snd`"), "{}", stderr(&refused));
    }
    assert_eq!(state(twin.0)["state"], "loaded");
    assert!(lowtide(&["kernel", "unload", "lt_odctcp_snd", "--force"]).status.success());
    assert!(!routes(&hosts).contains("congctl"), "{}", routes(&hosts));
    let second = ["--route", "10.77.0.0/24", "--route", "10.99.0.0/16"];
    let missing = inside(&[&["kernel", "load", "lt_dctcp"], &second[..]].concat());
    assert!(stderr(&missing).contains("no such route"), "{}", stderr(&missing));
    assert_eq!(state("lt_dctcp")["state"], "not loaded", "nothing remains half-loaded");
    assert!(!routes(&hosts).contains("congctl"), "{}", routes(&hosts));
    ended(network, "-INT");
}

/// Routes of the left host.
fn routes(hosts: &TwoNamespaces) -> String {
    let show = || Command::new("ip").args(["route"]).output().unwrap();
    String::from_utf8(hosts.left.run(show).unwrap().stdout).unwrap()
}

pub(crate) fn a_loaded_twin_is_selected_for_more_and_as_the_default() {
    let _one = one_at_a_time();
    let cgroup = Cgroup::new().expect("a mount of type cgroup2");
    let folder = cgroup.0.display().to_string();
    let all = ["--unrestricted", "--param", "shift-g=6", "--cgroup", &folder];
    let twin = Twin::load("lt_odctcp_snd", &all);
    let hosts = hosts();
    let network = hosts.network(&[]);
    let inside = |args: &[&str]| hosts.left.run(|| lowtide(args)).unwrap();
    let more = inside(&["kernel", "load", twin.0, "--default"]);
    assert!(more.status.success(), "{}", stderr(&more));
    assert_eq!(state(twin.0)["parameters"][0], "shift-g=6", "as at its load");
    let listener = hosts.right.run(|| TcpListener::bind("10.77.0.2:7")).unwrap().unwrap();
    let out = hosts.left.run(|| TcpStream::connect("10.77.0.2:7")).unwrap().unwrap();
    assert_eq!(control(&out), twin.0);
    drop((out, listener));

    let other = inside(&["kernel", "load", twin.0, "--param", "shift-g=2", "--default"]);
    assert!(stderr(&other).contains("already"), "{}", stderr(&other));
    let again = inside(&["kernel", "load", "lt_dctcp", "--default", "--cgroup", &folder]);
    assert!(stderr(&again).contains("selects `lt_odctcp_snd` already"), "{}", stderr(&again));
    assert_eq!(state("lt_dctcp")["state"], "not loaded", "nothing remains half-loaded");

    let restricted = inside(&["kernel", "load", "lt_tdctcp", "--default"]);
    assert!(stderr(&restricted).contains("--unrestricted"), "{}", stderr(&restricted));
    assert_eq!(state("lt_tdctcp")["state"], "not loaded", "nothing remains half-loaded");

    let refused = lowtide(&["kernel", "unload", twin.0]);
    assert!(
        stderr(&refused).contains("the default of a network namespace"),
        "{}",
        stderr(&refused)
    );
    assert!(lowtide(&["kernel", "unload", "--force", twin.0]).status.success());
    let default = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap();
    assert_eq!(hosts.left.run(default).unwrap().trim(), "reno");
    ended(network, "-INT");
}
