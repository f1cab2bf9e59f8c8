//! lowtide's TCP at both ends, over links in memory, without privileges.

use lowtide_bottleneck::BottleneckSettings;
use lowtide_live::config;
use lowtide_live::load::TransferDirection;

use crate::world::{HostStack, World, bytes, faults_in_both_directions, network, with_timeout};

const OURS: [HostStack; 2] = [HostStack::Lowtide, HostStack::Lowtide];

pub(crate) fn every_scheme_delivers_every_byte_despite_faults() {
    with_timeout(|| {
        let faults = ["loss=0.5 %", "reorder=1 %/300us", "duplicate=1 %", "corrupt=0.5 %"];
        let world = World::new(
            OURS,
            &network("1 Gbit/s", 50, 100, 20),
            &faults_in_both_directions(&faults),
        );
        for (i, scheme) in lowtide_tcp::scheme::REGISTRY.all().enumerate() {
            let config = config("linux", Some(scheme.name), &[]).unwrap();
            let load = bytes(
                if i % 2 == 0 { TransferDirection::Up } else { TransferDirection::Down },
                4,
                100_000,
            );
            world.transfer(scheme.name, (0, i % 3 == 0), &config, &load);
        }
        world.end();
    });
}

/// CE without a queue: RFC 3168 feedback reports it. A path that bleaches the codepoint causes no
/// other harm.
pub(crate) fn ce_and_bleach_faults_reach_the_endpoints() {
    with_timeout(|| {
        let classic = config("linux", Some("ecn"), &[]).unwrap();
        let load = bytes(TransferDirection::Up, 1, 1_000_000);
        let run = |faults: &[&str]| {
            let world = World::new(
                OURS,
                &network("10 Gbit/s", 50, 1_000, 1_000),
                &faults_in_both_directions(faults),
            );
            let (report, served) = world.transfer("ecn", (0, false), &classic, &load);
            let (sender, receiver) =
                (report.streams[0].info.unwrap().tcp, served[0].info.unwrap().tcp);
            let (report, _) = world.end();
            (sender, receiver, report.hosts[0].faults)
        };
        let (sender, receiver, faults) = run(&["ce=2 %"]);
        // Marked SYNs, ACKs and retransmissions do not count as new data.
        assert!(
            faults.ce > 5 && receiver.received_ce_bytes > 5 * 1_000,
            "{faults:?}: {receiver:?}"
        );
        assert!(sender.counters.ecn_reductions > 0, "{sender:?}");
        let (sender, receiver, faults) = run(&["ce=2 %", "bleach=100 %"]);
        assert!(faults.bleached > 500 && faults.ce == 0, "{faults:?}");
        assert_eq!((receiver.received_ce_bytes, sender.counters.ecn_reductions), (0, 0));
    });
}

/// DCTCP's window, and with it the queue, varies around K packets. On a busy machine it may be
/// shorter.
pub(crate) fn dctcp_keeps_a_short_queue() {
    with_timeout(|| {
        let world =
            World::new(OURS, &network("20 Mbit/s", 500, 500, 20), &BottleneckSettings::default());
        let dctcp = config("linux", Some("dctcp"), &[]).unwrap();
        world.transfer("dctcp", (0, false), &dctcp, &bytes(TransferDirection::Up, 2, 1_500_000));
        let (report, _) = world.end();
        let port = report.port("switch0->b").unwrap();
        let (mean, max) = (port.length().mean_packets.unwrap(), port.length().max_packets.unwrap());
        eprintln!("queue {mean:.1} packets on average, {max} at most");
        assert_eq!(port.served.overflow_drops, 0, "{port:?}");
        assert!(port.served.marks > 0 && max > 20, "{port:?}");
        assert!(mean < 40.0 && max < 200, "{mean} packets on average, {max} at most");
        assert!(report.fidelity.lateness.count() > 2_000);
    });
}
