//! Two hosts with lowtide's TCP and the kernel as the router between them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use lowtide_live::load::{self, ByteStream, TransferDirection};
use lowtide_live::netns::set_sysctl;
use lowtide_live::{DevicePlan, Live, LiveSettings};
use lowtide_tcp::Config;

use crate::world::{PORT, assert_good, bytes, in_namespace, plan, settings};

const NETWORKS: [[&str; 2]; 2] = [["10.77.0.2/24", "fd77::2/64"], ["10.78.0.2/24", "fd78::2/64"]];

/// Two hosts; the link of the second has an MTU of `mtu`.
fn two_hosts(mtu: u16) -> [(Live, DevicePlan); 2] {
    set_sysctl("ipv4.ip_forward", "1").unwrap();
    set_sysctl("ipv6.conf.all.forwarding", "1").unwrap();
    [("tun:lt0", 1500), ("tun:lt1", mtu)].map(|(name, mtu)| {
        let networks = NETWORKS[usize::from(name == "tun:lt1")];
        let plan = DevicePlan { mtu, ..plan(name, &networks) };
        (Live::start(&plan, LiveSettings::default()).unwrap(), plan)
    })
}

fn transfer(
    hosts: &[(Live, DevicePlan); 2],
    v6: bool,
    config: &Config,
    direction: TransferDirection,
    n: u64,
) {
    let [(a, _), (b, plan)] = hosts;
    let listener = b.listen(PORT, config).unwrap();
    let to = SocketAddr::new(plan.networks[usize::from(v6)].local, PORT);
    let open = || -> io::Result<Arc<dyn ByteStream>> { Ok(Arc::new(a.connect(to, config)?)) };
    let got = load::transfer(&listener, &open, &bytes(direction, n)).unwrap();
    assert_good(&format!("v6 {v6} {direction:?}"), &got, n);
}

pub(crate) fn two_lowtide_hosts_exchange_data_over_a_router() {
    in_namespace(|| {
        let hosts = two_hosts(1500);
        for v6 in [false, true] {
            for direction in [TransferDirection::Up, TransferDirection::Down] {
                transfer(&hosts, v6, &settings(&[("ecn", "accecn")]), direction, 3_000_000);
                let dctcp = lowtide_live::config("linux", Some("dctcp"), &[]).unwrap();
                transfer(&hosts, v6, &dctcp, direction, 3_000_000);
            }
        }
        assert_eq!(hosts[0].0.stats().packets.icmp, 0);
    });
}

/// Neither end knows the MTU of the second link: the router reports it (RFC 1191, RFC 8201).
pub(crate) fn a_router_that_says_too_big_lowers_the_mss() {
    in_namespace(|| {
        let hosts = two_hosts(1300);
        for v6 in [false, true] {
            let before = hosts[0].0.stats().packets.icmp;
            transfer(&hosts, v6, &settings(&[]), TransferDirection::Up, 2_000_000);
            let accepted = hosts[0].0.stats().packets.icmp - before;
            assert!((1..20).contains(&accepted), "v6 {v6}: {accepted}");
        }
        // In the other direction the narrow link is the sender's own, whose MTU must be configured.
        let config = settings(&[("mtu", "1300")]);
        transfer(&hosts, false, &config, TransferDirection::Down, 1_000_000);
        assert_eq!(hosts[1].0.stats().packets.icmp, 0);
    });
}
