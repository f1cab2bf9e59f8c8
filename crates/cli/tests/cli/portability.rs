//! The simulator builds on systems other than Linux: it needs no crate that exists for Linux only.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::workspace::metadata;

/// The simulator: runs of scenarios and papers, with figures and reports.
const SIMULATOR: [&str; 2] = ["lowtide-lab", "lowtide-papers"];

/// Our crates and third-party crates that need Linux or its devices.
const LINUX_ONLY: [&str; 17] = [
    "aya",
    "caps",
    "io-uring",
    "libbpf-sys",
    "linux-raw-sys",
    "lowtide-bottleneck",
    "lowtide-interop",
    "lowtide-live",
    "lowtide-testbed",
    "netlink-packet-core",
    "netlink-packet-route",
    "netlink-sys",
    "nix",
    "procfs",
    "rustix",
    "smoltcp",
    "tun-rs",
];

fn host_triple() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("a line with the host").to_owned()
}

/// Names of all crates that `roots` need, with build dependencies. Dependencies of one platform are
/// followed only if `follow` accepts their `cfg`.
fn needed(graph: &Value, roots: &[&str], follow: fn(&str) -> bool) -> BTreeSet<String> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = array(&graph["packages"]);
    let names: BTreeMap<_, _> =
        packages.iter().map(|p| (text(&p["id"]), text(&p["name"]))).collect();
    let nodes = array(&graph["resolve"]["nodes"]);
    let edges: BTreeMap<_, _> = nodes.iter().map(|n| (text(&n["id"]), array(&n["deps"]))).collect();
    let is_root = |name: &String| roots.contains(&name.as_str());
    let mut todo: Vec<&String> =
        names.iter().filter(|(_, n)| is_root(n)).map(|(id, _)| id).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if !seen.insert(id) {
            continue;
        }
        let used = |dependency: &Value| {
            array(&dependency["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"] != "dev" && kind["target"].as_str().is_none_or(follow))
        };
        for dependency in edges[id].iter().filter(|d| used(d)) {
            todo.extend(names.get_key_value(&text(&dependency["pkg"])).map(|(id, _)| id));
        }
    }
    seen.into_iter().map(|id| names[id].clone()).collect()
}

#[test]
fn the_simulator_needs_no_linux() {
    let graph = metadata(&["--filter-platform", &host_triple()]);
    let simulator = needed(&graph, &SIMULATOR, |cfg| !cfg.contains("linux"));
    assert!(simulator.contains("parquet") && simulator.contains("lowtide-tcp"), "{simulator:?}");
    for name in LINUX_ONLY {
        assert!(!simulator.contains(name), "the simulator needs {name}, which needs Linux");
    }
    // A walk from a crate that has them finds them.
    if cfg!(target_os = "linux") {
        let live = needed(&graph, &["lowtide-live"], |_| true);
        let found = LINUX_ONLY.iter().filter(|name| live.contains(**name)).count();
        assert!(found >= 7, "{live:?}");
    }
}

#[test]
fn the_command_without_default_features_has_no_real_packets() {
    let tree = |features: &[&str]| {
        let output = Command::new(env!("CARGO"))
            .args(["tree", "-p", "lowtide", "--offline", "-e", "normal", "--prefix", "depth"])
            .args(["--target", &host_triple(), "--no-dedupe"])
            .args(features)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("cargo tree runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        text.lines().map(name).collect::<Vec<_>>()
    };
    // `ctrlc` needs nix for signals, `clap` and the free disk space need rustix.
    let allowed = ["linux-raw-sys", "nix", "rustix"];
    let forbidden: Vec<&str> = LINUX_ONLY
        .into_iter()
        .chain(["lowtide-typeset"])
        .filter(|n| !allowed.contains(n))
        .collect();
    let found = |tree: &[String]| {
        let bare = |line: &String| line.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
        let names: BTreeSet<String> = tree.iter().map(bare).collect();
        forbidden.iter().filter(|n| names.contains(**n)).count()
    };
    let bare = tree(&["--no-default-features"]);
    assert_eq!(found(&bare), 0, "{bare:?}");
    assert!(!bare.contains(&"1nix".to_owned()), "nix is a direct dependency");
    // The other features have them, so their absence above is a result.
    if cfg!(target_os = "linux") {
        assert!(found(&tree(&["--features", "figures"])) >= 8);
    }
    let default = tree(&[]);
    assert!(!default.iter().any(|line| line.ends_with("lowtide-typeset")), "{default:?}");
}
