//! CPU time and CPU affinity.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

use crate::cpu_times::CpuTimes;
use crate::error::LiveError;

/// CPU time used so far, seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct CpuUsage {
    pub(super) process: f64,
    pub(super) machine: f64,
}

impl CpuUsage {
    pub(super) fn now() -> Result<Self, LiveError> {
        let failed = |e: io::Error| LiveError::system("read the CPU time in use", e);
        let process = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| failed(e.into()))?;
        let micros =
            process.user_time().num_microseconds() + process.system_time().num_microseconds();
        let machine = CpuTimes::read().map_err(failed)?.busy.as_secs_f64();
        Ok(Self { process: micros as f64 / 1e6, machine })
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self { process: self.process - before.process, machine: self.machine - before.machine }
    }
}

/// Pins this thread, and threads that it starts, to a CPU. Without effect if that is not possible.
pub(super) fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    if set.set(cpu).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
