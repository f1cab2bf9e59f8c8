//! Soak test: many short connections through a network that loses, duplicates, corrupts and
//! reorders packets. The process must not leak memory or descriptors.
//!
//! The full test is `LOWTIDE_SOAK_MINUTES=20 cargo test --release -p lowtide-bottleneck --test
//! bottleneck soak -- --nocapture`. Without the variable it takes a few seconds and checks only for
//! leaked connections.

use std::fs;
use std::time::Duration;

use lowtide_live::load::{LoadPlan, TransferDirection};
use lowtide_live::{Clock, config};

use crate::world::{HostStack, World, bytes, faults_in_both_directions, network, with_timeout_of};

const FAULTS: [&str; 4] = ["loss=0.5 %", "reorder=1 %/300us", "duplicate=1 %", "corrupt=0.2 %"];
/// Parallel connections.
const PARALLEL: usize = 48;
/// Interval of memory samples in a long run.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(30);
/// Tolerated difference of the median memory, bytes. Single samples differ by 20 MB because of the
/// allocator and a hundred short-lived threads. The medians of two 20-minute runs differed by 0.1
/// and 1.3 MB.
const NOISE: u64 = 4 << 20;

fn minutes() -> Option<u64> {
    std::env::var("LOWTIDE_SOAK_MINUTES").ok()?.parse().ok()
}

/// Resources of this process, and its connections.
#[derive(Clone, Copy, Debug)]
struct ProcessUsage {
    descriptors: usize,
    memory: u64,
    connections: u64,
    buffers: u64,
}

impl ProcessUsage {
    fn now(world: &World) -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        let packets = world.hosts[0].live().stats().packets;
        Self {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            memory: kib << 10,
            connections: packets.connections,
            buffers: packets.buffer_memory,
        }
    }

    /// Usage without open connections; closing ones get some time to end.
    fn quiet(world: &World) -> Self {
        for _ in 0..6000 {
            let usage = Self::now(world);
            if usage.connections == 0 {
                return usage;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{:?}", Self::now(world));
    }
}

/// Median of the memory samples.
fn median(samples: &[ProcessUsage]) -> u64 {
    let mut memory: Vec<u64> = samples.iter().map(|h| h.memory).collect();
    memory.sort_unstable();
    memory[memory.len() / 2]
}

/// Transfers data over many parallel connections, of a kind that depends on `number`. Returns how
/// many.
fn round(world: &World, number: u64) -> usize {
    let config = config("linux", None, &[("ecn", "rfc3168")]).unwrap();
    // Sizes from a few bytes to several hundred kilobytes.
    let size = 1 + (number * 7919 % 23).pow(4);
    let direction =
        if number.is_multiple_of(2) { TransferDirection::Up } else { TransferDirection::Down };
    let (client, v6) = ((number / 2 % 2) as usize, (number / 4).is_multiple_of(2));
    let load = LoadPlan { seed: number, ..bytes(direction, PARALLEL, size) };
    world.transfer(&format!("round {number}"), (client, v6), &config, &load);
    PARALLEL
}

pub(crate) fn soak() {
    let time = minutes().map_or(Duration::from_secs(4), |m| Duration::from_secs(60 * m));
    with_timeout_of(time + Duration::from_mins(5), move || run(time));
}

fn run(time: Duration) {
    let plan = network("400 Mbit/s", 50, 200, 40);
    let stacks = [HostStack::Lowtide, HostStack::Kernel];
    let world = World::new(stacks, &plan, &faults_in_both_directions(&FAULTS));
    let (clock, mut samples, mut connections) = (Clock::start(), Vec::new(), 0);
    let seconds = || clock.now().since_start().as_secs_f64();
    let mut number = 0;
    while seconds() < time.as_secs_f64() {
        // Memory that is allocated once and reused is excluded by sampling after warm-up.
        if number == 8 || seconds() > samples.len() as f64 * SAMPLE_INTERVAL.as_secs_f64() {
            let usage = ProcessUsage::quiet(&world);
            println!("{:>6.0} s {connections:>8} connections so far, {usage:?}", seconds());
            samples.push(usage);
        }
        connections += round(&world, number);
        number += 1;
    }
    let last = ProcessUsage::quiet(&world);
    println!("{:>6.0} s {connections:>8} connections, {last:?}", seconds());
    assert_eq!((last.connections, last.buffers), (0, 0));
    // Other tests of this process have descriptors too; only the long run is alone.
    if minutes().is_some() {
        assert_eq!(last.descriptors, samples[0].descriptors, "{samples:?}");
    }
    // The first sample precedes the allocations.
    let half = samples.len() / 2;
    if minutes().is_some_and(|m| m >= 5) {
        let (first, second) = (median(&samples[1..=half]), median(&samples[half + 1..]));
        println!("median of memory in the first half {first}, in the second {second} bytes");
        assert!(second < first + NOISE, "memory grows from {first} to {second} bytes: {samples:?}");
    }
    let (report, stats) = world.end();
    let faults =
        report.hosts.iter().map(|h| h.faults).fold((0, 0, 0), |sum, f| {
            (sum.0 + f.reordered, sum.1 + f.duplicated, sum.2 + f.corrupted)
        });
    assert!(faults.0 > 0 && faults.1 > 0 && faults.2 > 0, "{faults:?}");
    assert!(stats[0].packets.bad_checksum > 0, "corruption was detected");
    println!("reordered, duplicated, corrupted: {faults:?}; ours: {:?}", stats[0].packets);
}
