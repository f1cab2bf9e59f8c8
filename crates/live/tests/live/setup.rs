//! Setup errors, and an interface that is removed.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};

use lowtide_live::{Live, LiveError, LiveSettings};

use crate::world::{PORT, World, in_namespace, ip, kernel_at, plan, settings};

fn start(name: &str, networks: &[&str]) -> LiveError {
    Live::start(&plan(name, networks), LiveSettings::default()).unwrap_err()
}

pub(crate) fn names_networks_and_ports_in_use_are_reported() {
    in_namespace(|| {
        let world = World::new();
        let taken = start("tun:lt0", &["10.99.0.2/24"]).to_string();
        assert!(taken.contains("`lt0` exists already"), "{taken}");
        for clash in ["10.77.0.9/16", "10.77.0.130/25", "fd77::5:2/112"] {
            let error = start("tun:lt1", &[clash]).to_string();
            assert!(error.contains("`lt0` overlaps"), "{clash}: {error}");
        }
        let error = world.live.listen(0, &settings(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let _held = world.live.listen(PORT, &settings(&[])).unwrap();
        let error = world.live.listen(PORT, &settings(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        drop(world);
        // Names and addresses of a removed interface are free again.
        World::new();
    });
}

pub(crate) fn connecting_needs_an_address_of_the_family() {
    in_namespace(|| {
        let live =
            Live::start(&plan("tun:lt0", &["10.77.0.2/24"]), LiveSettings::default()).unwrap();
        let to = SocketAddr::new("fd77::1".parse().unwrap(), PORT);
        let error = live.connect(to, &settings(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
        assert!(error.to_string().contains("no IPv6 address"), "{error}");
    });
}

pub(crate) fn an_interface_that_is_down_for_a_while_only_loses_packets() {
    in_namespace(|| {
        let world = World::new();
        let listener = TcpListener::bind((kernel_at(false), PORT)).unwrap();
        let to = SocketAddr::new(kernel_at(false), PORT);
        let mut ours = world.live.connect(to, &settings(&[])).unwrap();
        let (mut kernel, _) = listener.accept().unwrap();
        ip(&["link", "set", "lt0", "down"]);
        ours.write_all(&[7; 15_000]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(ours.unacknowledged(), 15_000);
        ip(&["link", "set", "lt0", "up"]);
        let mut got = [0; 15_000];
        kernel.read_exact(&mut got).unwrap();
        assert_eq!(got, [7; 15_000]);
        assert!(world.live.stats().packets.unsent > 0);
    });
}

pub(crate) fn an_interface_that_goes_away_ends_everything_with_an_error() {
    in_namespace(|| {
        let world = World::new();
        let listener = TcpListener::bind((kernel_at(false), PORT)).unwrap();
        let to = SocketAddr::new(kernel_at(false), PORT);
        let mut ours = world.live.connect(to, &settings(&[])).unwrap();
        let (_kernel, _) = listener.accept().unwrap();
        ip(&["link", "delete", "lt0"]);
        let error = loop {
            if let Err(error) = ours.write_all(&[7; 10_000]) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
        assert!(error.to_string().contains("the device is gone"), "{error}");
        let error = world.live.connect(to, &settings(&[])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkDown);
    });
}
