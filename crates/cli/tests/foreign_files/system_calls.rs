//! The judge: which processes and files a trace of system calls has.

use std::path::{Component, Path, PathBuf};

/// The system calls that are traced: all that start a process or name a file to open or change.
pub(crate) const TRACED: &str = "execve,execveat,fork,vfork,clone,clone3,open,openat,openat2,creat,\
    unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,symlink,symlinkat,link,linkat,\
    truncate,chmod,fchmodat,chown,lchown,fchownat,mknod,mknodat,utimensat,connect,bind,mount,ptrace";

/// Files of the system that a process may read: its libraries, and what the kernel tells about it.
const SYSTEM: [&str; 8] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/lib/",
    "/lib64/",
    "/usr/lib/",
    "/proc/",
    "/sys/fs/cgroup/",
    "/sys/devices/system/cpu/",
];
/// Files of `/proc` that a foreign file may name, but the command itself never reads.
const NEVER: [&str; 2] = ["/proc/self/mem", "/proc/kmsg"];

/// Directories of the commands in a trace, and the files that they may read elsewhere.
pub(crate) struct Bounds<'a> {
    /// The only directory with files that may be opened or changed.
    pub(crate) dir: &'a Path,
    /// The directory that relative paths start from.
    pub(crate) cwd: &'a Path,
    /// Files that may be read: a scenario may name any regular file.
    pub(crate) readable: &'a [PathBuf],
}

/// Returns the line if it starts a process, or opens or changes a file out of bounds.
pub(crate) fn harm(line: &str, bounds: &Bounds<'_>) -> Option<String> {
    let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let (name, rest) = call.split_once('(')?;
    match name {
        "fork" | "vfork" => return Some(line.to_owned()),
        "clone" | "clone3" => {
            // A call that was interrupted by another thread has its result on another line.
            return (!rest.contains("CLONE_THREAD")).then(|| line.to_owned());
        }
        "execve" | "execveat" | "connect" | "bind" | "mount" | "ptrace" => {
            return Some(line.to_owned());
        }
        _ if !TRACED.split(',').any(|traced| traced.trim() == name) => return None,
        _ => {}
    }
    let reads = name.starts_with("open")
        && rest.contains("O_RDONLY")
        && !rest.contains("O_CREAT")
        && !rest.contains("O_TRUNC");
    let rest = rest.replace("\\\"", "'");
    let mut quoted = rest.split('"').skip(1).step_by(2);
    // The text of a symbolic link is no file that is touched.
    let skipped = usize::from(name.starts_with("symlink"));
    quoted.by_ref().take(skipped).for_each(drop);
    for path in quoted {
        let place = absolute(&bounds.cwd.join(path));
        let of_system =
            reads && SYSTEM.iter().any(|start| path.starts_with(start)) && !NEVER.contains(&path);
        let named = reads && bounds.readable.contains(&place);
        if !place.starts_with(bounds.dir) && !of_system && !named {
            return Some(line.to_owned());
        }
    }
    None
}

/// The path without `.` and `..`.
fn absolute(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn is_harm(line: &str) -> bool {
    let readable = [PathBuf::from("/etc/group")];
    let (dir, cwd) = (Path::new("/t/work"), Path::new("/t/work/case"));
    harm(line, &Bounds { dir, cwd, readable: &readable }).is_some()
}

pub(crate) fn processes_and_outside_files_are_reported() {
    for line in [
        "7 execve(\"/bin/sh\", [\"sh\"], 0x7ffd /* 3 vars */) = 0",
        "7 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = 9",
        "7 vfork() = 9",
        "7 openat(AT_FDCWD, \"/etc/passwd\", O_RDONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"/dev/zero\", O_RDONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"/proc/self/mem\", O_RDONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"../../outside/a\", O_RDONLY) = -1 ENOENT",
        "7 openat(AT_FDCWD, \"/proc/sys/a\", O_WRONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"/etc/group\", O_RDWR|O_CLOEXEC) = 3",
        "7 rename(\"/t/work/a\", \"/t/outside/a\") = 0",
        "7 symlink(\"a\", \"/t/link\") = 0",
        "7 mkdir(\"/t/other\", 0777) = 0",
        "7 unlink(\"../../outside/a\") = 0",
        "7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0",
    ] {
        assert!(is_harm(line), "{line}");
    }
}

pub(crate) fn reads_of_system_files_and_own_files_are_not() {
    for line in [
        "7 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD, stack=0x7f}, 88) = 8",
        "7 openat(AT_FDCWD, \"/proc/self/status\", O_RDONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"../../../etc/group\", O_RDONLY|O_CLOEXEC) = 3",
        "7 openat(AT_FDCWD, \"d/manifest.json\", O_RDONLY|O_NONBLOCK) = 3",
        "7 openat(AT_FDCWD, \"/t/work/tmp/x\", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3",
        "7 renameat2(AT_FDCWD, \"a\", AT_FDCWD, \"b\", 0) = 0",
        "7 symlink(\"../../outside\", \"/t/work/case/d/new\") = 0",
        "7 +++ exited with 0 +++",
        "7 <... openat resumed>) = 3",
    ] {
        assert!(!is_harm(line), "{line}");
    }
}
