//! Invalid settings, and devices that fail.

use std::io::Write;
use std::process::Command;

use lowtide_bottleneck::{Bottleneck, BottleneckSettings, Faults, HostPort};
use lowtide_live::load::TransferDirection;
use lowtide_live::{Device, config};
use lowtide_net::HostId;

use crate::world::{
    HostStack, PORT, TestHost, World, address, bytes, network, short_sleep, with_timeout,
};

fn port(host: u32, at: usize) -> (HostPort, Device) {
    let (device, other) = Device::memory_link().unwrap();
    (HostPort { host: HostId(host), device, networks: vec![(address(at, false), 32)] }, other)
}

pub(crate) fn invalid_settings_are_rejected() {
    let plan = network("1 Gbit/s", 50, 100, 20);
    let start = |ports: Vec<HostPort>, settings: &BottleneckSettings| {
        Bottleneck::start(&plan, ports, settings).unwrap_err().to_string()
    };
    let none = BottleneckSettings::default();
    let duplicate = start(vec![port(1, 0).0, port(1, 1).0], &none);
    assert!(duplicate.contains("`b` has two ports"), "{duplicate}");
    let unknown = start(vec![port(2, 0).0], &none);
    assert!(unknown.contains("the network has 2 hosts"), "{unknown}");
    let shared = start(vec![port(0, 0).0, port(1, 0).0], &none);
    assert!(shared.contains("10.77.0.1 is at two hosts"), "{shared}");
    let faults =
        BottleneckSettings { faults: vec![(HostId(9), Faults::default())], ..none.clone() };
    assert!(start(vec![], &faults).contains("no host of number 9"));
    let path = std::env::temp_dir().join("no such folder").join("x.pcapng");
    let capture = BottleneckSettings { captures: vec![(HostId(0), path)], ..none };
    assert!(start(vec![port(0, 0).0], &capture).contains("cannot write the capture"));
}

pub(crate) fn a_lost_host_is_reported_and_the_others_continue() {
    with_timeout(|| {
        let plan = network("1 Gbit/s", 50, 100, 20);
        let ((a, at_a), (b, at_b)) = (port(0, 0), port(1, 1));
        let bottleneck =
            Bottleneck::start(&plan, vec![a, b], &BottleneckSettings::default()).unwrap();
        drop(at_a);
        while bottleneck.failed_device().is_none() {
            short_sleep();
        }
        assert_eq!(bottleneck.failed_device().unwrap().0, HostId(0));
        assert!(!bottleneck.has_ended());
        drop(at_b);
        while !bottleneck.has_ended() {
            short_sleep();
        }
        let warnings = bottleneck.stop().unwrap().warnings().join("; ");
        assert!(warnings.contains("`a` is gone") && warnings.contains("`b` is gone"));
    });
}

pub(crate) fn garbage_is_counted_and_dropped() {
    with_timeout(|| {
        let plan = network("1 Gbit/s", 50, 100, 20);
        let ((a, at_a), (b, at_b)) = (port(0, 0), port(1, 1));
        let bottleneck =
            Bottleneck::start(&plan, vec![a, b], &BottleneckSettings::default()).unwrap();
        let mut n = 0_u32;
        for len in 1..200 {
            let packet: Vec<u8> = (0..len).map(|i| (i * 7 + len * 13) as u8).collect();
            while !at_a.send(&packet).unwrap() {
                short_sleep();
            }
            n += 1;
        }
        let dropped = || {
            let drops = bottleneck.report().ingress_drops;
            drops.malformed + drops.unknown_destination + drops.multicast
        };
        while dropped() < u64::from(n) {
            short_sleep();
        }
        drop((at_a, at_b));
    });
}

/// An interface is removed during operation.
pub(crate) fn an_interface_that_goes_away_ends_its_host_only() {
    with_timeout(|| {
        let stacks = [HostStack::Lowtide, HostStack::Kernel];
        let world =
            World::new(stacks, &network("1 Gbit/s", 50, 100, 20), &BottleneckSettings::default());
        let plain = config("linux", None, &[]).unwrap();
        world.transfer("before", (0, false), &plain, &bytes(TransferDirection::Up, 1, 100_000));
        let TestHost::Kernel(namespace) = &world.hosts[1] else { unreachable!() };
        let remove = || Command::new("ip").args(["link", "delete", "eth0"]).status();
        assert!(namespace.run(remove).unwrap().unwrap().success());
        while world.bottleneck.failed_device().is_none() {
            short_sleep();
        }
        assert_eq!(world.bottleneck.failed_device().unwrap().0, HostId(1));
        // The remaining host can still send, but its packets have no destination.
        let to = std::net::SocketAddr::new(address(1, false), PORT);
        let mut stream = world.hosts[0].live().begin_connect(to, &plain).unwrap();
        stream.set_nonblocking(true);
        let _ = stream.write(b"x");
        while world.bottleneck.report().no_device_drops == 0 {
            short_sleep();
        }
        assert!(!world.bottleneck.has_ended());
    });
}

pub(crate) fn a_capture_appears_once_it_is_complete() {
    with_timeout(|| {
        let path = std::env::temp_dir().join(format!("lowtide-capture-{}", std::process::id()));
        let settings = BottleneckSettings {
            captures: vec![(HostId(0), path.clone())],
            ..BottleneckSettings::default()
        };
        let stacks = [HostStack::Lowtide, HostStack::Lowtide];
        let world = World::new(stacks, &network("1 Gbit/s", 50, 100, 20), &settings);
        let plain = config("linux", None, &[]).unwrap();
        world.transfer("captured", (0, false), &plain, &bytes(TransferDirection::Up, 1, 500_000));
        assert!(!path.exists(), "it must not exist before it is complete");
        let (report, _) = world.end();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        // Blocks of type 6 are packets.
        let (mut at, mut packets) = (0, 0);
        while at < bytes.len() {
            let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            packets += u64::from(word(at) == 6);
            at += word(at + 4) as usize;
        }
        assert_eq!(packets, report.hosts[0].sent + report.hosts[0].delivered);
    });
}
