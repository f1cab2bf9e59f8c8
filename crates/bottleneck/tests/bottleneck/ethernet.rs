//! Hosts on Ethernet: veth pairs, whose other ends the network opens with AF_PACKET.

use lowtide_bottleneck::{BottleneckReport, BottleneckSettings};
use lowtide_live::config;
use lowtide_live::load::TransferDirection;

use crate::world::{HostStack, World, bytes, network, with_timeout};

/// Transfers data in both directions over IPv4 and IPv6.
fn run(offloads: bool) -> BottleneckReport {
    let stacks = [HostStack::Ethernet { offloads }, HostStack::Ethernet { offloads }];
    let world =
        World::new(stacks, &network("1 Gbit/s", 50, 200, 20), &BottleneckSettings::default());
    let unused = config("linux", None, &[]).unwrap();
    for host in &world.hosts {
        host.set("tcp_ecn", "1");
    }
    for v6 in [false, true] {
        for direction in [TransferDirection::Up, TransferDirection::Down] {
            world.transfer("ethernet", (0, v6), &unused, &bytes(direction, 2, 1_000_000));
        }
    }
    world.end().0
}

pub(crate) fn kernels_on_ethernet_resolve_each_other_and_are_marked() {
    with_timeout(|| {
        let report = run(false);
        assert_eq!(report.fidelity.checksum_partial, 0);
        for port in ["switch0->a", "switch0->b"] {
            let stats = &report.port(port).unwrap();
            assert!(stats.served.bytes > 4_000_000 && stats.served.marks > 0, "{port}: {stats:?}");
            // No packet exceeds the MTU.
            assert!(stats.served.bytes <= stats.served.packets * 1500, "{port}: {stats:?}");
        }
    });
}

pub(crate) fn checksum_partial_packets_are_completed_and_reported() {
    with_timeout(|| {
        let report = run(true);
        assert!(report.fidelity.checksum_partial > 100);
        let warnings = report.warnings().join("; ");
        assert!(warnings.contains("ethtool -K"), "{warnings}");
        let stats = &report.port("switch0->b").unwrap();
        assert!(stats.served.bytes <= stats.served.packets * 1500, "{stats:?}");
    });
}
