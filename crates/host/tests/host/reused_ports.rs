//! More connections of one host than it has ephemeral ports: a new connection meets the server's
//! half-open connection with the same ports.

use lowtide_host::{Outcome, Setup};
use lowtide_net::{Blueprint, Failure};
use lowtide_rows::FlowStatus;
use lowtide_traffic::Flow;
use lowtide_units::{Bytes, Duration, Instant};

use crate::common::{config, flow, outcome, port, star_setup};

/// Ephemeral ports of a host (RFC 6335 §6).
const PORTS: u32 = 16_384;

/// Runs a flow whose client gives up while its link is down for 200 ms, then one flow per port to
/// the same server. The last flow has the ports of the first.
fn run() -> Outcome {
    let mut config = config("dctcp");
    // The client gives up within the failure; its server has nothing to send and does not notice.
    config.retries = 2;
    config.time_wait = Duration::from_ms(1);
    config.rto_initial = Duration::from_ms(20);
    let base = star_setup(1, &config, port(200, 20));
    let failure = Failure {
        link: 0,
        down_at: Instant::ZERO + Duration::from_ms(1),
        up_at: Some(Instant::ZERO + Duration::from_ms(200)),
        detect: Duration::from_us(1),
        ..Failure::default()
    };
    let first = flow(&base, 0, 1_000_000, Duration::ZERO);
    let start = |i: u32| Duration::from_ms(300) + Duration::from_us(20) * u64::from(i);
    let small =
        (0..PORTS).map(|i| Flow { size: Some(Bytes::new(100)), ..flow(&base, 0, 100, start(i)) });
    outcome(&Setup {
        flows: [first].into_iter().chain(small).collect(),
        network: Blueprint { failures: vec![failure], ..base.network.clone() },
        ..base
    })
}

#[test]
fn a_flow_with_the_ports_of_a_half_open_connection_has_its_own_results() {
    let outcome = run();
    let (first, last) = (&outcome.flows[0], &outcome.flows[PORTS as usize]);
    assert_eq!(first.sport, last.sport, "the ports wrapped");
    assert_eq!((first.status, first.error.as_deref()), (FlowStatus::Failed, Some("timed out")));
    assert!(
        first.delivered_bytes > 0 && first.received_bytes >= Some(first.delivered_bytes),
        "{first:?}"
    );
    assert_eq!((last.status, last.error.as_deref()), (FlowStatus::Complete, None), "{last:?}");
    assert_eq!(last.received_bytes, Some(100));
    assert!(outcome.flows[1..].iter().all(|f| f.status == FlowStatus::Complete));
}
