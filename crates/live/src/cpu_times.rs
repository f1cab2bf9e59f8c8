//! CPU times of the whole machine (`proc(5)`, /proc/stat).

use std::io;
use std::time::Duration;

use nix::unistd::{SysconfVar, sysconf};

/// Times since boot, summed over all CPUs, in ticks of 10 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTimes {
    /// Time in which a CPU was neither idle nor waiting for I/O.
    pub busy: Duration,
    /// Steal time: a CPU was runnable, but the hypervisor ran another guest.
    pub steal: Duration,
}

impl CpuTimes {
    /// Reads the current times.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn read() -> io::Result<Self> {
        let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        let stat = std::fs::read_to_string("/proc/stat")?;
        Ok(Self::parse(&stat, u64::try_from(per_second).unwrap_or(100)))
    }

    /// Parses the first line: user, nice, system, idle, iowait, irq, softirq, steal. Guest time is
    /// included in user and nice.
    fn parse(stat: &str, per_second: u64) -> Self {
        let first = stat.lines().next().unwrap_or("");
        let ticks = first.split_whitespace().skip(1).take(8).map(|n| n.parse().unwrap_or(0_u64));
        let (mut busy, mut steal) = (0, 0);
        for (i, n) in ticks.enumerate() {
            match i {
                3 | 4 => {}
                7 => steal += n,
                _ => busy += n,
            }
        }
        let time = |ticks: u64| Duration::from_millis(ticks * 1000 / per_second.max(1));
        Self { busy: time(busy), steal: time(steal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_excludes_idle_iowait_and_steal() {
        let stat = "cpu  1 2 4 1000 2000 8 16 4000 9000 9000\ncpu0 5 5 5 5\n";
        let (busy, steal) = (Duration::from_millis(310), Duration::from_secs(40));
        assert_eq!(CpuTimes::parse(stat, 100), CpuTimes { busy, steal });
        assert_eq!(CpuTimes::parse("", 100), CpuTimes::default());
    }
}
