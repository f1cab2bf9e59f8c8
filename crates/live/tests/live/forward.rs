//! Two hosts with lowtide's TCP, the kernel between them as a router.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use lowtide_live::load::{self, ByteStream, TransferDirection};
use lowtide_live::netns::set_sysctl;
use lowtide_live::{DevicePlan, Live, LiveSettings};
use lowtide_tcp::Config;

use crate::world::{PORT, assert_good, bytes, in_namespace, plan, settings};

const SIDES: [[&str; 2]; 2] = [["10.77.0.2/24", "fd77::2/64"], ["10.78.0.2/24", "fd78::2/64"]];

/// Two hosts; the second's link takes packets of `mtu`.
fn two(mtu: u16) -> [(Live, DevicePlan); 2] {
    set_sysctl("ipv4.ip_forward", "1").unwrap();
    set_sysctl("ipv6.conf.all.forwarding", "1").unwrap();
    [("tun:lt0", 1500), ("tun:lt1", mtu)].map(|(name, mtu)| {
        let sides = SIDES[usize::from(name == "tun:lt1")];
        let plan = DevicePlan { mtu, ..plan(name, &sides) };
        (Live::start(&plan, LiveSettings::default()).unwrap(), plan)
    })
}

fn transfer(
    hosts: &[(Live, DevicePlan); 2],
    v6: bool,
    config: &Config,
    way: TransferDirection,
    n: u64,
) {
    let [(a, _), (b, plan)] = hosts;
    let listener = b.listen(PORT, config).unwrap();
    let to = SocketAddr::new(plan.networks[usize::from(v6)].local, PORT);
    let open = || -> io::Result<Arc<dyn ByteStream>> { Ok(Arc::new(a.connect(to, config)?)) };
    let got = load::transfer(&listener, &open, &bytes(way, n)).unwrap();
    assert_good(&format!("v6 {v6} {way:?}"), &got, n);
}

pub(crate) fn two_lowtide_hosts_exchange_data_over_a_router() {
    in_namespace(|| {
        let hosts = two(1500);
        for v6 in [false, true] {
            for way in [TransferDirection::Up, TransferDirection::Down] {
                transfer(&hosts, v6, &settings(&[("ecn", "accecn")]), way, 3_000_000);
                let dctcp = lowtide_live::config("linux", Some("dctcp"), &[]).unwrap();
                transfer(&hosts, v6, &dctcp, way, 3_000_000);
            }
        }
        assert_eq!(hosts[0].0.stats().packets.icmp, 0);
    });
}

/// Neither end knows of the narrow link: the router says so (RFC 1191, RFC 8201).
pub(crate) fn a_router_that_says_too_big_lowers_the_mss() {
    in_namespace(|| {
        let hosts = two(1300);
        for v6 in [false, true] {
            let before = hosts[0].0.stats().packets.icmp;
            transfer(&hosts, v6, &settings(&[]), TransferDirection::Up, 2_000_000);
            let believed = hosts[0].0.stats().packets.icmp - before;
            assert!((1..20).contains(&believed), "v6 {v6}: {believed}");
        }
        // The other way the narrow link is the first, which a host has to know of.
        let config = settings(&[("mtu", "1300")]);
        transfer(&hosts, false, &config, TransferDirection::Down, 1_000_000);
        assert_eq!(hosts[1].0.stats().packets.icmp, 0);
    });
}
