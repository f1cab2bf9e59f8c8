//! Test prerequisites and their probes.

use std::path::Path;
use std::process::{Command, Stdio};

/// A prerequisite of a test.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Name in messages.
    pub name: &'static str,
    /// Checks for the prerequisite. The error says why it is missing.
    pub probe: fn() -> Result<(), String>,
    /// Whether `LOWTIDE_REQUIRE_ROOT=1` applies: root or a package provides it. A kernel version,
    /// which one machine cannot change, must be met on a machine of the suite `kernels`.
    pub enforceable: bool,
}

/// New network namespaces: `CAP_SYS_ADMIN`.
pub const NAMESPACES: Need =
    Need { name: "a network namespace", probe: namespace, enforceable: true };
/// TUN interfaces: `/dev/net/tun`, open for reading and writing.
pub const TUN: Need = Need { name: "/dev/net/tun", probe: tun, enforceable: true };
/// The command `ip` of iproute2.
pub const IP: Need = Need { name: "the command `ip`", probe: ip, enforceable: true };
/// A kernel with Accurate ECN (`net.ipv4.tcp_ecn = 3`, Linux 7.0 and later).
pub const ACC_ECN: Need =
    Need { name: "a kernel with Accurate ECN", probe: acc_ecn, enforceable: false };

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a namespace belongs to a thread")]
fn in_namespace(probe: fn() -> Result<(), String>) -> Result<(), String> {
    use nix::sched::{CloneFlags, unshare};
    let probed = std::thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|e| format!("{e}; run as root"))?;
        probe()
    });
    probed.join().unwrap_or_else(|_| Err("the probe failed".into()))
}

#[cfg(not(target_os = "linux"))]
fn in_namespace(_: fn() -> Result<(), String>) -> Result<(), String> {
    Err("only Linux has network namespaces".into())
}

fn namespace() -> Result<(), String> {
    in_namespace(|| Ok(()))
}

fn tun() -> Result<(), String> {
    let opened = std::fs::File::options().read(true).write(true).open("/dev/net/tun");
    opened.map(drop).map_err(|e| e.to_string())
}

fn ip() -> Result<(), String> {
    let mut command = Command::new("ip");
    let status = command.arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map(drop).map_err(|e| e.to_string())
}

fn acc_ecn() -> Result<(), String> {
    const KEY: &str = "/proc/sys/net/ipv4/tcp_ecn";
    in_namespace(|| {
        if !Path::new(KEY).exists() {
            return Err(format!("{KEY} is missing"));
        }
        std::fs::write(KEY, "3").map_err(|e| format!("{KEY} does not accept 3: {e}"))
    })
}
