//! Hosts on Ethernets: veth pairs, whose other ends the network has by AF_PACKET.

use lowtide_bottleneck::{Report, Settings};
use lowtide_live::config;
use lowtide_live::load::Way;

use crate::world::{Whose, World, bounded, bytes, network};

/// Bytes both ways over IPv4 and IPv6.
fn run(offloads: bool) -> Report {
    let whose = [Whose::Ethernet { offloads }, Whose::Ethernet { offloads }];
    let world = World::new(whose, &network("1 Gbit/s", 50, 200, 20), &Settings::default());
    let unused = config("linux", None, &[]).unwrap();
    for end in &world.ends {
        end.set("tcp_ecn", "1");
    }
    for v6 in [false, true] {
        for way in [Way::Up, Way::Down] {
            world.moves("ethernet", (0, v6), &unused, &bytes(way, 2, 1_000_000));
        }
    }
    world.end().0
}

pub(crate) fn kernels_on_ethernets_find_each_other_and_are_marked() {
    bounded(|| {
        let report = run(false);
        assert_eq!(report.fidelity.unfinished, 0);
        for port in ["switch0->a", "switch0->b"] {
            let stats = &report.port(port).unwrap().stats;
            assert!(stats.bytes > 4_000_000 && stats.marks > 0, "{port}: {stats:?}");
            // No packet is longer than the line takes.
            assert!(stats.bytes <= stats.packets * 1500, "{port}: {stats:?}");
        }
    });
}

pub(crate) fn what_offloads_leave_undone_is_done_and_told() {
    bounded(|| {
        let report = run(true);
        assert!(report.fidelity.unfinished > 100);
        let complaints = report.complaints().join("; ");
        assert!(complaints.contains("ethtool -K"), "{complaints}");
        let stats = &report.port("switch0->b").unwrap().stats;
        assert!(stats.bytes <= stats.packets * 1500, "{stats:?}");
    });
}
