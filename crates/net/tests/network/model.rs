//! All statistics of a port compared with a model without rings, cursors and lazy departures.

use lowtide_net::{BufferSpec, MarkSpec, Network, Packet, PortSpec, QueueLength};
use lowtide_rows::{Level, Queue};
use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::Ecn;
use proptest::prelude::*;

use crate::rig::{OUT, Rig, funnel, marker, packet, ps};

/// A packet in the model: arrival, departure (if admitted), size.
#[derive(Clone, Copy)]
struct Residence {
    came: u64,
    left: u64,
    size: u64,
}

/// Returns packets and bytes of the queue that an arrival at `now` finds.
fn queue(residences: &[Residence], now: u64, with_line: bool) -> (usize, u64) {
    let mut inside: Vec<&Residence> =
        residences.iter().filter(|s| s.came <= now && s.left > now).collect();
    if !with_line && !inside.is_empty() {
        inside.remove(0);
    }
    (inside.len(), inside.iter().map(|s| s.size).sum())
}

fn above(count: QueueLength, queue: (usize, u64)) -> bool {
    match count {
        QueueLength::Packets(k) => queue.0 as u64 > k,
        QueueLength::Bytes(k) => queue.1 > k.as_u64(),
    }
}

/// Models a port that sends one byte per `byte_ps`. Returns the departures (and marks), and the
/// statistics between the end of the warm-up and the end of the run.
fn serve(
    arrivals: &[(u64, Packet)],
    spec: &PortSpec,
    byte_ps: u64,
    warmup: u64,
    end: u64,
) -> (Vec<(u64, Packet)>, Queue) {
    let with_line = spec.count_in_service;
    let mut residences: Vec<Residence> = Vec::new();
    let mut out = Vec::new();
    let mut stats = Queue::default();
    let mut found_at: Vec<usize> = Vec::new();
    for &(now, mut packet) in arrivals.iter().filter(|a| a.0 < end) {
        let size = u64::from(packet.size);
        let found = queue(&residences, now, with_line);
        let counts = u64::from(now >= warmup);
        if counts == 1 {
            found_at.push(found.0);
        }
        let full = match spec.buffer {
            BufferSpec::Unlimited | BufferSpec::Dynamic { .. } => false,
            BufferSpec::Static(most) => above(most, (found.0 + 1, found.1 + size)),
        };
        if full {
            stats.served.overflow_drops += counts;
            continue;
        }
        if let Some(k) = spec.mark.values().find_length("k")
            && above(k, found)
        {
            if packet.segment.ecn != Ecn::NotEct {
                packet.segment.ecn = Ecn::Ce;
                stats.served.marks += counts;
            } else if spec.mark.values().name("not-ect") == "drop" {
                stats.served.aqm_drops += counts;
                continue;
            }
        }
        let start = residences.last().map_or(now, |s| s.left.max(now));
        let left = start + size * byte_ps;
        residences.push(Residence { came: now, left, size });
        out.push((left, packet));
        if left > warmup && left <= end {
            stats.served.packets += 1;
            stats.served.bytes += size;
        }
        let sent = |until: u64| left.min(until).saturating_sub(start.min(until));
        stats.busy_ps += sent(end) - sent(warmup);
    }
    // The queue is constant between any two consecutive arrivals or departures.
    let mut steps: Vec<u64> = residences.iter().flat_map(|s| [s.came, s.left]).collect();
    steps.extend([warmup, end]);
    steps.retain(|&t| t >= warmup && t <= end);
    steps.sort_unstable();
    steps.dedup();
    let mut levels: Vec<Level> = (0..=residences.len() as u32)
        .map(|packets| Level { packets, ..Level::default() })
        .collect();
    for span in steps.windows(2) {
        let (packets, bytes) = queue(&residences, span[0], with_line);
        levels[packets].time_ps += span[1] - span[0];
        stats.max_bytes = stats.max_bytes.max(bytes);
    }
    for packets in found_at {
        levels[packets].arrivals += 1;
    }
    levels.retain(|l| l.time_ps > 0 || l.arrivals > 0);
    stats.levels = levels;
    (out, stats)
}

fn count(packets: u64) -> impl Strategy<Value = QueueLength> {
    prop_oneof![
        (0..packets).prop_map(QueueLength::Packets),
        (0..packets * 150).prop_map(|b| QueueLength::Bytes(Bytes::new(b))),
    ]
}

/// Step marking with any threshold.
pub(crate) fn step() -> impl Strategy<Value = MarkSpec> {
    let not_ect = prop_oneof![Just("ignore"), Just("drop")];
    (count(15), not_ect).prop_map(|(k, not_ect)| {
        marker("step", &[("k", k.to_string().as_str()), ("not-ect", not_ect)])
    })
}

fn spec() -> impl Strategy<Value = PortSpec> {
    let buffer = prop_oneof![Just(BufferSpec::Unlimited), count(30).prop_map(BufferSpec::Static)];
    let mark = prop_oneof![Just(MarkSpec::NONE), step()];
    (buffer, mark, any::<bool>()).prop_map(|(buffer, mark, count_in_service)| PortSpec {
        buffer,
        mark,
        count_in_service,
        classes: None,
    })
}

/// Gaps in ps (often a whole service time, so that ties occur), sizes, ECN.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32, u8)>> {
    let gap = prop_oneof![3 => 1..200_000_u64, 2 => Just(100_000_u64), 3 => 1..3_000_u64];
    let size = prop_oneof![Just(100_u32), 40..1_500_u32];
    proptest::collection::vec((gap, size, 0..4_u8), 1..80)
}

proptest! {
    #[test]
    fn statistics_equal_those_of_the_model(
        spec in spec(),
        traffic in traffic(),
        warmup in 0..4_000_000_u64,
        after in 0..8_000_000_u64,
    ) {
        let end = warmup + after;
        let mut at = 0;
        let sends: Vec<(u64, Packet)> = (0..)
            .zip(&traffic)
            .map(|(i, &(gap, size, ecn))| {
                at += gap;
                let mut packet = packet(0, 1, size, i);
                packet.segment.ecn = Ecn::from_bits(ecn);
                (at, packet)
            })
            .collect();
        let (to_switch, nic) = serve(&sends, &PortSpec::NIC, 1, warmup, end);
        let (to_host, out) = serve(&to_switch, &spec, 1_000, warmup, end);

        let net = Network::build(&funnel(spec), 0, Duration::ZERO, Duration::from_ps(warmup));
        let mut sends: Vec<(Instant, Packet)> = sends.iter().map(|s| (ps(s.0), s.1)).collect();
        // A later packet that never arrives keeps the run from being idle before its end.
        sends.push((ps(end), packet(0, 1, 1, 0)));
        let rig = Rig::run(net.unwrap(), &sends, ps(end));

        prop_assert_eq!(rig.stats(0), nic);
        prop_assert_eq!(rig.stats(OUT), out);
        let got: Vec<(u64, Packet)> =
            rig.delivered.iter().map(|d| (d.0.as_ps(), d.2)).collect();
        let want: Vec<(u64, Packet)> = to_host.into_iter().filter(|d| d.0 < end).collect();
        prop_assert_eq!(got, want);
        for port in rig.net.ports() {
            let time: u64 = port.levels.iter().map(|l| l.time_ps).sum();
            prop_assert_eq!(time, after, "histogram of {} against the time observed", port.name);
        }
    }
}
