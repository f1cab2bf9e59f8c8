//! Shared memory and its dynamic threshold: compared with a closed form, and packet by packet with
//! a model that recounts each time.

use lowtide_net::{
    Blueprint, BufferSpec, ClassSet, ClassSpec, MarkSpec, Network, Packet, PortSpec, Ratio,
    Service, profiles,
};
use lowtide_units::{Bytes, Duration, Instant};
use proptest::prelude::*;

use crate::event_port_equivalence::{traffic, with_one_class};
use crate::rig::{Rig, build, fan, packet, ps};

fn dynamic(num: u32, den: u32, reserved: u64) -> PortSpec {
    let alpha = Ratio::new(num, den).expect("a ratio");
    let buffer = BufferSpec::Dynamic { alpha, reserved: Bytes::new(reserved) };
    PortSpec { buffer, ..PortSpec::NIC }
}

/// Returns the bytes held by each of the first `n` ports of `plan` (including the packet on the
/// line) while `rounds` packets of `size` arrive at each of them in turn. The last round must not
/// meet a departure, which would have no arrival to replace it. Departures are a thousand rounds /
/// n apart.
fn saturated(plan: &Blueprint, n: u32, rounds: u32, size: u32) -> Vec<u64> {
    let mut plan = plan.clone();
    for link in &mut plan.links {
        link.from_b.port.count_in_service = true;
    }
    let sends: Vec<_> = (0..rounds * n)
        .map(|i| (ps(u64::from(i) * u64::from(size)), packet(0, 1 + i % n, size, i)))
        .collect();
    // To the end of the last arrival, one serialisation time on the sender's line later.
    let end = ps(u64::from(rounds * n + 1) * u64::from(size));
    let mut rig = Rig::run(build(&plan), &sends, end);
    (1..=n).map(|i| rig.net.queue_now(end, 2 * i + 1).1).collect()
}

#[test]
fn saturated_ports_hold_alpha_b_over_one_plus_alpha_n() {
    let (memory, size) = (1_000_000_u64, 1_000);
    for (num, den) in [(1, 4), (1, 1), (2, 1), (8, 1)] {
        for n in [1, 2, 5, 20] {
            // A thousand packets arrive per packet sent: arrivals far outnumber departures.
            let plan = fan(20, dynamic(num, den, 0), Some(memory));
            let want = u64::from(num) * memory / (u64::from(den) + u64::from(num * n));
            for plan in [&plan, &with_one_class(&plan)] {
                for held in saturated(plan, n, 2_000 / n.min(2) + 500 / n, size) {
                    let off = held.abs_diff(want);
                    assert!(off <= u64::from(size), "{num}/{den}, {n}: {held}, not {want}");
                }
            }
        }
    }
}

#[test]
fn reserved_bytes_add_to_the_share_of_the_rest() {
    // 20 x 10 kB of a million are reserved. The host's port is not part of the switch; the port
    // back to the sender is: 21.
    let plan = fan(20, dynamic(1, 1, 10_000), Some(1_000_000));
    let shared = 1_000_000 - 21 * 10_000;
    for n in [1, 4] {
        let want = 10_000 + shared / u64::from(1 + n);
        for held in saturated(&plan, n, 1_500, 1_000) {
            assert!(held.abs_diff(want) <= 1_000, "{n}: {held}, not {want}");
        }
    }
}

#[test]
fn a_busy_port_of_a_triumph_takes_seven_hundred_kilobytes() {
    let triumph = profiles::REGISTRY.find("triumph").unwrap();
    let port = PortSpec { buffer: triumph.buffer(), ..PortSpec::NIC };
    let plan = fan(51, port, Some(triumph.memory.as_u64()));
    let held = saturated(&plan, 1, 1_300, 1_500)[0];
    assert!(held <= triumph.share(1).as_u64() && held + 1_500 > 699_050, "{held}");
}

#[test]
fn groups_of_ports_have_separate_memories() {
    let mut plan = fan(4, dynamic(1, 1, 0), Some(100_000));
    plan.switches[0].ports_per_memory = std::num::NonZeroU32::new(3);
    // Ports to hosts 0, 1, 2 share one memory, those to hosts 3 and 4 another.
    let held = saturated(&plan, 4, 600, 100);
    let want = [33_333, 33_333, 33_333, 33_333];
    assert!(held.iter().zip(want).all(|(h, w)| h.abs_diff(w) <= 100), "{held:?}");
    let net = build(&plan);
    let pools = net.buffer_pools().map(|m| (m.switch, m.buffer_pool, m.size_bytes));
    let expected = [0, 1].map(|pool| ("switch0".to_owned(), pool, 100_000));
    assert!(pools.eq(expected));
}

#[test]
fn other_rules_do_not_use_the_shared_memory() {
    let mut plan = fan(2, dynamic(1, 1, 0), Some(10_000));
    plan.links[1].from_b.port.buffer = BufferSpec::Unlimited;
    let sends: Vec<_> = (0..100).map(|i| (ps(u64::from(i)), packet(0, 1, 1_000, i))).collect();
    let rig = Rig::quiet(&plan, &sends);
    assert_eq!(rig.delivered.len(), 100);
    assert_eq!(rig.net.buffer_pools().next().unwrap().peak_bytes, 0);
}

/// The time of one packet in memory.
struct Residence {
    port: u32,
    size: u64,
    until: u64,
}

/// Returns the admitted packets, and the peak from `warmup` on. A model without heaps: it sums over
/// all packets for each arrival.
fn admitted(
    sends: &[(Instant, Packet)],
    spec: &PortSpec,
    memory: u64,
    ports: u64,
    warmup: u64,
) -> (Vec<u32>, u64) {
    let BufferSpec::Dynamic { alpha, reserved } = spec.buffer else { panic!("dynamic") };
    let reserved = reserved.as_u64();
    let (mut residences, mut out, mut peak) = (Vec::<Residence>::new(), Vec::new(), 0);
    let mut sender = 0;
    let mut at_boundary = false;
    for &(at, packet) in sends {
        let size = u64::from(packet.size);
        sender = at.as_ps().max(sender) + size;
        let now = sender;
        let held = |residences: &[Residence], t: u64| {
            residences.iter().filter(|s| s.until > t).map(|s| s.size).sum::<u64>()
        };
        if now >= warmup && !at_boundary {
            at_boundary = true;
            peak = held(&residences, warmup);
        }
        let of = |port: u32| {
            residences
                .iter()
                .filter(|s| s.port == port && s.until > now)
                .map(|s| s.size)
                .sum::<u64>()
        };
        let port = packet.dst.0;
        let used: u64 = (1..4).map(|p| of(p).saturating_sub(reserved)).sum();
        let free = memory - ports * reserved - used;
        let after = of(port) + size;
        let beyond = after.saturating_sub(reserved);
        let threshold = beyond * u64::from(alpha.den.get()) <= u64::from(alpha.num) * free;
        let fits = beyond - of(port).saturating_sub(reserved) <= free;
        if after > reserved && !(threshold && fits) {
            continue;
        }
        let last = residences.iter().filter(|s| s.port == port).map(|s| s.until).max().unwrap_or(0);
        residences.push(Residence { port, size, until: last.max(now) + size * 1_000 });
        out.push(packet.segment.seq.raw());
        if now >= warmup {
            peak = peak.max(held(&residences, now));
        }
    }
    if !at_boundary {
        peak = residences.iter().filter(|s| s.until > warmup).map(|s| s.size).sum();
    }
    (out, peak)
}

proptest! {
    #[test]
    fn every_admission_is_that_of_the_model(
        (num, den) in (0..6_u32, 1..6_u32),
        reserved in 0..300_u64,
        memory in 1_200..8_000_u64,
        traffic in traffic(),
        warmup in prop_oneof![Just(0), 0..1_000_000_u64],
    ) {
        let spec = dynamic(num, den, reserved);
        let plan = fan(3, spec.clone(), Some(memory));
        let (mut want, peak) = admitted(&traffic, &spec, memory, 4, warmup);
        for plan in [&plan, &with_one_class(&plan)] {
            let net = Network::build(plan, 0, Duration::ZERO, Duration::from_ps(warmup)).unwrap();
            let rig = Rig::run(net, &traffic, Instant::FAR_FUTURE);
            let mut got: Vec<u32> =
                rig.delivered.iter().map(|d| d.2.segment.seq.raw()).collect();
            got.sort_unstable();
            want.sort_unstable();
            prop_assert_eq!(&got, &want);
            let memory = rig.net.buffer_pools().next().unwrap();
            prop_assert_eq!((memory.peak_bytes, memory.held_bytes), (peak, 0));
        }
    }
}

#[test]
fn each_class_has_its_own_alpha_and_share() {
    let class = |num, den| {
        let service = Service::Dwrr { quantum: Bytes::new(1_500) };
        ClassSpec { service, buffer: dynamic(num, den, 0).buffer, mark: MarkSpec::NONE }
    };
    let port = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC };
    let mut plan = fan(1, port, Some(100_000));
    plan.class_sets = vec![vec![class(1, 1), class(1, 4)]];
    let send = |i: u32| {
        (ps(u64::from(i) * 10_000), Packet { class: (i % 2) as u8, ..packet(0, 1, 100, i) })
    };
    let sends: Vec<_> = (0..3_000).map(send).collect();
    let end = ps(29_990_100);
    let mut rig = Rig::run(build(&plan), &sends, end);
    // x + y + free = 100 kB with x = free and y = free / 4: 44,444 B and 11,111 B.
    let [x, y] = [0, 1].map(|class| rig.net.class_queue_now(end, 3, class).unwrap().1);
    assert!(x.abs_diff(44_444) <= 200 && y.abs_diff(11_111) <= 200, "{x} {y}");
    assert_eq!(rig.net.class_queue_now(end, 3, 2), None);
}
