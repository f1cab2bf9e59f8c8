//! Lines as pipes: loss, asymmetric links, a phantom queue.

use lowtide_net::{Framing, LineSpec, Network, PortSpec};
use lowtide_units::{Duration, Fraction, Instant, Rate};

use crate::rig::{OUT, Rig, funnel, marker, packet, ps};

/// Returns a funnel whose line loses this percentage.
fn lossy(percent: i64) -> lowtide_net::Blueprint {
    let mut plan = funnel(PortSpec::NIC);
    plan.links[1].from_b.loss = Fraction::from_percent(percent);
    plan
}

fn lost(percent: i64, seed: u64, n: u32) -> (u64, Vec<u32>) {
    let sends: Vec<_> = (0..n).map(|i| (ps(u64::from(i) * 200), packet(0, 1, 100, i))).collect();
    let net =
        Network::build(&lossy(percent), seed, Duration::ZERO, Duration::ZERO).expect("it is sound");
    let rig = Rig::run(net, &sends, Instant::FAR_FUTURE);
    let arrived = rig.delivered.iter().map(|d| d.2.segment.seq.raw()).collect();
    (rig.stats(OUT).losses.random_losses, arrived)
}

#[test]
fn losses_are_binomial_and_depend_only_on_the_seed() {
    for (percent, mean) in [(1, 200_u64), (10, 2_000), (50, 10_000)] {
        let (losses, arrived) = lost(percent, 7, 20_000);
        assert_eq!(losses + arrived.len() as u64, 20_000, "each is lost or arrives");
        // Five standard deviations of n p (1 - p).
        let room = 5.0 * (mean as f64 * (1.0 - percent as f64 / 100.0)).sqrt();
        assert!((losses as f64 - mean as f64).abs() < room, "{percent} %: {losses}");
        assert_eq!(lost(percent, 7, 20_000).1, arrived);
        assert_ne!(lost(percent, 8, 20_000).1, arrived);
    }
    assert_eq!(lost(0, 7, 1_000).0, 0);
    assert_eq!(lost(100, 7, 1_000), (1_000, Vec::new()));
}

#[test]
fn lost_packets_never_enter_the_queue() {
    let (losses, arrived) = lost(50, 7, 100);
    let net = Network::build(&lossy(50), 7, Duration::ZERO, Duration::ZERO).expect("it is sound");
    let sends: Vec<_> = (0..100).map(|i| (ps(u64::from(i) * 200), packet(0, 1, 100, i))).collect();
    let rig = Rig::run(net, &sends, Instant::FAR_FUTURE);
    let stats = rig.stats(OUT);
    assert_eq!(stats.levels.iter().map(|l| l.arrivals).sum::<u64>(), 100 - losses);
    assert_eq!((stats.served.packets, stats.served.overflow_drops), (arrived.len() as u64, 0));
}

#[test]
fn the_two_directions_of_a_link_are_independent() {
    let mut plan = funnel(PortSpec::NIC);
    plan.links[1].from_b.delay = Duration::from_ps(7);
    plan.links[1].from_a = LineSpec {
        rate: Rate::from_gbps(80),
        delay: Duration::from_ps(11),
        ..plan.links[1].from_a.clone()
    };
    let sends = [(ps(0), packet(0, 1, 100, 0)), (ps(200_000), packet(1, 0, 100, 1))];
    // Forward 1 ps and 1000 ps per byte, back 100 ps and 1 ps.
    assert_eq!(Rig::quiet(&plan, &sends).times(), [100 + 100_000 + 7, 200_000 + 10_000 + 11 + 100]);
}

#[test]
fn a_phantom_queue_marks_by_the_line_and_not_by_the_queue() {
    let mark = marker("phantom", &[("k", "3 kB")]);
    let port = PortSpec { mark, ..PortSpec::NIC };
    // Nearly at once: the real queue is longest at the start, and the line is always full.
    let burst: Vec<_> = (0..200).map(|i| (ps(u64::from(i)), packet(0, 1, 1_000, i))).collect();
    let rig = Rig::quiet(&funnel(port.clone()), &burst);
    assert_eq!(rig.marked(), (61..200).collect::<Vec<u32>>(), "50 B are left behind by each");
    // Those packets at 90 % of the line rate: no marks, whatever the queue was before.
    let spread: Vec<_> =
        (0..200).map(|i| (ps(u64::from(i) * 1_111_111), packet(0, 1, 1_000, i))).collect();
    assert_eq!(Rig::quiet(&funnel(port.clone()), &spread).marked(), Vec::<u32>::new());
    // With framing and smaller packets the line is as full, and so is the phantom queue.
    let mut framed = funnel(port);
    framed.links.iter_mut().for_each(|l| l.framing = Framing::Ethernet);
    let burst: Vec<_> = (0..200).map(|i| (ps(u64::from(i)), packet(0, 1, 962, i))).collect();
    assert_eq!(Rig::quiet(&framed, &burst).marked(), (61..200).collect::<Vec<u32>>());
}
