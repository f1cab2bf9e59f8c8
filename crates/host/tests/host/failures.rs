//! TCP over a fabric with a link failure: packet loss, then another path.

use lowtide_host::{HostSetup, Outcome, Setup};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{Blueprint, Failure, Framing, Routing};
use lowtide_rows::FlowStatus;
use lowtide_traffic::Flow;
use lowtide_units::{Duration, Instant, Rate};

use crate::common::{config, flow, outcome, port, star_setup};

/// Four hosts on each of two leaves under two spines, a flow of 1 MB from each on the left to one
/// on the right. For each spine in `fails` the link to the first leaf fails after 2 ms, for 40 ms.
fn run(fails: &[&str]) -> Outcome {
    let config = config("dctcp");
    let layer =
        Layer { rate: Rate::from_gbps(1), delay: Duration::from_us(5), port: port(200, 20) };
    let framing = Framing::Ethernet;
    let fabric = LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        parallel: 1,
        host: layer.clone(),
        fabric: layer,
        framing,
    };
    let plan = leaf_spine(&fabric).expect("a fabric");
    let failure = |spine: &&str| Failure {
        link: plan.find_link("leaf0", spine, 0).expect("a link"),
        down_at: Instant::ZERO + Duration::from_ms(2),
        up_at: Some(Instant::ZERO + Duration::from_ms(42)),
        detect: Duration::from_ms(1),
    };
    let failures = fails.iter().map(failure).collect();
    let routing = Routing::Ecmp { polarised: false };
    let base = star_setup(7, &config, port(200, 20));
    let flows =
        (0..4).map(|src| Flow { dst: src + 4, ..flow(&base, src, 1_000_000, Duration::ZERO) });
    let hosts = (0..8).map(|_| HostSetup { config: config.clone(), ..HostSetup::default() });
    outcome(&Setup {
        flows: flows.collect(),
        hosts: hosts.collect(),
        network: Blueprint { routing, failures, ..plan },
        ..base
    })
}

fn all_done(outcome: &Outcome) -> bool {
    outcome.flows.iter().all(|f| f.status == FlowStatus::Complete && f.delivered_bytes == 1_000_000)
}

#[test]
fn flows_go_on_over_the_other_spine() {
    let whole = run(&[]);
    assert!(all_done(&whole));
    assert_eq!((whole.counts.link_down_drops, whole.counts.no_route_drops), (0, 0));
    let failed = run(&["spine0"]);
    assert!(all_done(&failed));
    assert!(failed.counts.link_down_drops > 0);
    assert_eq!(failed.counts.no_route_drops, 0, "there is always another path");
    // Four megabytes over one link of 1 Gbit/s take at least 32 ms; two links were up for 2 ms.
    assert!(failed.ended > Instant::ZERO + Duration::from_ms(30));
    assert!(failed.ended < Instant::ZERO + Duration::from_ms(60), "{:?}", failed.ended);
    assert_eq!(failed.digest, run(&["spine0"]).digest);
    assert_ne!(failed.digest, whole.digest);
}

#[test]
fn without_a_route_flows_wait_for_the_link() {
    let failed = run(&["spine0", "spine1"]);
    assert!(all_done(&failed));
    assert!(failed.counts.link_down_drops > 0 && failed.counts.no_route_drops > 0);
    assert!(failed.ended > Instant::ZERO + Duration::from_ms(43));
    assert!(failed.flows.iter().all(|f| f.tcp.rto_count > Some(0)));
}
