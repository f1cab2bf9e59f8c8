//! Network namespaces.
//!
//! Contract: [`enter_new`] gives this thread, and the threads that it starts later, a namespace without a
//! name. It ends with the last of them and its last socket, whatever ends the process: nothing can be left
//! behind, and the machine's own interfaces, routes and settings are out of reach meanwhile.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sched::{CloneFlags, setns, unshare};

use crate::error::LiveError;

/// The namespace of this thread, as a link that can be compared.
const THREAD_NETNS: &str = "/proc/thread-self/ns/net";
/// Where `ip netns` keeps the namespaces that it makes.
const NETNS_DIRS: [&str; 2] = ["/run/netns", "/var/run/netns"];

thread_local! {
    /// Inode of the namespace that this thread made.
    static CREATED_INODE: Cell<Option<u64>> = const { Cell::new(None) };
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
    CREATED_INODE.set(inode(THREAD_NETNS));
    Ok(())
}

/// A network namespace to do things in, whichever thread asks. It is there as long as a handle, a thread in it or a
/// socket of it is.
#[derive(Clone, Debug)]
pub struct Namespace {
    file: Arc<File>,
    created_here: bool,
}

impl Namespace {
    /// A new one without a name. It has its loopback interface, which is down, and nothing else.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn new() -> Result<Self, LiveError> {
        let file = run_on_thread(|| {
            enter_new()?;
            open(THREAD_NETNS)
        })?;
        Ok(Self { file: Arc::new(file), created_here: true })
    }

    /// That of `ip netns add <name>`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Self, LiveError> {
        let plain = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        let path = |folder: &&str| plain.then(|| format!("{folder}/{name}"));
        let all = NETNS_DIRS.iter().filter_map(path);
        let file = all.map(File::open).find_map(Result::ok).ok_or_else(|| {
            let what =
                format!("find a network namespace `{name}` (`ip netns add {name}` makes it)");
            LiveError::system(what, std::io::ErrorKind::NotFound.into())
        })?;
        Ok(Self { file: Arc::new(file), created_here: false })
    }

    /// That of a file which is one, as `ip netns` keeps them, and which whoever asks has made.
    ///
    /// # Errors
    /// There is no such file.
    pub fn at(path: &Path) -> Result<Self, LiveError> {
        let file = File::open(path)
            .map_err(|e| LiveError::system(format!("open {}", path.display()), e))?;
        Ok(Self { file: Arc::new(file), created_here: true })
    }

    /// What it is known by while it is there, in this boot of the machine.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn inode(&self) -> Result<u64, LiveError> {
        let found = self.file.metadata().map(|m| m.ino());
        found.map_err(|e| LiveError::system("look at a network namespace", e))
    }

    /// A path to it, for as long as this handle is there.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }

    /// Moves this thread into it for good.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), LiveError> {
        setns(&*self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|e| LiveError::system("enter a network namespace", e.into()))?;
        CREATED_INODE.set(inode(THREAD_NETNS).filter(|_| self.created_here));
        Ok(())
    }

    /// That of a process.
    ///
    /// # Errors
    /// There is none of that number, or one of somebody else.
    pub fn of_process(pid: u32) -> Result<Self, LiveError> {
        Ok(Self { file: Arc::new(open(&format!("/proc/{pid}/ns/net"))?), created_here: false })
    }

    /// Does `work` on a thread that is in this namespace; sockets and devices that it makes stay there.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or without a thread.
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

/// Whoever enters a namespace does so on a thread of its own, so that nobody else is moved.
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

/// Whether this thread may be in the namespace of the machine (or container) itself: it did not make the one that
/// it is in, that one was not made by `ip netns`, and nothing shows that the first process is in another.
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

/// The value of `net.<name>` for the namespace of this thread.
///
/// # Errors
/// There is none.
pub fn sysctl(name: &str) -> Result<String, LiveError> {
    let path = sysctl_path(name);
    fs::read_to_string(&path).map_err(|e| LiveError::system(format!("read {path}"), e))
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/net/{}", name.replace('.', "/"))
}

/// Sets `net.<name>` (`ipv4.tcp_ecn`) for the namespace of this thread, which it must have made.
///
/// # Errors
/// [`LiveError::HostNamespace`] in that of the machine, whose settings are left alone.
pub fn set_sysctl(name: &str, value: &str) -> Result<(), LiveError> {
    if in_host_namespace() {
        return Err(LiveError::HostNamespace);
    }
    let path = sysctl_path(name);
    fs::write(&path, value).map_err(|e| LiveError::system(format!("write {path}"), e))
}
