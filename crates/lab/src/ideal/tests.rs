use lowtide_net::{Framing, LineSpec, PortSpec, Routing, SwitchSpec};
use lowtide_units::Fraction;

use super::*;

/// A flow with a handshake of 60-byte packets and timestamps on every segment.
fn flow(size: u64, mss: u64) -> Packets {
    let count = size.div_ceil(mss).max(1);
    let last = size - (count - 1) * mss + 52;
    Packets { syn: 60, syn_ack: 60, full: mss + 52, last, count }
}

fn host(n: u32) -> NodeId {
    NodeId::Host(HostId(n))
}

/// A link with these rates in Mbit/s per direction and a delay of 20 us.
fn link(a: NodeId, b: NodeId, (there, back): (u64, u64), framing: Framing) -> LinkSpec {
    let line = |mbps: u64| LineSpec {
        rate: Rate::from_bps(mbps * 1_000_000).unwrap(),
        delay: Duration::from_us(20),
        port: PortSpec::NIC,
        loss: Fraction::ZERO,
    };
    LinkSpec { a, b, from_a: line(there), from_b: line(back), framing }
}

fn plan(switches: u32, links: Vec<LinkSpec>, routing: Routing) -> Blueprint {
    let switch = |i: u32| SwitchSpec { name: format!("switch{i}"), ..SwitchSpec::default() };
    Blueprint {
        hosts: vec!["a".to_owned(), "b".to_owned()],
        switches: (0..switches).map(switch).collect(),
        links,
        routing,
        ..Blueprint::default()
    }
}

/// The ideal time from the first host to the second, in picoseconds.
fn ideal(plan: &Blueprint, packets: &Packets) -> u64 {
    IdealPaths::new(plan).unwrap().ideal(0, 1, packets, false).unwrap().as_ps()
}

/// Two hosts at a switch, each with its own rate.
fn star(rates: [u64; 2], framing: Framing) -> Blueprint {
    let links = (0..2)
        .map(|i| link(host(i), NodeId::Switch(0), (rates[i as usize], rates[i as usize]), framing));
    plan(1, links.collect(), Routing::Single)
}

/// Two racks with one host each, connected by spines; each spine has the rates of its two links.
fn spines(hosts: u64, rates: &[(u64, u64)], routing: Routing) -> Blueprint {
    let at = NodeId::Switch;
    let mut links: Vec<LinkSpec> =
        (0..2).map(|i| link(host(i), at(i), (hosts, hosts), Framing::Ip)).collect();
    for (spine, (up, down)) in (2..).zip(rates) {
        links.push(link(at(0), at(spine), (*up, *up), Framing::Ip));
        links.push(link(at(spine), at(1), (*down, *down), Framing::Ip));
    }
    plan(2 + rates.len() as u32, links, routing)
}

const ECMP: Routing = Routing::Ecmp { polarised: false };

/// Serialization time of a byte at 1 Mbit/s, in picoseconds.
const BYTE: u64 = 8_000_000;

#[test]
fn the_ideal_time_is_a_handshake_and_every_packet_once() {
    let star = star([1_000, 1_000], Framing::Ethernet);
    let shake = 80_000_000 + 4 * 98 * BYTE / 1_000;
    // Two packets of 1448 and one of 104 bytes: 1538, 1538 and 194 on each of two lines.
    let three = shake + 40_000_000 + (1538 + 1538 + 1538 + 194) * BYTE / 1_000;
    assert_eq!(ideal(&star, &flow(3000, 1448)), three);
    let one = shake + 40_000_000 + 2 * (1 + 52 + 38) * BYTE / 1_000;
    assert_eq!(ideal(&star, &flow(1, 1448)), one);
}

#[test]
fn unconnected_hosts_have_no_ideal_time() {
    let mut star = star([10, 10], Framing::Ip);
    assert!(IdealPaths::new(&star).unwrap().ideal(0, 0, &flow(1, 1), false).is_none());
    star.links.pop();
    assert!(IdealPaths::new(&star).is_none_or(|mut n| n.ideal(0, 1, &flow(1, 1), false).is_none()));
}

#[test]
fn the_fastest_of_the_shortest_paths_counts_for_each_size() {
    // 1 Mbit/s before a fast link, or after it, or 10 Mbit/s twice.
    let rates = [(1, 1_000), (1_000, 1), (10, 10)];
    let of = |rates: &[(u64, u64)], packets: &Packets| ideal(&spines(100, rates, ECMP), packets);
    let many = flow(14_480, 1448);
    let each = rates.map(|one| of(&[one], &many));
    assert_eq!(of(&rates, &many), each[2], "no path combines hops of others");
    assert!(each[2] * 4 < each[0].min(each[1]));
    // A slow link delays one small packet less than many, so its best path may be a longer, faster
    // one.
    let mut far = spines(100, &[(10, 10), (1_000, 1_000)], ECMP);
    for link in &mut far.links[4..] {
        link.from_a.delay = Duration::from_us(500);
        link.from_b.delay = Duration::from_us(500);
    }
    let (slow, fast) = (spines(100, &[(10, 10)], ECMP), spines(100, &[(1_000, 1_000)], ECMP));
    assert_eq!(ideal(&far, &flow(1, 1448)), ideal(&slow, &flow(1, 1448)));
    // The SYN and the data take the longer path, the SYN-ACK the other.
    let more = 2 * 2 * (500 - 20) * 1_000_000 + 2 * 60 * (BYTE / 10 - BYTE / 1_000);
    let many = flow(1_448_000, 1448);
    assert_eq!(ideal(&far, &many), ideal(&fast, &many) + more);
    let single = spines(100, &rates, Routing::Single);
    let many = flow(14_480, 1448);
    assert_eq!(ideal(&single, &many), each[0], "the first link is taken");
}

#[test]
fn the_reverse_path_is_chosen_independently() {
    // One spine is fast forward and slow backward, the other vice versa.
    let at = NodeId::Switch;
    let links = vec![
        link(host(0), at(0), (100, 100), Framing::Ip),
        link(host(1), at(1), (100, 100), Framing::Ip),
        link(at(0), at(2), (1_000, 1), Framing::Ip),
        link(at(2), at(1), (1_000, 1), Framing::Ip),
        link(at(0), at(3), (1, 1_000), Framing::Ip),
        link(at(3), at(1), (1, 1_000), Framing::Ip),
    ];
    let fast = spines(100, &[(1_000, 1_000)], ECMP);
    assert_eq!(ideal(&plan(4, links, ECMP), &flow(9_000, 1448)), ideal(&fast, &flow(9_000, 1448)));
}

#[test]
fn sprayed_packets_use_all_lines_of_a_hop_together() {
    let one = spines(1_000, &[(10, 10)], Routing::Spray);
    let four = spines(1_000, &[(10, 10); 4], Routing::Spray);
    let long = flow(14_480_000, 1448);
    let (alone, together) = (ideal(&one, &long), ideal(&four, &long));
    assert!(together * 39 / 10 < alone && alone < together * 4, "{alone} {together}");
    assert_eq!(ideal(&one, &flow(1, 1448)), ideal(&four, &flow(1, 1448)), "one packet, one line");
    // ECMP keeps a flow on one path.
    assert_eq!(
        ideal(&spines(1_000, &[(10, 10); 4], ECMP), &long),
        ideal(&spines(1_000, &[(10, 10)], ECMP), &long)
    );
}

#[test]
fn beyond_the_limit_of_paths_the_best_link_of_each_hop_counts() {
    // No path dominates another.
    let rates: Vec<(u64, u64)> = (1..=MAX_PATHS as u64 + 1).map(|i| (i, 100 - i)).collect();
    let most = spines(1_000, &rates[1..], ECMP);
    let all = spines(1_000, &rates, ECMP);
    let (packets, best) = (flow(14_480, 1448), spines(1_000, &[(33, 99)], ECMP));
    assert_eq!(ideal(&all, &packets), ideal(&best, &packets));
    assert!(ideal(&most, &packets) > ideal(&best, &packets));
}

#[test]
fn the_options_of_the_handshake_are_those_of_its_hosts() {
    let bare = Config {
        timestamps: false,
        sack: false,
        window_scaling: false,
        delay_option: false,
        ..Config::default()
    };
    let all = Config { timestamps: true, sack: true, window_scaling: true, ..bare.clone() };
    let delay = Config { delay_option: true, ..all.clone() };
    let sizes =
        |a: &Config, b: &Config| (ip_bytes(syn_options(&[a])), ip_bytes(syn_options(&[a, b])));
    assert_eq!(sizes(&bare, &all), (44, 44));
    assert_eq!(sizes(&all, &bare), (60, 44));
    assert_eq!(sizes(&all, &all), (60, 60));
    assert_eq!(sizes(&delay, &all), (64, 60));
    assert_eq!(sizes(&delay, &delay), (64, 64));
    let sack = Config { sack: true, ..bare.clone() };
    assert_eq!(sizes(&sack, &sack), (48, 48));
}
