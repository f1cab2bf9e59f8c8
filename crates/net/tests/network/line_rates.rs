//! Serialisation times up to 1.6 Tbit/s, against exact fractions.

use lowtide_net::{Blueprint, Framing, HostId, LinkSpec, NodeId, PortSpec};
use lowtide_units::{Duration, Instant, Rate};

use crate::rig::{Rig, packet};

const PACKETS: u32 = 1_000;

/// When the last of a burst of equal packets arrives over one switch, ps.
fn last_arrival(rate: Rate, size: u32) -> u64 {
    let (nic, framing) = (PortSpec::NIC, Framing::Ethernet);
    let link = |host| {
        let (host, switch) = (NodeId::Host(HostId(host)), NodeId::Switch(0));
        LinkSpec::symmetric(
            (host, nic.clone()),
            (switch, nic.clone()),
            rate,
            Duration::ZERO,
            framing,
        )
    };
    let plan = Blueprint {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec!["s".into()],
        links: vec![link(0), link(1)],
        ..Blueprint::default()
    };
    let sends: Vec<_> = (0..PACKETS).map(|i| (Instant::ZERO, packet(0, 1, size, i))).collect();
    let rig = Rig::quiet(&plan, &sends);
    assert_eq!(rig.port("s->h1").served.packets, PACKETS.into());
    rig.times().last().copied().unwrap_or_default()
}

#[test]
fn frames_of_64_to_9216_bytes_take_the_exact_time_up_to_1600_gbits() {
    for gbps in [100_u64, 400, 800, 1_600] {
        // IP packets whose frames have 64 to 9216 B with header and checksum, and 20 B of preamble
        // and gap on the line.
        for frame in (64..=9_216_u64).step_by(73).chain([64, 128, 512, 1_518, 9_018, 9_216]) {
            let size = u32::try_from(frame - 18).unwrap();
            let took = last_arrival(Rate::from_gbps(gbps), size);
            // 8 (F + 20) / R seconds for each packet, and once more for the second line: a byte
            // takes 8000 / G ps, a whole number here, so nothing is rounded or accumulates.
            let (bits, packets) = (8 * u128::from(frame + 20), u128::from(PACKETS) + 1);
            let numerator = bits * packets * 1_000;
            assert_eq!(numerator % u128::from(gbps), 0);
            assert_eq!(u128::from(took), numerator / u128::from(gbps), "{frame} B at {gbps}G");
        }
    }
}
