//! Network namespaces.
//!
//! Contract: [`enter_new`] moves this thread, and threads that it starts later, into a new
//! namespace without a name. The namespace ends with the last of these threads and its last socket,
//! however the process ends. So nothing is left behind, and the machine's own interfaces, routes
//! and settings stay out of reach.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::LiveError;

/// Path of the namespace of this thread, whose inode can be compared.
const THREAD_NETNS: &str = "/proc/thread-self/ns/net";
/// Folders in which `ip netns` keeps its namespaces.
const NETNS_DIRS: [&str; 2] = ["/run/netns", "/var/run/netns"];

thread_local! {
    /// Inode of the namespace that this thread created.
    static CREATED_INODE: Cell<Option<u64>> = const { Cell::new(None) };
}

fn inode(path: &str) -> Option<u64> {
    fs::metadata(path).ok().map(|m| m.ino())
}

/// Moves this thread into a new namespace. To be called before threads are started that are to be
/// in it as well.
///
/// # Errors
/// CAP_SYS_ADMIN is missing.
pub fn enter_new() -> Result<(), LiveError> {
    unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|e| LiveError::system("create a network namespace", e.into()))?;
    CREATED_INODE.set(inode(THREAD_NETNS));
    Ok(())
}

/// A handle of a network namespace, usable from any thread. The namespace exists as long as a
/// handle, a thread in it or a socket of it does.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
    created_here: bool,
}

impl Namespace {
    /// Creates a namespace without a name. It contains only its loopback interface, which is down.
    ///
    /// # Errors
    /// CAP_SYS_ADMIN is missing.
    pub fn new() -> Result<Self, LiveError> {
        let file = run_on_thread(|| {
            enter_new()?;
            open(THREAD_NETNS)
        })?;
        Ok(Self { file: Arc::new(file), created_here: true })
    }

    /// Opens the namespace of `ip netns add <name>`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Self, LiveError> {
        let valid = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        let path = |folder: &&str| valid.then(|| format!("{folder}/{name}"));
        let all = NETNS_DIRS.iter().filter_map(path);
        let file = all.map(File::open).find_map(Result::ok).ok_or_else(|| {
            let what = format!(
                "find a network namespace `{name}` (`ip netns add {}` creates it)",
                lowtide_output::shell::word(name)
            );
            LiveError::system(what, std::io::ErrorKind::NotFound.into())
        })?;
        Ok(Self { file: Arc::new(file), created_here: false })
    }

    /// Opens a namespace file, as `ip netns` keeps them, which the caller has created.
    ///
    /// # Errors
    /// There is no such file.
    pub fn at(path: &Path) -> Result<Self, LiveError> {
        let file = File::open(path)
            .map_err(|e| LiveError::system(format!("open {}", path.display()), e))?;
        Ok(Self { file: Arc::new(file), created_here: true })
    }

    /// Its inode, unique as long as it exists.
    ///
    /// # Errors
    /// The system call failed.
    pub fn inode(&self) -> Result<u64, LiveError> {
        let inode = self.file.metadata().map(|m| m.ino());
        inode.map_err(|e| LiveError::system("read the inode of a network namespace", e))
    }

    /// A path of the namespace, valid as long as this handle exists.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Moves this thread into the namespace.
    ///
    /// # Errors
    /// CAP_SYS_ADMIN is missing.
    pub fn enter(&self) -> Result<(), LiveError> {
        setns(&*self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|e| LiveError::system("enter a network namespace", e.into()))?;
        CREATED_INODE.set(inode(THREAD_NETNS).filter(|_| self.created_here));
        Ok(())
    }

    /// Opens the namespace of a process.
    ///
    /// # Errors
    /// There is no such process, or it belongs to another user.
    pub fn of_process(pid: u32) -> Result<Self, LiveError> {
        Ok(Self { file: Arc::new(open(&format!("/proc/{pid}/ns/net"))?), created_here: false })
    }

    /// Runs `work` on a thread in this namespace; its sockets and devices stay there.
    ///
    /// # Errors
    /// CAP_SYS_ADMIN is missing, or no thread can be started.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LiveError> {
        run_on_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open(path: &str) -> Result<File, LiveError> {
    File::open(path).map_err(|e| LiveError::system(format!("open {path}"), e))
}

/// Runs `work` on a new thread, so that entering a namespace moves no other code.
fn run_on_thread<T: Send>(
    work: impl FnOnce() -> Result<T, LiveError> + Send,
) -> Result<T, LiveError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, work)
            .map_err(|e| LiveError::system("start a thread", e))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Whether this thread may be in the namespace of the machine (or container) itself. It is not if
/// the thread created its namespace, if `ip netns` did, or if process 1 is in another one.
pub fn in_host_namespace() -> bool {
    let Some(ours) = inode(THREAD_NETNS) else { return true };
    let named = |folder: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|e| e.metadata().ok()).any(|m| m.ino() == ours)
    };
    CREATED_INODE.get() != Some(ours)
        && !NETNS_DIRS.into_iter().any(named)
        && inode("/proc/1/ns/net").is_none_or(|first| first == ours)
}

/// The value of `net.<name>` in the namespace of this thread.
///
/// # Errors
/// There is no such setting.
pub fn sysctl(name: &str) -> Result<String, LiveError> {
    let path = sysctl_path(name);
    fs::read_to_string(&path).map_err(|e| LiveError::system(format!("read {path}"), e))
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/net/{}", name.replace('.', "/"))
}

/// Sets `net.<name>` (`ipv4.tcp_ecn`) in the namespace of this thread.
///
/// # Errors
/// [`LiveError::HostNamespace`] in the machine's own namespace, whose settings are not changed.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), LiveError> {
    if in_host_namespace() {
        return Err(LiveError::HostNamespace);
    }
    let path = sysctl_path(name);
    fs::write(&path, value).map_err(|e| LiveError::system(format!("write {path}"), e))
}
