//! The machine as seen by the host.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lowtide_output::streams;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::error::UmlError;
use crate::follow::{FileFollower, tail};
use crate::job::{
    BOOTED, CONSOLE, INTERRUPT, JOB, Job, JobOutcome, OUTCOME, STDERR, STDOUT, read_json,
    write_json,
};
use crate::job_dir::JobDir;
use crate::kernel::Kernel;
use crate::modules::ModuleDeps;

/// Time limit of booting; it takes 1 to 3 s.
const BOOT: Duration = Duration::from_mins(1);
/// Time limit of ending after an interrupt.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Polling interval of its files.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Bytes of the console in an error.
const CONSOLE_TAIL: usize = 2_000;
/// Message of a kernel whose buffer for PTRACE_SETREGSET is smaller than the CPU's XSAVE area.
const SETREGSET_ERROR: &str = "ptrace set fp regs failed";

/// Event of the machine itself, for the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MachineEvent {
    /// It is up after this time, and starts its command.
    Booted(Duration),
}

/// Exit of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestExit {
    /// Exit status; 128 + n if signal n terminated it, as in shells.
    pub status: u8,
    /// Boot time.
    pub boot: Duration,
}

/// A machine that can be booted.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its kernel.
    pub kernel: Kernel,
    /// Memory, MiB. The host allocates it on use.
    pub memory_mib: u32,
    /// Modules to load, by name; dependencies are added.
    pub modules: Vec<String>,
    /// Writable folders of the host.
    pub writable: Vec<PathBuf>,
    /// Time limit of its command.
    pub limit: Duration,
    /// The program to run inside: the first arguments `guest` make it call [`crate::guest::main`].
    pub program: PathBuf,
    /// Arguments that select the guest; the job's folder follows them.
    pub guest: Vec<String>,
}

/// Converts a path to a word of the kernel command line, which has no quoting.
fn kernel_arg(path: &Path) -> Result<&str, UmlError> {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"'\",".contains(c);
    let text = path.to_str().filter(|t| t.chars().all(plain));
    text.ok_or_else(|| UmlError::InvalidArg(path.display().to_string()))
}

impl Machine {
    /// Boots it, runs the program with `args` in the current directory, and forwards its output.
    /// `stop` interrupts the command, which may then shut down cleanly.
    ///
    /// # Errors
    /// It does not boot, or the command cannot be started or exceeds its time limit.
    pub fn run(
        &self,
        args: &[String],
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&MachineEvent),
    ) -> Result<GuestExit, UmlError> {
        let place = JobDir::make(&std::env::temp_dir())?;
        let folder = place.path();
        write_json(folder, JOB, &self.job(args)?)?;
        let follow = |name| {
            FileFollower::make(&folder.join(name))
                .map_err(|e| UmlError::system("make a file for output", e))
        };
        let mut running = Running {
            out: follow(STDOUT)?,
            err: follow(STDERR)?,
            process: Process(self.start(folder)?),
            job_dir: place,
        };
        running.watch(self.limit, stop, tell)
    }

    fn job(&self, args: &[String]) -> Result<Job, UmlError> {
        let path = self.kernel.modules.join("modules.dep");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|e| UmlError::system(format!("read {}", path.display()), e))?;
        let (modules, missing) = ModuleDeps::parse(&text).order(&self.modules);
        if let Some(name) = missing.first() {
            let version = &self.kernel.version;
            return Err(UmlError::Guest(format!("Linux {version} has no module `{name}`")));
        }
        let folder = std::env::current_dir().map_err(|e| UmlError::system("find the folder", e))?;
        let absolute = |path: &PathBuf| {
            let found = path.canonicalize();
            found.map_err(|e| UmlError::system(format!("find {}", path.display()), e))
        };
        Ok(Job {
            args: args.to_vec(),
            folder,
            environment: std::env::vars_os()
                .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
                .collect(),
            writable: self.writable.iter().map(absolute).collect::<Result<_, _>>()?,
            modules: modules.iter().map(|m| self.kernel.modules.join(m)).collect(),
        })
    }

    fn start(&self, folder: &Path) -> Result<Child, UmlError> {
        let console = File::create(folder.join(CONSOLE));
        let console = console.map_err(|e| UmlError::system("make a file for the console", e))?;
        let console = || console.try_clone().map_err(|e| UmlError::system("share a file", e));
        Command::new(&self.kernel.program)
            .arg(format!("mem={}M", self.memory_mib))
            .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet"])
            // The console, and the terminal by which the machine detects that the host is gone.
            .args(["con=null", "ssl=null", "con0=null,fd:1", "con1=fd:0,null"])
            // Without it the kernel appends its default after `--`, as an argument of our program.
            .arg("console=tty0")
            .arg(format!("uml_dir={}", kernel_arg(folder)?))
            .arg("umid=machine")
            .arg(format!("init={}", kernel_arg(&self.program)?))
            .arg("--")
            .args(&self.guest)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(console()?)
            .stderr(console()?)
            // Ctrl-C at the terminal is for this process: the command inside shuts down cleanly.
            .process_group(0)
            .spawn()
            .map_err(|e| UmlError::system(format!("start {}", self.kernel.program.display()), e))
    }
}

/// The machine's process group, with its helpers. Dropping this kills it.
struct Process(Child);

impl Process {
    fn signal(&self, signal: Signal) {
        // The process may be gone already.
        let _ = killpg(Pid::from_raw(self.0.id().cast_signed()), signal);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            self.signal(Signal::SIGKILL);
            let _ = self.0.wait();
        }
    }
}

struct Running {
    out: FileFollower,
    err: FileFollower,
    process: Process,
    job_dir: JobDir,
}

impl Running {
    /// Forwards new output of the command.
    fn forward_output(&mut self) -> Result<(), UmlError> {
        let out = self.out.forward_new(&mut |bytes| streams::data_with(|to| to.write_all(bytes)));
        out.map_err(UmlError::Stdout)?;
        let err = self.err.forward_new(&mut |bytes| {
            streams::copy_to_stderr(bytes);
            Ok(())
        });
        err.map(|_| ()).map_err(|e| UmlError::system("forward the command's messages", e))
    }

    fn console(&self) -> String {
        tail(&self.job_dir.path().join(CONSOLE), CONSOLE_TAIL)
    }

    #[expect(clippy::disallowed_methods, reason = "a machine is given a limit of real time")]
    fn watch(
        &mut self,
        limit: Duration,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(&MachineEvent),
    ) -> Result<GuestExit, UmlError> {
        let start = Instant::now();
        let mut boot = None;
        let mut interrupted_at: Option<Instant> = None;
        loop {
            let ended = self.process.0.try_wait();
            let ended = ended.map_err(|e| UmlError::system("wait for the machine", e))?;
            let folder = self.job_dir.path();
            if boot.is_none() && read_json::<bool>(folder, BOOTED)?.is_some() {
                boot = Some(start.elapsed());
                tell(&MachineEvent::Booted(start.elapsed()));
            }
            self.forward_output()?;
            if let Some(ended) = ended {
                let answer: Option<JobOutcome> = read_json(self.job_dir.path(), OUTCOME)?;
                let status = match answer {
                    Some(JobOutcome::Exited(status)) => u8::try_from(status).unwrap_or(1),
                    Some(JobOutcome::Signalled(n)) => u8::try_from(128 + n).unwrap_or(255),
                    Some(JobOutcome::Failed(why)) => return Err(UmlError::Guest(why)),
                    None => {
                        let status = match (ended.code(), ended.signal()) {
                            (Some(code), _) => format!("status {code}"),
                            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
                        };
                        let console = self.console();
                        if console.contains(SETREGSET_ERROR) {
                            return Err(UmlError::UnsupportedXsave);
                        }
                        return Err(UmlError::Died { status, console });
                    }
                };
                return Ok(GuestExit { status, boot: boot.unwrap_or_default() });
            }
            match boot {
                None if start.elapsed() > BOOT => {
                    return Err(UmlError::BootTimeout { limit: BOOT, console: self.console() });
                }
                Some(booted) if start.elapsed() > booted + limit => {
                    return Err(UmlError::Timeout(limit));
                }
                _ => {}
            }
            match interrupted_at {
                None if stop.load(Ordering::Relaxed) => {
                    interrupted_at = Some(Instant::now());
                    if let Some(tether) = &mut self.process.0.stdin {
                        // A machine that no longer reads is about to end.
                        let _ = writeln!(tether, "{INTERRUPT}");
                    }
                }
                Some(since) if since.elapsed() > INTERRUPT_TIMEOUT => {
                    let why = "the command did not end when it was interrupted";
                    return Err(UmlError::Guest(why.to_owned()));
                }
                _ => {}
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}
