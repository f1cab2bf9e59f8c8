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
        ..Failure::default()
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

/// One flow of `size` at 1 Gbit/s to the second host, whose link has this failure.
fn behind(failure: Failure, size: u64) -> Outcome {
    let mut config = config("dctcp");
    config.retries = 20;
    let base = star_setup(1, &config, port(200, 20));
    let network = Blueprint { failures: vec![failure], ..base.network.clone() };
    let flows = vec![flow(&base, 0, size, Duration::ZERO)];
    outcome(&Setup { network, flows, ..base })
}

#[test]
fn a_reduced_rate_gives_the_goodput_of_full_packets() {
    // 1460 B (no timestamps) of 1538 B on the line.
    let rate = Rate::from_bps(250_000_000);
    let outcome = behind(Failure { link: 1, rate, ..Failure::default() }, 20_000_000);
    let packets = 20_000_000_f64 / 1_460.0;
    let seconds = packets * 1_538.0 * 8.0 / 250e6;
    let took = outcome.ended.as_ps() as f64 / 1e12;
    assert!((took / seconds - 1.0).abs() < 0.01, "{took} instead of {seconds}");
}

#[test]
fn lost_acks_of_one_direction_time_out_with_exponential_backoff() {
    // ACKs are lost from 2 ms on. RTO is at its minimum of 10 ms; RFC 6298, section 5.5 doubles it:
    // the n-th expiry is about 10 (2^n - 1) ms later.
    for (lasts, expiries) in [(20, 1), (60, 2), (120, 3), (230, 4), (470, 5)] {
        let down_at = Instant::ZERO + Duration::from_ms(2);
        let up_at = Some(down_at + Duration::from_ms(lasts));
        let acks = Failure {
            link: 1,
            down_at,
            up_at,
            only_back: Some(false),
            detect: Duration::from_secs(20),
            ..Failure::default()
        };
        let outcome = behind(acks, 2_000_000);
        let flow = &outcome.flows[0];
        assert_eq!(flow.status, FlowStatus::Complete, "{lasts}");
        // The last expiry, after the repair, is the next one.
        assert_eq!(flow.tcp.rto_count, Some(expiries + 1), "{lasts} ms: {:?}", flow.tcp);
        let next = 2 + 10 * ((1 << (expiries + 1)) - 1);
        assert!(outcome.ended > Instant::ZERO + Duration::from_ms(next), "{lasts} ms");
        assert!(
            outcome.ended < Instant::ZERO + Duration::from_ms(next + 40),
            "{lasts} ms: {:?}",
            outcome.ended
        );
    }
}
