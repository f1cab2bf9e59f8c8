//! A guest: QEMU's emulator with a clock that counts instructions (`icount`). So other work on the
//! host moves no timer of the guest, and the same machine runs without KVM.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, copy};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::initramfs;
use crate::initramfs::Programs;
use crate::packages::Package;

/// Time limit of a boot, from power on. It takes 15 s on an idle processor.
const BOOT_LIMIT: Duration = Duration::from_mins(10);

/// Lines of the console in an error.
const CONSOLE_LINES: usize = 30;

/// Checks that the programs are installed.
pub(crate) fn tools() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("the kernels are those of amd64".to_owned());
    }
    let names = [
        "qemu-system-x86_64",
        "busybox",
        "apt-get",
        "apt-cache",
        "dpkg-deb",
        "depmod",
        "modprobe",
        "xz",
        "strip",
        "ldd",
        "ip",
        "tc",
        "find",
        "bash",
        "setpriv",
        "unshare",
        "bpftool",
        "cc",
    ];
    let missing: Vec<_> = names.into_iter().filter(|n| initramfs::find(n).is_none()).collect();
    let packages = "apt-get install qemu-system-x86 busybox-static kmod xz-utils binutils iproute2 bpftool gcc";
    let text = format!("there is no {}: {packages}", missing.join(", "));
    missing.is_empty().then_some(()).ok_or(text)
}

/// A running machine. Dropping it ends it.
struct Qemu(Child);

impl Drop for Qemu {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Why a guest left no result.
#[derive(Clone, Debug)]
pub(crate) enum NoResult {
    /// The guest did not boot, or was too slow: nothing is judged.
    NotJudged(String),
    /// The guest ended early: its first process failed, or its kernel did.
    Died(String),
}

/// A kernel with the file system to boot it with.
pub(crate) struct Guest {
    pub(crate) name: &'static str,
    /// The kernel's release.
    pub(crate) release: String,
    image: PathBuf,
    folder: TempDir,
    /// Archives of the programs and of the modules.
    archives: [PathBuf; 2],
}

impl Guest {
    /// Prepares a guest that has `programs`. The error says why there is no such kernel.
    pub(crate) fn new(package: Package, programs: &Programs) -> Result<Self, String> {
        let kernel = package.kernel()?;
        let folder = initramfs::temporary();
        let modules = folder.path().join("modules.cpio");
        initramfs::write_modules(&kernel, folder.path(), &modules);
        let (release, image) = (kernel.release, kernel.image);
        let archives = [programs.archive(), modules];
        Ok(Self { name: package.name, release, image, folder, archives })
    }

    /// Boots the kernel and runs `job` of [`crate::guest`] in it, at most `limit` after the boot.
    /// `on_line` gets each line of the guest. A line says that the job is done.
    #[expect(clippy::disallowed_methods, reason = "a guest has a time limit")]
    pub(crate) fn run(
        &self,
        job: &Value,
        files: &[PathBuf],
        limit: Duration,
        on_line: &mut dyn FnMut(Value),
    ) -> Result<(), NoResult> {
        let in_folder = |name: &str| self.folder.path().join(name);
        let (image, console) = (in_folder("initramfs"), in_folder("console"));
        let archive = in_folder("job.cpio");
        initramfs::write_job(&job.to_string(), files, self.folder.path(), &archive);
        let mut joined = File::create(&image).unwrap();
        for part in self.archives.iter().chain([&archive]) {
            copy(&mut File::open(part).unwrap(), &mut joined).unwrap();
        }
        let child = Command::new("qemu-system-x86_64")
            .args(["-accel", "tcg", "-icount", "shift=0,sleep=off", "-cpu", "max,-cx16"])
            .args(["-m", "3072", "-nodefaults", "-no-reboot", "-display", "none"])
            .arg("-serial")
            .arg(format!("file:{}", console.display()))
            .args(["-serial", "stdio"])
            .arg("-kernel")
            .arg(&self.image)
            .arg("-initrd")
            .arg(&image)
            .args(["-append", "console=ttyS0 loglevel=5 panic=-1 mitigations=off"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(in_folder("qemu")).unwrap())
            .spawn()
            .unwrap();
        let mut machine = Qemu(child);
        let lines = read_lines(machine.0.stdout.take().unwrap());
        let said = || {
            let tail = |name: &str| {
                let bytes = fs::read(in_folder(name)).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes).replace('\r', "");
                let lines: Vec<_> = text.lines().collect();
                lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
            };
            format!("{}\n{}", tail("qemu"), tail("console"))
        };
        match lines.recv_timeout(BOOT_LIMIT) {
            Ok(first) if first["kernel"] == self.release.as_str() => {}
            Ok(first) => {
                return Err(NoResult::NotJudged(format!("another kernel booted: {first}")));
            }
            Err(_) => {
                println!("{}", said());
                return Err(NoResult::NotJudged(format!("{} did not boot", self.release)));
            }
        }
        let end = Instant::now() + limit;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            match lines.recv_timeout(left) {
                Ok(line) if line["done"] == true => return Ok(()),
                Ok(line) => on_line(line),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => break,
                Err(_) => {
                    return Err(NoResult::Died(format!("the guest ended early:\n{}", said())));
                }
            }
        }
        let slow = format!("too slow: the guest was stopped after {} s", limit.as_secs());
        Err(NoResult::NotJudged(slow))
    }
}

/// The lines of JSON that a machine prints, until it ends.
#[expect(clippy::disallowed_methods, reason = "a thread reads until the machine is killed")]
fn read_lines(output: impl Read + Send + 'static) -> Receiver<Value> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(value) = serde_json::from_str::<Value>(line.trim()) {
                let _ = send.send(value);
            }
        }
    });
    lines
}
