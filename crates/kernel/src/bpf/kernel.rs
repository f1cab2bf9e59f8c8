//! Properties of the running kernel: version, type information, registered controls.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use caps::{CapSet, Capability};

use crate::error::KernelError;

/// The oldest version on which the programs were tested. `bpf_setsockopt` of a control is of 6.0.
const LEAST: (u32, u32) = (6, 1);
const LEAST_TEXT: &str = "6.1";

/// Interval of the questions whether the kernel has unregistered a control.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Sysctl with the names of the registered controls.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Sysctl with the controls that every user may choose. It is read-only in every network namespace
/// but the initial one.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

/// Sysctl with the control of new sockets of this network namespace.
const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Checks the privilege for `operation`, and that the kernel can run our programs.
pub(super) fn check(operation: &'static str) -> Result<(), KernelError> {
    let has = |capability| caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
    let needed = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN];
    let root = nix::unistd::geteuid().is_root() && in_initial_user_namespace();
    if !root || !needed.into_iter().all(has) {
        return Err(KernelError::NotPermitted { operation });
    }
    check_release(&release()?)?;
    check_btf()
}

/// Checks that the kernel has type information, which every program needs.
pub(crate) fn check_btf() -> Result<(), KernelError> {
    if Path::new("/sys/kernel/btf/vmlinux").exists() { Ok(()) } else { Err(KernelError::NoBtf) }
}

/// Root of another user namespace has all capabilities there, and none here.
fn in_initial_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// A release without a number is not refused.
fn check_release(release: &str) -> Result<(), KernelError> {
    match version(release) {
        Some(version) if version < LEAST => {
            Err(KernelError::TooOld { release: release.to_owned(), least: LEAST_TEXT })
        }
        _ => Ok(()),
    }
}

/// Returns the release of the running kernel if it is newer than [`crate::NEWEST_TESTED`].
pub fn untested_release() -> Option<String> {
    release().ok().filter(|release| is_untested(release))
}

/// A release without a number is not reported.
fn is_untested(release: &str) -> bool {
    version(release).is_some_and(|version| version > crate::NEWEST_TESTED)
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
pub(super) fn is_registered(name: &str) -> Result<bool, KernelError> {
    let text = fs::read_to_string(AVAILABLE).map_err(|e| KernelError::io(AVAILABLE, e))?;
    Ok(text.split_whitespace().any(|known| known == name))
}

/// Returns the control of new sockets of the thread's network namespace.
pub(super) fn default_control() -> Result<String, KernelError> {
    let text = fs::read_to_string(DEFAULT_CONTROL);
    Ok(text.map_err(|e| KernelError::io(DEFAULT_CONTROL, e))?.trim().to_owned())
}

/// Waits until the kernel has unregistered a control whose pins are gone; returns whether it has.
/// The kernel ends a link in its own time.
pub(super) fn is_unregistered(name: &str, within: Duration) -> Result<bool, KernelError> {
    let mut left = within;
    while is_registered(name)? {
        if left.is_zero() {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
        left = left.saturating_sub(POLL_INTERVAL);
    }
    Ok(true)
}

/// Makes a registered control the default of new sockets of the thread's network namespace. Routes
/// and cgroups may still select another one.
pub(super) fn set_default(name: &str) -> Result<(), KernelError> {
    // Linux to 7.3 refuses a restricted control too, but keeps a reference to it, until a reboot
    // (`tcp_set_default_congestion_control`).
    let allowed = fs::read_to_string(ALLOWED).map_err(|e| KernelError::io(ALLOWED, e))?;
    let state = fs::metadata(ALLOWED).map_err(|e| KernelError::io(ALLOWED, e))?;
    if state.permissions().readonly() && !allowed.split_whitespace().any(|known| known == name) {
        return Err(KernelError::Restricted(name.to_owned()));
    }
    fs::write(DEFAULT_CONTROL, name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelError::NotLoaded(name.to_owned()),
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
    }

    #[test]
    fn kernels_beyond_the_newest_tested_are_reported() {
        let (major, minor) = crate::NEWEST_TESTED;
        for (release, untested) in [
            (format!("{major}.{minor}.99-1-amd64"), false),
            (format!("{major}.{}-rc1", minor + 1), true),
            (format!("{}.0", major + 1), true),
            ("6.18.44-fc-v669".to_owned(), false),
            ("unknown".to_owned(), false),
        ] {
            assert_eq!(is_untested(&release), untested, "{release}");
        }
    }

    #[test]
    fn kernels_that_cannot_run_the_programs_are_refused() {
        for release in ["6.1.0", "6.18.44-fc-v669", "10.0", "unknown"] {
            assert!(check_release(release).is_ok(), "{release}");
        }
        for release in ["5.10.0-28-amd64", "6.0.1"] {
            let error = check_release(release).unwrap_err().to_string();
            let expected = "the BPF congestion controls need Linux 6.1 or later";
            assert_eq!(error, format!("this kernel is {release}; {expected}"));
        }
    }
}
