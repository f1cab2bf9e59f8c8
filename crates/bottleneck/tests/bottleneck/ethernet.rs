//! Hosts on Ethernets: veth pairs, whose other ends the network has by AF_PACKET.

use lowtide_bottleneck::{BottleneckReport, BottleneckSettings};
use lowtide_live::config;
use lowtide_live::load::TransferDirection;

use crate::world::{HostStack, World, bytes, network, with_timeout};

/// Bytes both ways over IPv4 and IPv6.
fn run(offloads: bool) -> BottleneckReport {
    let whose = [HostStack::Ethernet { offloads }, HostStack::Ethernet { offloads }];
    let world =
        World::new(whose, &network("1 Gbit/s", 50, 200, 20), &BottleneckSettings::default());
    let unused = config("linux", None, &[]).unwrap();
    for end in &world.hosts {
        end.set("tcp_ecn", "1");
    }
    for v6 in [false, true] {
        for way in [TransferDirection::Up, TransferDirection::Down] {
            world.transfer("ethernet", (0, v6), &unused, &bytes(way, 2, 1_000_000));
        }
    }
    world.end().0
}

pub(crate) fn kernels_on_ethernets_find_each_other_and_are_marked() {
    with_timeout(|| {
        let report = run(false);
        assert_eq!(report.fidelity.checksum_partial, 0);
        for port in ["switch0->a", "switch0->b"] {
            let stats = &report.port(port).unwrap().stats;
            assert!(stats.bytes > 4_000_000 && stats.marks > 0, "{port}: {stats:?}");
            // No packet is longer than the line takes.
            assert!(stats.bytes <= stats.packets * 1500, "{port}: {stats:?}");
        }
    });
}

pub(crate) fn checksum_partial_packets_are_completed_and_reported() {
    with_timeout(|| {
        let report = run(true);
        assert!(report.fidelity.checksum_partial > 100);
        let complaints = report.warnings().join("; ");
        assert!(complaints.contains("ethtool -K"), "{complaints}");
        let stats = &report.port("switch0->b").unwrap().stats;
        assert!(stats.bytes <= stats.packets * 1500, "{stats:?}");
    });
}
