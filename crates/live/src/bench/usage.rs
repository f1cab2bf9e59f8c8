//! Processor time.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::error::LiveError;

/// Used so far, seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    pub(super) process: f64,
    pub(super) machine: f64,
}

impl Usage {
    pub(super) fn now() -> Result<Self, LiveError> {
        let failed = |e: io::Error| LiveError::system("read how much processor time was used", e);
        let process = getrusage(UsageWho::RUSAGE_SELF).map_err(|e| failed(e.into()))?;
        let micros =
            process.user_time().num_microseconds() + process.system_time().num_microseconds();
        let stat = std::fs::read_to_string("/proc/stat").map_err(failed)?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        Ok(Self { process: micros as f64 / 1e6, machine: busy(&stat) as f64 / ticks as f64 })
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self { process: self.process - before.process, machine: self.machine - before.machine }
    }
}

/// Ticks in which a processor was neither idle nor waiting for a disk: user, nice, system, idle, iowait, irq, softirq,
/// steal; what guests use is in user and nice.
fn busy(stat: &str) -> u64 {
    let first = stat.lines().next().unwrap_or("");
    let ticks = first.split_whitespace().skip(1).take(8).map(|n| n.parse().unwrap_or(0_u64));
    ticks.enumerate().filter(|(i, _)| !matches!(i, 3 | 4 | 7)).map(|(_, n)| n).sum()
}

/// This thread, and those that it starts, run on that processor. Where that cannot be they run anywhere.
pub(super) fn pin(processor: usize) {
    let mut set = CpuSet::new();
    if set.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_waiting_is_busy() {
        let stat = "cpu  1 2 4 1000 2000 8 16 4000 9000 9000\ncpu0 5 5 5 5\n";
        assert_eq!(busy(stat), 31);
        assert_eq!(busy(""), 0);
    }
}
