//! Limits on memory and disk space, checked for a plan before its first run.
//!
//! Contract: a run whose estimate exceeds the limit is rejected, and the error names the
//! responsible key. Concurrent runs are as few as fit together. An estimate may be wrong by several
//! times, so a run that exceeds the limit ends with an error before the system kills the process.

use std::fmt;

use lowtide_scenario::{CostCause, Estimate, RunPlan};

/// Resource limits of runs. Without a limit nothing is rejected.
#[derive(Clone, Copy, Default)]
pub struct ResourceLimits<'a> {
    /// Bytes of memory for all concurrent runs.
    pub memory: Option<u64>,
    /// Free bytes on the disk of the run directory.
    pub disk: Option<u64>,
    /// Bytes of memory that this process uses now, if the system states it.
    pub resident: Option<&'a (dyn Fn() -> Option<u64> + Sync)>,
}

impl fmt::Debug for ResourceLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, disk, .. } = self;
        f.debug_struct("ResourceLimits").field("memory", memory).field("disk", disk).finish()
    }
}

/// Runs that do not fit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}; {help}")]
pub struct TooLarge {
    /// Key responsible for the need, or its table.
    pub key: String,
    /// The resource exceeded, and its limit.
    pub message: String,
    /// Advice on how to fit.
    pub help: String,
}

/// Rejects a plan that does not fit; otherwise returns its estimate.
///
/// # Errors
/// A run does not fit into memory, or all runs do not fit onto the disk.
pub fn admit(plan: &RunPlan, limits: &ResourceLimits<'_>) -> Result<Estimate, TooLarge> {
    let cost = plan.estimate();
    admit_memory("a run needs", &cost, plan.key_for_cost(cost.memory_cause), limits)?;
    if let Some(free) = limits.disk.filter(|free| cost.disk.as_u64() > *free) {
        let key = plan.key_for_cost(cost.disk_cause);
        return Err(TooLarge {
            message: format!(
                "the tables take about {} on disk, most of it for {}; {} are free",
                format_bytes(cost.disk.as_u64()),
                named(cost.disk_cause),
                format_bytes(free)
            ),
            help: format!("change `{key}`, or choose another directory with -o"),
            key,
        });
    }
    Ok(cost)
}

/// Rejects `needs` bytes of memory above the limit; `key` is the responsible key.
pub(crate) fn admit_memory(
    needs: &str,
    cost: &Estimate,
    key: String,
    limits: &ResourceLimits<'_>,
) -> Result<(), TooLarge> {
    let Some(limit) = limits.memory.filter(|limit| cost.memory.as_u64() > *limit) else {
        return Ok(());
    };
    Err(TooLarge {
        message: format!(
            "{needs} about {} of memory, most of it for {}; the limit is {}",
            format_bytes(cost.memory.as_u64()),
            named(cost.memory_cause),
            format_bytes(limit)
        ),
        help: format!("change `{key}`, or raise the limit with --memory"),
        key,
    })
}

/// Returns how many of `jobs` concurrent runs fit together.
pub(crate) fn concurrent_jobs(jobs: usize, cost: &Estimate, limits: &ResourceLimits<'_>) -> usize {
    let Some(limit) = limits.memory else { return jobs };
    let fit = limit / cost.memory.as_u64().max(1);
    jobs.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
}

/// Returns the memory of this process and the limit if it is exceeded.
pub(crate) fn overrun(limits: &ResourceLimits<'_>) -> Option<(u64, u64)> {
    let limit = limits.memory?;
    let resident = limits.resident?()?;
    (resident > limit).then_some((resident, limit))
}

fn named(cause: CostCause) -> &'static str {
    match cause {
        CostCause::Connections(_) => "connections",
        CostCause::Hosts => "hosts",
        CostCause::InFlight => "packets in flight",
        CostCause::Samples => "samples",
        CostCause::Trace => "traced packets",
        CostCause::Runs => "the number of runs",
    }
}

/// Formats bytes as `1.5 GB`, in powers of 1000.
pub fn format_bytes(n: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use lowtide_scenario::Scenario;
    use lowtide_units::Bytes;

    use super::*;

    fn plan(set: &[(&str, &str)]) -> RunPlan {
        let load = Scenario::load("first-light").expect("an embedded scenario");
        let set = set.iter().fold(load, |s, (k, v)| s.with_override(k, v).expect("a key"));
        set.expand().expect("a right scenario")
    }

    fn refused(set: &[(&str, &str)], limits: &ResourceLimits<'_>) -> TooLarge {
        admit(&plan(set), limits).expect_err("it does not fit")
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn excess_is_rejected_with_the_responsible_key() {
        let memory = ResourceLimits { memory: Some(8 * GIB), ..ResourceLimits::default() };
        assert!(admit(&plan(&[]), &memory).is_ok());
        let sampled = refused(&[("probes.interval", "1 ps")], &memory);
        assert_eq!(sampled.key, "probes.interval");
        assert!(sampled.message.contains("TB of memory, most of it for samples"), "{sampled:?}");
        assert!(sampled.message.contains("the limit is 8.6 GB"), "{sampled:?}");
        assert!(sampled.help.contains("`probes.interval`, or raise the limit with --memory"));
        // Samples fit into memory one run after the other, but the tables of all runs exceed the
        // disk.
        let many = [("probes.interval", "100 ns"), ("run.seeds", "2000")];
        assert!(admit(&plan(&many), &memory).is_ok());
        let disk = ResourceLimits { disk: Some(2 * GIB), ..memory };
        let stored = refused(&many, &disk);
        assert_eq!(stored.key, "probes.interval");
        assert!(stored.message.contains("GB on disk"), "{stored:?}");
        let seeds = refused(&[("run.seeds", "100000")], &disk);
        assert_eq!(seeds.key, "run.seeds");
    }

    #[test]
    fn concurrent_runs_fit_together() {
        let cost = Estimate { memory: Bytes::new(3 * GIB), ..Estimate::default() };
        let limited =
            |gib: u64| ResourceLimits { memory: Some(gib * GIB), ..ResourceLimits::default() };
        assert_eq!(concurrent_jobs(8, &cost, &limited(10)), 3);
        assert_eq!(concurrent_jobs(2, &cost, &limited(10)), 2);
        assert_eq!(concurrent_jobs(8, &cost, &limited(1)), 1, "an admitted plan runs");
        assert_eq!(concurrent_jobs(8, &cost, &ResourceLimits::default()), 8);
        let resident = || Some(2 * GIB);
        let now = |gib| ResourceLimits { resident: Some(&resident), ..limited(gib) };
        assert_eq!(overrun(&now(1)), Some((2 * GIB, GIB)));
        assert_eq!(overrun(&now(2)), None);
    }

    #[test]
    fn bytes_are_written_in_powers_of_a_thousand() {
        let texts = [999, 1_000, 999_949, 999_950, 263_000_000_000_000, u64::MAX].map(format_bytes);
        assert_eq!(texts, ["999 B", "1.0 kB", "999.9 kB", "1.0 MB", "263.0 TB", "18.4 EB"]);
    }
}
