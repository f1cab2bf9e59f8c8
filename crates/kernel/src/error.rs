//! Errors, each with what to do.

use std::io;
use std::path::PathBuf;

/// Error of an operation on the kernel.
#[derive(thiserror::Error, Debug)]
pub enum KernelError {
    /// The binary has no BPF programs.
    #[error(
        "this binary has no BPF programs: build it with `cargo build --release --features kernel` \
         (needs clang, libbpf-dev, libelf-dev, zlib1g-dev)"
    )]
    NotBuilt,
    /// No twin has that name.
    #[error("there is no twin `{name}`; there are {known}")]
    UnknownTwin {
        /// The name.
        name: String,
        /// Names of the twins.
        known: String,
    },
    /// A parameter is wrong.
    #[error("{0}")]
    Param(String),
    /// The process may not do it.
    #[error(
        "{operation} needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN outside of any user \
         namespace: run it with sudo on the host"
    )]
    NotPermitted {
        /// The operation.
        operation: &'static str,
    },
    /// The kernel has no type information.
    #[error(
        "this kernel has no BTF at /sys/kernel/btf/vmlinux: it needs CONFIG_DEBUG_INFO_BTF, which \
         distributions set"
    )]
    NoBtf,
    /// The kernel is too old.
    #[error("this kernel is {release}; the BPF congestion controls need Linux {least} or later")]
    TooOld {
        /// Its release.
        release: String,
        /// The least version.
        least: &'static str,
    },
    /// The twin is loaded.
    #[error(
        "`{0}` is loaded already: unload it first (`lowtide kernel unload {0}`), or select it for \
         more sockets without --param"
    )]
    AlreadyLoaded(String),
    /// A control of that name is registered.
    #[error(
        "the kernel has a congestion control `{0}` that lowtide did not load: end the program or \
         remove the module that has the name (`bpftool struct_ops`, `lsmod`)"
    )]
    RegisteredElsewhere(String),
    /// The twin is not loaded.
    #[error("`{0}` is not loaded; `lowtide kernel list` shows what is")]
    NotLoaded(String),
    /// The pins are gone, but the kernel still knows it.
    #[error(
        "`{0}` is still registered although its pins are gone: another program holds its link; \
         `bpftool link` names it"
    )]
    StillRegistered(String),
    /// Sockets use it.
    #[error(
        "{sockets} sockets use `{name}`: close them, or unload with --force; they then keep it \
         until they close, and new sockets cannot choose it"
    )]
    InUse {
        /// Name of the twin.
        name: String,
        /// Number of sockets.
        sockets: usize,
    },
    /// Routes name it.
    #[error(
        "a route names `{name}`: {route}; change it first (`ip route change ... congctl reno`), or \
         unload with --force, which removes the control from the route"
    )]
    RouteInUse {
        /// Name of the twin.
        name: String,
        /// The route.
        route: String,
    },
    /// It is the default of a network namespace.
    #[error(
        "`{0}` is the default of a network namespace: change `net.ipv4.tcp_congestion_control` \
         there, or unload with --force, which sets it to `reno`"
    )]
    DefaultInUse(String),
    /// A network namespace other than the initial one cannot have it as its default.
    #[error(
        "`{0}` is restricted: only the initial network namespace may have it as its default; \
         unload it and load it with --unrestricted, or select it with --cgroup or --route"
    )]
    Restricted(String),
    /// A cgroup selects a twin already.
    #[error("{} selects `{by}` already: unload that first", cgroup.display())]
    AlreadySelected {
        /// The cgroup.
        cgroup: PathBuf,
        /// Name of the twin.
        by: &'static str,
    },
    /// The kernel refused the program.
    #[error("the kernel refused `{name}`: {reason}")]
    Refused {
        /// Name of the program.
        name: String,
        /// Last line of the verifier or libbpf.
        reason: String,
    },
    /// The path is not a cgroup of version 2.
    #[error("{} is no cgroup of version 2: give a directory below a mount of type cgroup2", .0.display())]
    NotCgroup2(PathBuf),
    /// There is no such cgroup.
    #[error("there is no cgroup {}: make it, or start the service that it belongs to", .0.display())]
    NoCgroup(PathBuf),
    /// No BPF file system is mounted.
    #[error(
        "no BPF file system is mounted, and mounting one at {at} failed ({source}): run `mount -t bpf bpf {at}` where that is allowed"
    )]
    NoBpffs {
        /// Its usual place.
        at: &'static str,
        /// The error of the attempt.
        source: io::Error,
    },
    /// A file system is read-only.
    #[error("{} is on a read-only file system: mount it read-write (`mount -o remount,rw`)", .0.display())]
    ReadOnly(PathBuf),
    /// The command `ip` failed.
    #[error("`ip {arguments}` failed: {message}")]
    Ip {
        /// Its arguments.
        arguments: String,
        /// Its message.
        message: String,
    },
    /// An operation on a file failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
}

#[cfg(feature = "objects")]
impl KernelError {
    pub(crate) fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path),
            _ => Self::Io { path, source },
        }
    }
}
