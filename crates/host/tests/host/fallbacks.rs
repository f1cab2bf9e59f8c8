//! A congestion control that needs ECN, with a peer that refuses it: identical to NewReno, and
//! recorded as such.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_tcp::switches;
use lowtide_units::Duration;

#[test]
fn without_ecn_a_control_that_needs_it_falls_back_to_newreno() {
    for scheme in ["dctcp", "tdctcp", "hull", "dctcp-accecn"] {
        let run = |cc: Option<&str>| {
            let mut setup = star_setup(2, &config(scheme), port(100, 20));
            setup.hosts[2].config = config("sack");
            for host in &mut setup.hosts {
                cc.map_or(Ok(()), |cc| switches::set_text(&mut host.config, "cc", cc))
                    .expect("a congestion control");
            }
            setup.flows = (0..2).map(|src| flow(&setup, src, 12_000_000, Duration::ZERO)).collect();
            outcome(&setup)
        };
        let (fallback, newreno) = (run(None), run(Some("newreno")));
        assert_eq!(fallback.digest, newreno.digest, "{scheme}");
        assert!(
            fallback.flows.iter().any(|f| f.tcp.fast_retransmits > Some(0)),
            "{scheme}: no loss"
        );
        for f in &fallback.flows {
            assert_ne!(f.cc, "newreno", "{scheme}");
            assert_eq!((&*f.cc_used, &*f.ecn_mode), ("newreno", "off"), "{scheme}");
        }
    }
}
