//! The first process inside the machine.
//!
//! Contract: [`main`] is called as process 1 with the job's folder. It mounts /proc, /sys and /run,
//! loads modules, lets namespaces use any congestion control, runs the job's command, answers, and
//! powers the machine off. It also powers off when the host is gone: the host holds the other end
//! of the first terminal, a pipe.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use lowtide_output::streams;
use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, sync};

use crate::error::UmlError;
use crate::job::{
    BOOTED, INTERRUPT, JOB, Job, JobOutcome, OUTCOME, STDERR, STDOUT, read_json, write_json,
};

/// Path of this program that no mount can hide.
const SELF: &str = "/proc/self/exe";
/// The terminal whose other end the host holds.
const CONTROL_TTY: &str = "/dev/tty1";
/// Environment variable that is set for commands inside the machine only.
const INSIDE_VAR: &str = "LOWTIDE_INSIDE_UML";
/// Linux's `O_NOCTTY`: the terminal does not become the controlling one.
const O_NOCTTY: i32 = 0o400;

/// True if this process is a command inside a machine.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE_VAR).is_some()
}

/// Runs the job of `folder` and powers the machine off.
pub fn main(folder: &Path) -> ! {
    if std::process::id() == 1 {
        let done = prepare(folder).and_then(|job| work(&job, folder));
        let answer = done.unwrap_or_else(|e| JobOutcome::Failed(e.to_string()));
        if let Err(e) = write_json(folder, OUTCOME, &answer) {
            streams::note(format_args!("lowtide: {e}"));
        }
        power_off();
    }
    streams::note(
        "error: this command is for the first process of a machine that `lowtide testbed uml` boots",
    );
    std::process::exit(2)
}

/// Powers the machine off.
fn power_off() -> ! {
    sync();
    let _ = reboot(RebootMode::RB_POWER_OFF);
    // The kernel halts when its process 1 ends.
    std::process::exit(1)
}

fn attach(kind: &str, at: &Path, options: Option<&Path>) -> Result<(), UmlError> {
    let none: Option<&str> = None;
    match mount(none, at, Some(kind), MsFlags::empty(), options) {
        // The kernel has mounted it already.
        Ok(()) | Err(Errno::EBUSY) => Ok(()),
        Err(e) => Err(UmlError::system(format!("mount {kind} on {}", at.display()), e)),
    }
}

/// Mounts the file systems that every command needs; returns the job.
fn prepare(folder: &Path) -> Result<Job, UmlError> {
    for (kind, at) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")]
    {
        attach(kind, Path::new(at), None)?;
    }
    mount_hostfs(folder)?;
    let job: Option<Job> = read_json(folder, JOB)?;
    let job = job.ok_or_else(|| UmlError::Guest("there is no job".to_owned()))?;
    for writable in &job.writable {
        mount_hostfs(writable)?;
    }
    Ok(job)
}

/// Gives the machine write access to a folder of the host.
fn mount_hostfs(folder: &Path) -> Result<(), UmlError> {
    // Our mount on /run hides everything below it.
    if folder.starts_with("/run") {
        let failed = |e| UmlError::system(format!("make {}", folder.display()), e);
        fs::create_dir_all(folder).map_err(failed)?;
    }
    attach("hostfs", folder, Some(folder))
}

/// Loads a module; a loaded one is not an error.
fn load(path: &Path) -> Result<(), UmlError> {
    let failed = |e: std::io::Error| UmlError::system(format!("load {}", path.display()), e);
    let file = File::open(path).map_err(failed)?;
    match finit_module(file, c"", ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(e) => Err(failed(e.into())),
    }
}

/// A namespace may select, and an unprivileged socket may use, the controls of this list only.
fn allow_all_controls() -> Result<(), UmlError> {
    let folder = Path::new("/proc/sys/net/ipv4");
    let all = fs::read_to_string(folder.join("tcp_available_congestion_control"));
    all.and_then(|all| fs::write(folder.join("tcp_allowed_congestion_control"), all))
        .map_err(|e| UmlError::system("allow all congestion controls", e))
}

fn work(job: &Job, folder: &Path) -> Result<JobOutcome, UmlError> {
    for module in &job.modules {
        load(module)?;
    }
    allow_all_controls()?;
    let out = |name: &str| {
        let path = folder.join(name);
        let file = File::options().append(true).open(&path);
        file.map_err(|e| UmlError::system(format!("open {}", path.display()), e))
    };
    let tether = File::options().read(true).custom_flags(O_NOCTTY).open(CONTROL_TTY);
    let tether = tether.map_err(|e| UmlError::system(format!("open {CONTROL_TTY}"), e))?;
    let temporary = Path::new("/run/tmp");
    fs::create_dir_all(temporary).map_err(|e| UmlError::system("make /run/tmp", e))?;
    write_json(folder, BOOTED, &true)?;
    let child = Command::new(SELF)
        .args(&job.args)
        .current_dir(&job.folder)
        .env_clear()
        .envs(&job.environment)
        .env("TMPDIR", temporary)
        .env(INSIDE_VAR, "1")
        .stdin(Stdio::null())
        .stdout(out(STDOUT)?)
        .stderr(out(STDERR)?)
        .spawn()
        .map_err(|e| UmlError::system(format!("start in {}", job.folder.display()), e))?;
    let child = Pid::from_raw(child.id().cast_signed());
    let watch = std::thread::Builder::new().spawn(move || handle_control(tether, child));
    watch.map_err(|e| UmlError::system("start a thread", e))?;
    loop {
        // Process 1 also reaps orphans.
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == child => {
                return Ok(JobOutcome::Exited(status));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return Ok(JobOutcome::Signalled(signal as i32));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(UmlError::system("wait for the command", e)),
        }
    }
}

/// Executes the host's control messages until the host is gone; then there is no work left.
fn handle_control(tether: File, child: Pid) {
    for line in BufReader::new(tether).lines() {
        match line {
            Ok(word) if word.trim() == INTERRUPT => {
                let _ = kill(child, Signal::SIGINT);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    power_off();
}
