//! Process 1 of a guest: it prepares the system, runs one job, prints lines of JSON and turns the
//! machine off.

mod aqm;
mod bulk;
mod patterns;
mod peer;
mod program;
mod receiving;
mod refused;
mod script;
mod window;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use serde_json::{Value, json};

use crate::initramfs::MODULE_LIST;

/// Second serial port: lines for the host. The console has the messages of the kernel.
const OUTPUT: &str = "/dev/ttyS1";

/// The module of the kernel's own DCTCP.
const DCTCP_MODULE: &str = "/modules/tcp_dctcp.ko";

/// Lines for the host.
pub(crate) struct Report(File);

impl Report {
    pub(crate) fn line(&mut self, value: &Value) {
        writeln!(self.0, "{value}").unwrap();
    }
}

/// Runs the job of the file `/job`. A panic ends the machine.
pub(crate) fn main() -> ! {
    for (kind, at) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
        ("cgroup2", "/sys/fs/cgroup"),
    ] {
        attach(kind, at);
    }
    let mut report = Report(File::options().write(true).open(OUTPUT).unwrap());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    report.line(&json!({ "kernel": release.trim() }));
    let job: Value = serde_json::from_str(&fs::read_to_string("/job").unwrap()).unwrap();
    match job["job"].as_str().unwrap() {
        "compare" => {
            load_modules(|_| true);
            let device = patterns::prepare();
            patterns::run(&device, &mut report);
            receiving::run(&device, &mut report);
        }
        "aqm" => {
            load_modules(|_| true);
            aqm::run(&mut report);
        }
        "bulk" => {
            load_modules(|_| true);
            bulk::run(&mut report);
        }
        "refusals" => {
            load_modules(|path| path != DCTCP_MODULE);
            refused::run(&mut report);
        }
        "load" => refused::load_only(&mut report),
        "programs" => {
            load_modules(|_| true);
            report = program::run(&job["programs"], report);
        }
        other => panic!("no job `{other}`"),
    }
    report.line(&json!({ "done": true }));
    drop(report);
    let _ = reboot(RebootMode::RB_POWER_OFF);
    std::process::exit(1)
}

fn attach(kind: &str, at: &str) {
    let none: Option<&str> = None;
    match mount(none, at, Some(kind), MsFlags::empty(), none) {
        Ok(()) | Err(Errno::EBUSY) => {}
        Err(e) => panic!("mount {kind} on {at}: {e}"),
    }
}

/// Loads the modules of the list that are wanted.
fn load_modules(wanted: impl Fn(&str) -> bool) {
    for path in fs::read_to_string(MODULE_LIST).unwrap().lines().filter(|path| wanted(path)) {
        load_module(Path::new(path));
    }
}

fn load_module(path: &Path) {
    match finit_module(File::open(path).unwrap(), c"", ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => {}
        Err(e) => panic!("load {}: {e}", path.display()),
    }
}

/// Runs a command of the machine.
fn command(program: &str, args: &[&str]) -> Output {
    let output = Command::new(format!("/bin/{program}")).args(args).output();
    output.unwrap_or_else(|e| panic!("{program}: {e}"))
}

/// Runs a command that must succeed; returns its standard output.
fn succeed(program: &str, args: &[&str]) -> String {
    let output = command(program, args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}
