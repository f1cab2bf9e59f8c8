//! Counters of the kernel's bottleneck as rows of queues.

use lowtide_bottleneck::Fidelity;
use lowtide_kernel::PortCounts;
use lowtide_net::{Blueprint, Framing, NodeId};
use lowtide_rows::{Level, Queue, ServedCounters};
use lowtide_units::{Bytes, Duration, LogHistogram};

/// Lateness that counts as falling behind: the least of the user-space bottleneck.
const TOLERANCE: Duration = Duration::from_us(100);

/// Returns the queues of all ports by number. Those of hosts are not counted.
pub(super) fn queues(network: &Blueprint, counts: &[PortCounts]) -> Vec<Queue> {
    let names = network.port_names();
    let ends = network.links.iter().zip(counts).flat_map(|(link, counts)| {
        [(link.a, &link.from_a, counts), (link.b, &link.from_b, counts)]
    });
    let queue = |(name, (from, line, counts)): (String, (NodeId, &_, &PortCounts))| {
        let line: &lowtide_net::LineSpec = line;
        let at_switch = matches!(from, NodeId::Switch(_));
        let own = if at_switch { of(counts, line.port.count_in_service) } else { Queue::default() };
        let framing = own.served.packets * Framing::Ethernet.overhead();
        let busy = line.rate.serialization(Bytes::new(own.served.bytes + framing));
        Queue { name, at_switch, rate_bps: line.rate.as_bps(), busy_ps: busy.as_ps(), ..own }
    };
    names.into_iter().zip(ends).map(queue).collect()
}

/// Returns the counters of a port without its name and line.
fn of(counts: &PortCounts, with_in_service: bool) -> Queue {
    let mut levels: Vec<Level> = Vec::new();
    for (in_system, &(ns, arrivals)) in (0_u32..).zip(&counts.levels) {
        if (ns, arrivals) == (0, 0) {
            continue;
        }
        let packets = if with_in_service { in_system } else { in_system.saturating_sub(1) };
        let time_ps = ns * 1000;
        match levels.last_mut().filter(|last| last.packets == packets) {
            Some(last) => {
                last.time_ps += time_ps;
                last.arrivals += arrivals;
            }
            None => levels.push(Level { packets, time_ps, arrivals }),
        }
    }
    Queue {
        served: ServedCounters {
            packets: counts.packets,
            bytes: counts.bytes,
            marks: counts.marks,
            overflow_drops: counts.overflow_drops,
            aqm_drops: counts.aqm_drops,
        },
        max_bytes: counts.max_bytes,
        levels,
        ..Queue::default()
    }
}

/// Returns the lateness of deliveries at all hosts.
pub(super) fn lateness(counts: &[PortCounts]) -> Fidelity {
    let mut lateness = LogHistogram::default();
    let mut late_packets = 0;
    for (ns, packets) in counts.iter().flat_map(PortCounts::late) {
        (0..packets).for_each(|_| lateness.add(ns));
        late_packets += if ns > TOLERANCE.as_ns() { packets } else { 0 };
    }
    Fidelity { lateness, late_packets, tolerance: TOLERANCE, ..Fidelity::default() }
}

/// Returns who moves the packets, and what late timers cost.
pub(super) fn scheduling(counts: &[PortCounts], took: Duration) -> String {
    let most = counts.iter().map(|port| port.lost_ns).max().unwrap_or(0);
    let percent = most as f64 / took.as_ns().max(1) as f64 * 100.0;
    format!("the kernel's softirqs, whose timers lost {percent:.2} % of a line")
}
