//! Existing interfaces: one end of a veth pair, and a TUN interface of another program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use lowtide_live::links::Links;
use lowtide_live::load::TransferDirection;
use lowtide_live::netns::set_sysctl;
use lowtide_live::{Device, DevicePlan, Live, LiveSettings};
use lowtide_tcp::EcnMode;

use crate::world::{
    PORT, V4, V6, World, assert_good, bytes, in_namespace, ip, ours_at, plan, settings,
};

const N: u64 = 6_000_000;

/// Transfers data in both directions, over IPv4 and IPv6, over connections opened by either end.
fn all_directions(world: &World, what: &str, segments: &str) {
    let config = settings(&[("ecn", "rfc3168"), ("tso-segments", segments)]);
    for v6 in [false, true] {
        for direction in [TransferDirection::Up, TransferDirection::Down] {
            let got = world.to_kernel(v6, &config, &bytes(direction, N));
            assert_good(&format!("{what}: to the kernel, v6 {v6}, {direction:?}"), &got, N);
            assert_eq!(got.0.streams[0].info.unwrap().tcp.ecn, EcnMode::Classic);
            let got = world.serve_kernel(v6, &config, &bytes(direction, N));
            assert_good(&format!("{what}: from the kernel, v6 {v6}, {direction:?}"), &got, N);
        }
    }
    let packets = world.live.stats().packets;
    assert_eq!((packets.malformed, packets.bad_checksum), (0, 0), "{what}: {packets:?}");
    world.assert_empty();
}

pub(crate) fn a_veth_pair_carries_every_byte() {
    in_namespace(|| {
        let world = World::veth(false, false);
        all_directions(&world, "veth", "1");
        // The kernel segments our GSO packets as it does its own.
        all_directions(&world, "veth, 64 segments at once", "64");
        assert_eq!(world.live.stats().packets.checksum_partial, 0);
    });
}

pub(crate) fn every_byte_arrives_without_a_ring_or_with_a_small_one() {
    // The smallest ring loses packets, which TCP repairs. Frames with several segments do not fit
    // into its slots.
    for (rx_ring, offloads) in [(0, false), (1, false), (1, true)] {
        in_namespace(move || {
            let plan = DevicePlan { rx_ring, ..plan("packet:lt0", &[V4, V6]) };
            let world = World::veth_with(offloads, &plan);
            all_directions(&world, &format!("ring of {rx_ring} B, offloads {offloads}"), "44");
        });
    }
}

pub(crate) fn a_ring_that_cannot_be_made_is_reported() {
    // More slots than the kernel can count.
    const TOO_LARGE: usize = 1 << 50;
    in_namespace(|| {
        let world = World::veth(false, false);
        let plan = plan("packet:lt0", &[V4]);
        let open = |rx_ring| Device::open(&DevicePlan { rx_ring, ..plan.clone() }).unwrap();
        assert!(open(plan.rx_ring).rx_ring_error().is_none());
        assert!(open(0).rx_ring_error().is_none(), "none was asked for");
        assert!(open(TOO_LARGE).rx_ring_error().is_some());
        drop(world);
    });
    in_namespace(|| {
        let plan = DevicePlan { rx_ring: TOO_LARGE, ..plan("packet:lt0", &[V4, V6]) };
        all_directions(&World::veth_with(false, &plan), "without its ring", "1");
    });
}

pub(crate) fn checksum_partial_packets_are_completed_and_counted() {
    in_namespace(|| {
        let world = World::veth(true, false);
        all_directions(&world, "veth with offloads", "64");
        let packets = world.live.stats().packets;
        assert!(packets.checksum_partial > 0);
    });
}

pub(crate) fn gso_packets_are_taken_whole_with_offload() {
    in_namespace(|| {
        let world = World::veth(true, true);
        all_directions(&world, "veth with offloads at both ends", "64");
        let packets = world.live.stats().packets;
        // Eight times N bytes were transferred; without GSO each packet would have at most 1448 of
        // them.
        assert!(packets.received < 8 * N / 1448, "{packets:?}");
        assert_eq!(packets.checksum_partial, 0, "no packet was completed by us");
    });
}

pub(crate) fn an_existing_tun_interface_carries_every_byte() {
    in_namespace(|| all_directions(&World::tuns(), "tun", "7"));
}

pub(crate) fn tun_with_offload_carries_every_byte() {
    in_namespace(|| {
        let world = World::offload();
        all_directions(&world, "tun with offload", "64");
        let packets = world.live.stats().packets;
        // Eight times N bytes were transferred; without offload each packet would have at most 1448
        // of them.
        assert!(packets.received < 8 * N / 1448, "{packets:?}");
    });
}

pub(crate) fn off_link_packets_go_via_the_gateway() {
    in_namespace(|| {
        let world = World::veth(false, false);
        let remote = "10.99.0.1".parse().unwrap();
        let listener = world.in_kernel_namespace(|| {
            let mut links = Links::open().unwrap();
            links.set_link_up("lo", true).unwrap();
            links.add_address("lo", remote, 32).unwrap();
            TcpListener::bind((remote, PORT)).unwrap()
        });
        let mut ours = world.live.connect(SocketAddr::new(remote, PORT), &settings(&[])).unwrap();
        let (mut kernel, _) = listener.accept().unwrap();
        ours.write_all(b"hello").unwrap();
        let mut got = [0; 5];
        kernel.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"hello");
    });
}

/// The kernel announces another address of its interface, by gratuitous ARP and an unsolicited
/// neighbour advertisement, and returns to its own without a word. Three probes take 3 s, then we
/// ask all hosts again.
pub(crate) fn a_forged_address_is_replaced_within_seconds() {
    in_namespace(|| {
        let world = World::veth(false, false);
        let _listener = world.live.listen(PORT, &settings(&[])).unwrap();
        let connect = |v6| {
            let to = SocketAddr::new(ours_at(v6), PORT);
            world.in_kernel_namespace(|| {
                TcpStream::connect_timeout(&to, Duration::from_millis(1500))
            })
        };
        assert!(connect(false).is_ok() && connect(true).is_ok());
        world.in_kernel_namespace(|| {
            let own = link_address("k0");
            let neighbours = [false, true].map(|v6| {
                let ours = ours_at(v6).to_string();
                let shown = ip_output(&["neigh", "show", &ours, "dev", "k0"]);
                let mac = shown.split_whitespace().nth(2).unwrap().to_owned();
                (ours, mac)
            });
            set_sysctl("ipv4.conf.k0.arp_notify", "1").unwrap();
            set_sysctl("ipv6.conf.k0.ndisc_notify", "1").unwrap();
            ip(&["link", "set", "dev", "k0", "address", "02:de:ad:be:ef:01"]);
            set_sysctl("ipv4.conf.k0.arp_notify", "0").unwrap();
            set_sysctl("ipv6.conf.k0.ndisc_notify", "0").unwrap();
            ip(&["link", "set", "dev", "k0", "address", &own]);
            // The kernel must not ask for us, which would tell us its address.
            for (ours, mac) in &neighbours {
                let entry = ["neigh", "replace", ours, "lladdr", mac, "dev", "k0", "nud"];
                ip(&[&entry[..], &["permanent"]].concat());
            }
        });
        for v6 in [false, true] {
            let first = connect(v6);
            let again = (0..12).any(|_| connect(v6).is_ok());
            assert!(first.is_err() && again, "v6 {v6}: {first:?}, again: {again}");
        }
    });
}

/// The link-layer address of an interface, as `ip` prints it.
fn link_address(interface: &str) -> String {
    let shown = ip_output(&["-o", "link", "show", "dev", interface]);
    let mut words = shown.split_whitespace().skip_while(|word| *word != "link/ether");
    words.nth(1).unwrap().to_owned()
}

/// Output of `ip`.
fn ip_output(args: &[&str]) -> String {
    let output = Command::new("ip").args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn setup_errors_name_their_cause() {
    in_namespace(|| {
        let start = |device: &str, network: &str| {
            let plan = plan(device, &[network]);
            Live::start(&plan, LiveSettings::default()).unwrap_err().to_string()
        };
        assert!(start("packet:no0", V4).contains("no interface `no0`"));
        assert!(start("packet:lo", V4).contains("`lo` is down"));
        let world = World::veth(false, false);
        let mut links = Links::open().unwrap();
        links.set_link_up("lo", true).unwrap();
        assert!(start("packet:lo", V4).contains("neither Ethernet nor TUN"));
        links.add_address("lt0", "10.77.5.9".parse().unwrap(), 24).unwrap();
        let in_use = start("packet:lt0", "10.77.5.9/24");
        assert!(in_use.contains("the kernel has the address 10.77.5.9"), "{in_use}");
        set_sysctl("ipv4.conf.lt0.forwarding", "1").unwrap();
        let forwards = start("packet:lt0", V4);
        assert!(forwards.contains("net.ipv4.conf.lt0.forwarding to 0"), "{forwards}");
        set_sysctl("ipv4.conf.lt0.forwarding", "0").unwrap();
        ip(&["link", "set", "dev", "lt0", "mtu", "1400"]);
        assert!(start("packet:lt0", V4).contains("--mtu 1400"));
        links.set_link_up("lt0", false).unwrap();
        assert!(start("packet:lt0", V4).contains("`lt0` is down"));
        links.delete("lt0").unwrap();
        assert!(start("packet:lt0", V4).contains("no interface"));
        drop(world);
    });
}
