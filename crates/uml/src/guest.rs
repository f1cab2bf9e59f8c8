//! The first process inside the machine.
//!
//! Contract: [`main`] is called as process 1 with the folder of the job. It makes /proc, /sys and /run, loads modules, lets
//! namespaces choose any congestion control, gives the command what the job says, answers, and switches the
//! machine off, also when the host is gone: its end of the first terminal is a pipe that the host holds open.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, sync};

use crate::error::UmlError;
use crate::job::{
    Answer, BOOTED, INTERRUPT, JOB, Job, OUTCOME, STDERR, STDOUT, read_json, write_json,
};

/// A path of this program that nothing can be mounted over.
const SELF: &str = "/proc/self/exe";
/// The terminal whose other end the host holds.
const CONTROL_TTY: &str = "/dev/tty1";
/// What the environment of a command inside has, and no other.
const INSIDE_VAR: &str = "LOWTIDE_INSIDE_UML";
/// Linux: the terminal does not become ours (`O_NOCTTY`).
const O_NOCTTY: i32 = 0o400;

/// Whether this process is a command inside a machine.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE_VAR).is_some()
}

/// Does the job of `folder` and switches the machine off.
pub fn main(folder: &Path) -> ! {
    if std::process::id() == 1 {
        let done = prepare(folder).and_then(|job| work(&job, folder));
        let answer = done.unwrap_or_else(|e| Answer::Failed(e.to_string()));
        if let Err(e) = write_json(folder, OUTCOME, &answer) {
            eprintln!("lowtide: {e}");
        }
        power_off();
    }
    eprintln!(
        "error: this command is for the first process of a machine that `lowtide testbed uml` boots"
    );
    std::process::exit(2)
}

/// Switches the machine off.
fn power_off() -> ! {
    sync();
    let _ = reboot(RebootMode::RB_POWER_OFF);
    // The kernel ends with its first process.
    std::process::exit(1)
}

fn attach(kind: &str, at: &Path, options: Option<&Path>) -> Result<(), UmlError> {
    let none: Option<&str> = None;
    match mount(none, at, Some(kind), MsFlags::empty(), options) {
        // The kernel has mounted it by itself.
        Ok(()) | Err(Errno::EBUSY) => Ok(()),
        Err(e) => Err(UmlError::system(format!("mount {kind} on {}", at.display()), e)),
    }
}

/// What every command needs, and where the job may be read.
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

/// Lets the machine write in a folder of the host.
fn mount_hostfs(folder: &Path) -> Result<(), UmlError> {
    // What is below /run is hidden by ours.
    if folder.starts_with("/run") {
        let failed = |e| UmlError::system(format!("make {}", folder.display()), e);
        fs::create_dir_all(folder).map_err(failed)?;
    }
    attach("hostfs", folder, Some(folder))
}

/// Loads a module; one that is there already is fine.
fn load(path: &Path) -> Result<(), UmlError> {
    let failed = |e: std::io::Error| UmlError::system(format!("load {}", path.display()), e);
    let file = File::open(path).map_err(failed)?;
    match finit_module(file, c"", ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(e) => Err(failed(e.into())),
    }
}

/// Linux lets a namespace choose, and a socket without privileges have, what stands in this list.
fn allow_all_controls() -> Result<(), UmlError> {
    let folder = Path::new("/proc/sys/net/ipv4");
    let all = fs::read_to_string(folder.join("tcp_available_congestion_control"));
    all.and_then(|all| fs::write(folder.join("tcp_allowed_congestion_control"), all))
        .map_err(|e| UmlError::system("allow all congestion controls", e))
}

fn work(job: &Job, folder: &Path) -> Result<Answer, UmlError> {
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
        // Process 1 also inherits what others leave behind.
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == child => {
                return Ok(Answer::Exited(status));
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return Ok(Answer::Signalled(signal as i32));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(UmlError::system("wait for the command", e)),
        }
    }
}

/// Does what the host says, until the host is gone; then there is nobody to work for.
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
