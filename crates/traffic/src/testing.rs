//! Test helpers for workloads.

use lowtide_units::{Duration, Instant, Rate};

use crate::workload::{
    HostInfo, Traffic, WorkloadArgs, WorkloadContext, WorkloadEntry, WorkloadError,
};

/// Returns a run of ten seconds with `hosts` hosts at 10 Gbit/s, eight in a rack.
pub(crate) fn context(hosts: u32, seed: u64) -> WorkloadContext {
    let info = |i: u32| HostInfo { name: format!("h.{i}"), rate: Rate::from_gbps(10), rack: i / 8 };
    let end = Instant::ZERO + Duration::from_secs(10);
    WorkloadContext { seed, end, load_end: end, hosts: (0..hosts).map(info).collect() }
}

/// Generates traffic among 256 hosts.
pub(crate) fn generate(entry: &WorkloadEntry, args: &WorkloadArgs) -> Traffic {
    entry.generate(args, &context(256, 1)).unwrap()
}

/// Returns the error of a workload among 256 hosts.
pub(crate) fn generate_err(entry: &WorkloadEntry, args: &WorkloadArgs) -> WorkloadError {
    entry.generate(args, &context(256, 1)).unwrap_err()
}
