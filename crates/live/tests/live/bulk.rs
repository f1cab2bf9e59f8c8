//! Bulk transfers in both directions with checksums, for every pair of ECN settings and with each
//! option on and off.

use lowtide_live::load::TransferDirection;
use lowtide_live::netns::set_sysctl;
use lowtide_tcp::{Config, EcnMode};

use crate::world::{World, assert_good, bytes, in_namespace, settings};

/// Bytes of one transfer.
fn amount() -> u64 {
    let megabytes = std::env::var("LOWTIDE_LIVE_MB").ok().and_then(|n| n.parse().ok());
    megabytes.unwrap_or(4_u64) * 1_000_000
}

/// Transfers data in both directions over connections opened by us and by the kernel. Returns the
/// ECN modes of a connection that we opened and of one that the kernel opened.
fn all_directions(world: &World, what: &str, config: &Config) -> [EcnMode; 2] {
    let n = amount();
    let mut modes = Vec::new();
    for v6 in [false, true] {
        for direction in [TransferDirection::Up, TransferDirection::Down] {
            let got = world.to_kernel(v6, config, &bytes(direction, n));
            assert_good(&format!("{what}: to the kernel, v6 {v6}, {direction:?}"), &got, n);
            modes.push(got.0.streams[0].info.unwrap().tcp.ecn);
            let got = world.serve_kernel(v6, config, &bytes(direction, n));
            assert_good(&format!("{what}: from the kernel, v6 {v6}, {direction:?}"), &got, n);
            modes.push(got.1[0].info.unwrap().tcp.ecn);
        }
    }
    let packets = world.live.stats().packets;
    assert_eq!((packets.malformed, packets.bad_checksum), (0, 0), "{what}");
    world.assert_empty();
    let [first, second, ..] = modes[..] else { unreachable!() };
    assert!(modes.chunks(2).all(|m| m == [first, second]), "{what}: {modes:?}");
    [first, second]
}

pub(crate) fn every_pair_of_ecn_settings() {
    use EcnMode::{Classic, Off};
    in_namespace(|| {
        let world = World::new();
        // Kernel setting (0 off, 1 on, 2 passive), our setting, ECN modes with us as client and as
        // server.
        for (kernel, ours, expected) in [
            ("0", "off", [Off, Off]),
            ("0", "rfc3168", [Off, Off]),
            ("1", "off", [Off, Off]),
            ("1", "rfc3168", [Classic, Classic]),
            ("1", "passive", [Off, Classic]),
            ("2", "rfc3168", [Classic, Off]),
            ("2", "passive", [Off, Off]),
            ("1", "accecn", [Classic, Classic]),
        ] {
            set_sysctl("ipv4.tcp_ecn", kernel).unwrap();
            let got =
                all_directions(&world, &format!("{kernel} {ours}"), &settings(&[("ecn", ours)]));
            assert_eq!(got, expected, "kernel {kernel}, ours {ours}");
        }
    });
}

pub(crate) fn both_ends_agree_on_accurate_ecn() {
    in_namespace(|| {
        let world = World::new();
        set_sysctl("ipv4.tcp_ecn", "3").unwrap();
        let got = all_directions(&world, "both AccECN", &settings(&[("ecn", "accecn")]));
        assert_eq!(got, [EcnMode::AccEcn; 2]);
    });
}

pub(crate) fn every_option_on_and_off_at_either_end() {
    in_namespace(|| {
        let world = World::new();
        for (kernel, ours) in [
            ("tcp_timestamps", "timestamps"),
            ("tcp_sack", "sack"),
            ("tcp_window_scaling", "window-scaling"),
        ] {
            for (kernel_has, we_have) in [(false, true), (true, false), (false, false)] {
                let sysctl = format!("ipv4.{kernel}");
                set_sysctl(&sysctl, if kernel_has { "1" } else { "0" }).unwrap();
                let config = settings(&[(ours, if we_have { "true" } else { "false" })]);
                all_directions(&world, &format!("{ours} {kernel_has} {we_have}"), &config);
                set_sysctl(&sysctl, "1").unwrap();
            }
        }
    });
}

pub(crate) fn every_profile_and_scheme() {
    in_namespace(|| {
        let world = World::new();
        set_sysctl("ipv4.tcp_congestion_control", "reno").unwrap();
        set_sysctl("ipv4.tcp_ecn", "1").unwrap();
        for profile in lowtide_tcp::profile::REGISTRY.all() {
            let config = lowtide_live::config(profile.name, None, &[]).unwrap();
            all_directions(&world, profile.name, &config);
        }
        for scheme in lowtide_tcp::scheme::REGISTRY.all() {
            let config = lowtide_live::config("linux", Some(scheme.name), &[]).unwrap();
            all_directions(&world, scheme.name, &config);
        }
    });
}
