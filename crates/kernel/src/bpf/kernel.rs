//! Properties of the running kernel: version, type information, registered controls.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::KernelError;

/// Least version: struct_ops links (pinning) are of 6.4, the flags of the ACK in `cong_control` of
/// 6.10. The verifier of 6.8 refuses the programs.
const LEAST: (u32, u32) = (6, 10);
const LEAST_TEXT: &str = "6.10";

/// Sysctl with the names of the registered controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Sysctl with the control of new sockets of this network namespace.
const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Checks the kernel and the privilege for loading.
pub(crate) fn check() -> Result<(), KernelError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(KernelError::NotPermitted { operation: "loading a BPF congestion control" });
    }
    let release = release()?;
    if version(&release).is_some_and(|version| version < LEAST) {
        return Err(KernelError::TooOld { release, least: LEAST_TEXT });
    }
    check_btf()
}

/// Checks that the kernel has type information, which every program needs.
pub(crate) fn check_btf() -> Result<(), KernelError> {
    if Path::new("/sys/kernel/btf/vmlinux").exists() { Ok(()) } else { Err(KernelError::NoBtf) }
}

fn release() -> Result<String, KernelError> {
    let path = "/proc/sys/kernel/osrelease";
    let text = fs::read_to_string(path).map_err(|e| KernelError::io(path, e))?;
    Ok(text.trim().to_owned())
}

/// Returns major and minor number of a release such as `6.18.44-1-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns whether a control of that name is registered.
pub(crate) fn is_registered(name: &str) -> Result<bool, KernelError> {
    let text = fs::read_to_string(AVAILABLE).map_err(|e| KernelError::io(AVAILABLE, e))?;
    Ok(text.split_whitespace().any(|known| known == name))
}

/// Returns the control of new sockets of the thread's network namespace.
pub(super) fn default_control() -> Result<String, KernelError> {
    let text = fs::read_to_string(DEFAULT_CONTROL);
    Ok(text.map_err(|e| KernelError::io(DEFAULT_CONTROL, e))?.trim().to_owned())
}

/// Makes a registered control the default of new sockets of the thread's network namespace. Routes
/// and cgroups may still select another one.
pub(super) fn set_default(name: &str) -> Result<(), KernelError> {
    fs::write(DEFAULT_CONTROL, name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::NotLoaded(name.to_owned()),
        io::ErrorKind::PermissionDenied => {
            KernelError::NotPermitted { operation: "changing the default congestion control" }
        }
        _ => KernelError::io(DEFAULT_CONTROL, error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_a_major_and_a_minor_number() {
        for (text, expected) in [
            ("6.18.44-fc-v669", Some((6, 18))),
            ("5.10.0-28-amd64", Some((5, 10))),
            ("6.8.0-31-generic", Some((6, 8))),
            ("7.0-rc1", Some((7, 0))),
            ("unknown", None),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
        assert!((6, 8) < LEAST && (6, 12) > LEAST && (10, 0) > LEAST);
    }
}
