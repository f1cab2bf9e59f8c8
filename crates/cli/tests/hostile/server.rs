//! The server under attack, in a separate process.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// Timeout for the server's exit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// `lowtide live server` in the namespace of the thread that starts it.
pub(crate) struct Server {
    child: Child,
    clock: ClockId,
    /// Held open: a server whose standard error is closed could end.
    _said: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lowtide"))
            .args(["live", "server", "--netns", "here"])
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.contains("listening on 10.77.0.2"), "{line}");
        let clock = clock_getcpuclockid(Pid::from_raw(child.id().cast_signed())).unwrap();
        Self { child, clock, _said: said }
    }

    /// CPU time of all threads so far, including ended ones.
    pub(crate) fn cpu(&self) -> Duration {
        clock_gettime(self.clock).unwrap().into()
    }

    /// Largest resident memory so far, bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Ends the server by SIGTERM. Returns the time until its exit.
    pub(crate) fn end(&mut self) -> Duration {
        let start = Instant::now();
        kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM).unwrap();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < EXIT_TIMEOUT, "SIGTERM does not end the server");
            std::thread::sleep(Duration::from_millis(5));
        }
        start.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server still runs if the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
