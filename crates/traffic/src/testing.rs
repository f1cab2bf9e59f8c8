//! What the tests of workloads share.

use lowtide_units::{Duration, Instant, Rate};

use crate::workload::{Args, Entry, HostFacts, Refusal, Site, Traffic};

/// `hosts` hosts at 10 Gbit/s, eight in a rack, in a run of ten seconds with that seed.
pub(crate) fn site(hosts: u32, seed: u64) -> Site {
    let fact =
        |i: u32| HostFacts { name: format!("h.{i}"), rate: Rate::from_gbps(10), rack: i / 8 };
    let end = Instant::ZERO + Duration::from_secs(10);
    Site { seed, end, hosts: (0..hosts).map(fact).collect() }
}

/// What the workload makes among 256 hosts.
pub(crate) fn made(entry: &Entry, args: &Args) -> Traffic {
    entry.make(args, &site(256, 1)).unwrap()
}

/// Why the workload makes nothing.
pub(crate) fn refused(entry: &Entry, args: &Args) -> Refusal {
    entry.make(args, &site(256, 1)).unwrap_err()
}
