//! The virtual machine: QEMU's emulator with a clock that counts instructions (`icount`). So other
//! work on the host moves no timer of the guest, and the same machine runs without KVM.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::initramfs;
use crate::packages::Package;

/// Time limit of a machine, from power on. The longest job takes 90 s on an idle processor.
const LIMIT: Duration = Duration::from_mins(20);

/// Lines of the console in an error.
const CONSOLE_LINES: usize = 40;

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
    ];
    let missing: Vec<_> = names.into_iter().filter(|n| initramfs::find(n).is_none()).collect();
    let text = missing.join(", ");
    missing.is_empty().then_some(()).ok_or_else(|| format!("missing: {text}"))
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

/// Boots the kernel, runs `job` of [`crate::guest`] in it, and returns the lines that it printed.
/// The last one says that the job is done.
pub(crate) fn run(package: Package, job: &str) -> Vec<Value> {
    let kernel = package.kernel();
    let folder = tempfile::tempdir().unwrap();
    let (image, console) = (folder.path().join("initramfs"), folder.path().join("console"));
    initramfs::write(&kernel, folder.path(), &image);
    let child = Command::new("qemu-system-x86_64")
        .args(["-accel", "tcg", "-icount", "shift=0,sleep=off", "-cpu", "max,-cx16", "-m", "2048"])
        .args(["-nodefaults", "-no-reboot", "-display", "none"])
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .args(["-serial", "stdio"])
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(&image)
        .args(["-append", &format!("console=ttyS0 loglevel=5 panic=-1 -- {job}")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(folder.path().join("qemu")).unwrap())
        .spawn()
        .unwrap();
    let mut machine = Qemu(child);
    let lines = read_lines(&mut machine);
    let said = |name: &str| fs::read(folder.path().join(name)).unwrap_or_default();
    let tail = |name: &str| {
        let text = String::from_utf8_lossy(&said(name)).into_owned();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    };
    let ended = lines.last().is_some_and(|line| line["done"] == job);
    assert!(
        ended,
        "`{job}` on {} did not end; its console:\n{}\n{}",
        kernel.release,
        tail("qemu"),
        tail("console")
    );
    assert_eq!(lines[0]["kernel"], kernel.release.as_str());
    lines
}

/// Reads lines until the machine ends or its time is over.
#[expect(clippy::disallowed_methods, reason = "a thread reads until the machine is killed")]
fn read_lines(machine: &mut Qemu) -> Vec<Value> {
    let output = BufReader::new(machine.0.stdout.take().unwrap());
    let (send, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if let Ok(value) = serde_json::from_str::<Value>(line.trim()) {
                let _ = send.send(value);
            }
        }
    });
    let end = std::time::Instant::now() + LIMIT;
    let mut all = Vec::new();
    while let Some(left) = end.checked_duration_since(std::time::Instant::now()) {
        match lines.recv_timeout(left) {
            Ok(line) => all.push(line),
            Err(_) => break,
        }
    }
    let _ = machine.0.kill();
    let _ = reader.join();
    all
}
