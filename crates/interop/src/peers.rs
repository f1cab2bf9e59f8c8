//! Peer stacks: whether this machine has them, and how their programs are built.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lowtide_live::netns::Namespace;

/// Folder with the sources of peers in Go and C.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Header path of Debian's package.
const LWIP_HEADERS: &str = "-I/usr/include/lwip";

/// An independent TCP implementation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
pub enum Peer {
    /// The kernel of this machine.
    Linux,
    /// gVisor's netstack.
    Gvisor,
    /// smoltcp.
    Smoltcp,
    /// lwIP.
    Lwip,
}

/// All peers, in table order.
pub const PEERS: [Peer; 4] = [Peer::Linux, Peer::Gvisor, Peer::Smoltcp, Peer::Lwip];

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "linux",
            Self::Gvisor => "gvisor",
            Self::Smoltcp => "smoltcp",
            Self::Lwip => "lwip",
        })
    }
}

/// Reason that a peer is not available.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingDependency {
    /// The missing dependency and how to install it.
    pub why: String,
    /// Namespaces or TUN interfaces are missing: `LOWTIDE_REQUIRE_ROOT=1` makes that a failure in
    /// tests. Otherwise a program or a library is missing, and `LOWTIDE_REQUIRE_PEERS=1` does so.
    pub is_privilege: bool,
}

impl MissingDependency {
    fn program(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_privilege: false }
    }
}

/// A program that executes a [`crate::script::EndpointScript`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerProgram {
    /// The executable.
    pub path: PathBuf,
    /// Arguments before those of the script.
    pub args: Vec<String>,
    /// The runner creates the TUN interface, because the stack is the kernel's.
    pub is_kernel: bool,
}

/// Checks the privileges to create namespaces and TUN interfaces.
///
/// # Errors
/// The missing one.
pub fn privileges() -> Result<(), MissingDependency> {
    let right = |why| MissingDependency { why, is_privilege: true };
    Namespace::new().map_err(|e| right(e.to_string()))?;
    if !Path::new("/dev/net/tun").exists() {
        return Err(right("there is no /dev/net/tun".to_owned()));
    }
    Ok(())
}

/// Checks that this machine has the dependencies of `peer`. Compiles and downloads nothing.
///
/// # Errors
/// The first missing dependency.
pub fn probe(peer: Peer) -> Result<(), MissingDependency> {
    privileges()?;
    let answers = |program: &str, arg: &str| {
        let mut command = Command::new(program);
        command.arg(arg).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    match peer {
        Peer::Gvisor if !answers("go", "version") => {
            Err(MissingDependency::program("there is no Go toolchain (`go`)"))
        }
        Peer::Lwip if !answers("cc", "--version") => {
            Err(MissingDependency::program("there is no C compiler (`cc`)"))
        }
        Peer::Lwip if !has_lwip() => Err(MissingDependency::program(
            "there is no lwIP: `apt-get install liblwip-dev` installs it",
        )),
        _ => Ok(()),
    }
}

/// True if a C program finds lwIP's headers and library.
fn has_lwip() -> bool {
    let mut command = Command::new("cc");
    command.args(["-x", "c", LWIP_HEADERS, "-o", "/dev/null", "-", "-llwip"]);
    command.stdin(Stdio::piped());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return false };
    let text = "#include <lwip/tcpip.h>\nint main(void) { tcpip_init(0, 0); return 0; }\n";
    let told = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    matches!(told, Some(Ok(()))) && child.wait().is_ok_and(|s| s.success())
}

/// Reason that a peer's program was not built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuildError {
    /// A dependency is missing: the case is skipped.
    Missing(MissingDependency),
    /// Our source does not compile: the case fails.
    Broken(String),
}

/// Builds the program of `peer` in `folder`. `ours` is this crate's program, which contains the
/// Rust peers.
///
/// # Errors
/// A dependency is missing, or the source does not compile.
pub fn build(peer: Peer, ours: &Path, folder: &Path) -> Result<PeerProgram, BuildError> {
    probe(peer).map_err(BuildError::Missing)?;
    let plain = |path: PathBuf| PeerProgram { path, args: Vec::new(), is_kernel: false };
    match peer {
        Peer::Linux => {
            let args = vec!["peer".to_owned(), "kernel".to_owned()];
            Ok(PeerProgram { path: ours.to_owned(), args, is_kernel: true })
        }
        Peer::Smoltcp => {
            let args = vec!["peer".to_owned(), "smoltcp".to_owned()];
            Ok(PeerProgram { path: ours.to_owned(), args, is_kernel: false })
        }
        Peer::Gvisor => gvisor(folder).map(plain),
        Peer::Lwip => lwip(folder).map(plain),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

fn make_folder(folder: &Path) -> Result<(), BuildError> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|e| BuildError::Broken(format!("cannot make {}: {e}", folder.display())))
}

/// Builds `out` under a temporary name: another process may be running the existing file.
fn finish(
    out: &Path,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, BuildError> {
    let unfinished = out.with_extension(std::process::id().to_string());
    make(&unfinished).map_err(BuildError::Broken)?;
    std::fs::rename(&unfinished, out)
        .map_err(|e| BuildError::Broken(format!("cannot write {}: {e}", out.display())))?;
    Ok(out.to_owned())
}

fn gvisor(folder: &Path) -> Result<PathBuf, BuildError> {
    make_folder(folder)?;
    let source = Path::new(SOURCES).join("gvisor");
    let out = folder.join("gvisor-peer");
    let go = || {
        let mut command = Command::new("go");
        // Uses the installed toolchain: no other is downloaded.
        command.current_dir(&source).env("GOTOOLCHAIN", "local").env("CGO_ENABLED", "0");
        command
    };
    run(go().args(["mod", "download", "gvisor.dev/gvisor"])).map_err(|why| {
        let why = format!("cannot download the Go module gvisor.dev/gvisor: {why}");
        BuildError::Missing(MissingDependency::program(why))
    })?;
    finish(&out, |unfinished| run(go().args(["build", "-trimpath", "-o"]).arg(unfinished).arg(".")))
}

fn lwip(folder: &Path) -> Result<PathBuf, BuildError> {
    make_folder(folder)?;
    let source = Path::new(SOURCES).join("lwip/peer.c");
    let out = folder.join("lwip-peer");
    finish(&out, |unfinished| {
        let mut command = Command::new("cc");
        command.args([
            "-std=gnu11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pthread",
            LWIP_HEADERS,
        ]);
        run(command.arg("-o").arg(unfinished).arg(&source).arg("-llwip"))
    })
}
