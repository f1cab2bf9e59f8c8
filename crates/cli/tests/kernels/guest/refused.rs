//! Commands of `lowtide kernel` on a machine that lacks something, and their messages.

use std::fs;
use std::path::Path;

use nix::mount::umount;
use serde_json::json;

use super::{DCTCP_MODULE, Report, attach, command, load_module};

/// Names of the registered controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Runs `lowtide kernel` and reports its status, its messages and the controls that exist then.
fn try_kernel(report: &mut Report, case: &str, args: &[&str]) {
    let output = command("lowtide", &[&["kernel"], args].concat());
    report.line(&json!({
        "case": case,
        "status": output.status.code(),
        "stdout": String::from_utf8_lossy(&output.stdout),
        "stderr": String::from_utf8_lossy(&output.stderr),
        "controls": fs::read_to_string(AVAILABLE).unwrap().split_whitespace().collect::<Vec<_>>(),
    }));
}

/// Loads all controls.
pub(super) fn load_only(report: &mut Report) {
    for name in ["lt_dctcp", "lt_odctcp_snd", "lt_odctcp_rcv", "lt_odctcp", "lt_tdctcp"] {
        try_kernel(report, name, &["load", name]);
    }
    try_kernel(report, "stats", &["stats"]);
    try_kernel(report, "list", &["list"]);
}

pub(super) fn run(report: &mut Report) {
    let btf = "/sys/kernel/btf";
    attach("tmpfs", btf);
    try_kernel(report, "load without BTF", &["load", "lt_dctcp"]);
    try_kernel(report, "stats without BTF", &["stats"]);
    umount(btf).unwrap();

    try_kernel(report, "load", &["load", "lt_dctcp"]);
    try_kernel(report, "load again", &["load", "lt_dctcp"]);
    load_module(Path::new(DCTCP_MODULE));
    try_kernel(report, "list beside tcp_dctcp", &["list"]);
    try_kernel(report, "unload beside tcp_dctcp", &["unload", "lt_dctcp"]);
    try_kernel(report, "load beside tcp_dctcp", &["load", "lt_dctcp"]);

    // As if another program had registered the name: our pins are out of reach.
    attach("bpf", "/sys/fs/bpf");
    attach("bpf", "/sys/fs/bpf");
    try_kernel(report, "load a foreign name", &["load", "lt_dctcp"]);
    try_kernel(report, "unload a foreign name", &["unload", "lt_dctcp"]);
    try_kernel(report, "list a foreign name", &["list"]);
}
