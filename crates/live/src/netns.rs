//! Network namespaces.
//!
//! Contract: [`enter_new`] gives this thread, and the threads that it starts later, a namespace without a
//! name. It ends with the last of them and its last socket, whatever ends the process: nothing can be left
//! behind, and the machine's own interfaces, routes and settings are out of reach meanwhile.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sched::{CloneFlags, unshare};

use crate::error::LiveError;

/// The namespace of this thread, as a link that can be compared.
const OURS: &str = "/proc/thread-self/ns/net";
/// Where `ip netns` keeps the namespaces that it makes.
const NAMED: [&str; 2] = ["/run/netns", "/var/run/netns"];

thread_local! {
    /// Inode of the namespace that this thread made.
    static MADE: Cell<Option<u64>> = const { Cell::new(None) };
}

fn inode(path: &str) -> Option<u64> {
    fs::metadata(path).ok().map(|m| m.ino())
}

/// Moves this thread into a namespace of its own. To be called before other threads are started that are to
/// be in it as well.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn enter_new() -> Result<(), LiveError> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|e| LiveError::system("make a network namespace", e.into()))?;
    MADE.set(inode(OURS));
    Ok(())
}

/// Whether this thread may be in the namespace of the machine (or container) itself: it did not make the one that
/// it is in, that one was not made by `ip netns`, and nothing shows that the first process is in another.
pub fn is_the_machines() -> bool {
    let Some(ours) = inode(OURS) else { return true };
    let named = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|e| e.metadata().ok()).any(|m| m.ino() == ours)
    };
    MADE.get() != Some(ours)
        && !NAMED.into_iter().any(named)
        && inode("/proc/1/ns/net").is_none_or(|first| first == ours)
}

/// The value of `net.<name>` for the namespace of this thread.
///
/// # Errors
/// There is none.
pub fn sysctl(name: &str) -> Result<String, LiveError> {
    let path = path_of(name);
    fs::read_to_string(&path).map_err(|e| LiveError::system(format!("read {path}"), e))
}

/// The same; `None` where there is none.
pub(crate) fn sysctl_of(name: &str) -> Option<String> {
    fs::read_to_string(path_of(name)).ok()
}

fn path_of(name: &str) -> String {
    format!("/proc/sys/net/{}", name.replace('.', "/"))
}

/// Sets `net.<name>` (`ipv4.tcp_ecn`) for the namespace of this thread, which it must have made.
///
/// # Errors
/// [`LiveError::OwnNamespace`] in that of the machine, whose settings are left alone.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), LiveError> {
    if is_the_machines() {
        return Err(LiveError::OwnNamespace);
    }
    let path = path_of(name);
    fs::write(&path, value).map_err(|e| LiveError::system(format!("write {path}"), e))
}
