//! Whole transfers over a simulated switch: times to the picosecond, loss, determinism.

use crate::common::{config, crossing, disturbance, flow, outcome, port, star_setup};
use lowtide_host::{Disturbance, ProbePlan, RunError, SegmentEvent, run};
use lowtide_rows::{EndReason, FlowStatus};
use lowtide_tcp::{Config, InitialWindow};
use lowtide_units::{Bytes, Duration, Instant};
use std::collections::BTreeMap;

#[test]
fn a_one_segment_transfer_takes_exactly_the_delay_of_its_links() {
    let mut setup = star_setup(1, &config("sack"), port(100, 50));
    setup.flows = vec![flow(&setup, 0, 1000, Duration::ZERO)];
    let result = outcome(&setup);
    // SYN and SYN-ACK: 20 B IP, 20 B TCP, MSS, SACK permitted with timestamps, window scale.
    let syn = 40 + 4 + 12 + 4;
    let established = crossing(syn) * 2;
    // The data carries the handshake's ACK.
    let delivered = established + crossing(52 + 1000);
    let record = &result.flows[0];
    assert_eq!(record.established_ps, Some(established.as_ps()));
    assert_eq!(record.delivered_ps, Some(delivered.as_ps()));
    assert_eq!((&*record.src, &*record.dst), ("h0", "h1"));
    assert_eq!(record.fct_ps, Some(delivered.as_ps()));
    assert_eq!(record.transfer_ps, Some((delivered - established).as_ps()));
    assert_eq!(record.status, FlowStatus::Complete);
    assert_eq!(result.reason, EndReason::Done);
}

#[test]
fn a_long_flow_fills_the_link_to_its_payload_rate() {
    let mut setup = star_setup(1, &config("dctcp"), port(1000, 20));
    setup.flows = vec![flow(&setup, 0, 25_000_000, Duration::ZERO)];
    let result = outcome(&setup);
    let time = result.flows[0].delivered_ps.expect("delivered") as f64 / 1e12;
    // 1448 B of payload in 1538 B of line.
    let payload_rate = 1e9 * 1448.0 / 1538.0;
    let goodput = 25_000_000.0 * 8.0 / time;
    assert!((goodput / payload_rate - 1.0).abs() < 0.01, "{goodput} of {payload_rate}");
    assert_eq!(result.flows[0].tcp.bytes_retrans, Some(0));
}

#[test]
fn losses_in_a_shallow_buffer_are_repaired() {
    for scheme in ["sack", "ecn", "dctcp"] {
        let mut setup = star_setup(4, &config(scheme), port(30, 1000));
        setup.flows = (0..4).map(|i| flow(&setup, i, 3_000_000, Duration::ZERO)).collect();
        let result = outcome(&setup);
        let drops: u64 = result.queues.iter().map(|q| q.served.overflow_drops).sum();
        assert!(drops > 0, "{scheme}: the buffer must overflow");
        for record in &result.flows {
            assert_eq!(record.status, FlowStatus::Complete, "{scheme}");
            assert_eq!(record.delivered_bytes, 3_000_000);
        }
        let resent: u64 = result.flows.iter().filter_map(|f| f.tcp.bytes_retrans).sum();
        assert!(resent >= drops * 1000, "{scheme}: {resent} B for {drops} drops");
    }
}

#[test]
fn newreno_without_sack_repairs_too() {
    let mut c = config("sack");
    c.sack = false;
    let mut setup = star_setup(3, &c, port(30, 1000));
    setup.flows = (0..3).map(|i| flow(&setup, i, 3_000_000, Duration::ZERO)).collect();
    let result = outcome(&setup);
    assert!(
        result
            .flows
            .iter()
            .all(|f| f.delivered_bytes == 3_000_000 && f.tcp.fast_retransmits > Some(0))
    );
}

fn disturbed(seed: u64) -> lowtide_host::Setup {
    let mut setup = star_setup(3, &config("dctcp"), port(200, 20));
    setup.flows = (0..6)
        .map(|i| flow(&setup, i % 3, 400_000, Duration::from_us(50 * u64::from(i))))
        .collect();
    setup.seed = seed;
    setup.disturbance = disturbance();
    setup
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let first = outcome(&disturbed(7));
    assert_eq!(first, outcome(&disturbed(7)));
    let other = outcome(&disturbed(8));
    assert_ne!(first.digest, other.digest);
    assert_ne!(first.flows, other.flows);
}

/// Debug and release builds must agree on all machines; the expected value is a constant.
#[test]
fn the_digest_is_the_same_everywhere() {
    assert_eq!(
        format!("{:016x}", outcome(&disturbed(7)).digest),
        include_str!("digest.txt").trim()
    );
}

#[test]
fn without_disturbance_the_seed_changes_nothing() {
    let mut a = disturbed(7);
    a.disturbance = Disturbance::default();
    let mut b = a.clone();
    b.seed = 8;
    let (a, b) = (outcome(&a), outcome(&b));
    assert_eq!(a.flows, b.flows);
}

#[test]
fn probes_do_not_perturb_the_run() {
    let plain = outcome(&disturbed(3));
    let mut setup = disturbed(3);
    setup.probes = ProbePlan {
        interval: Some(Duration::from_us(100)),
        groups: vec![0],
        flows_per_group: 2,
        queues: true,
        ..ProbePlan::default()
    };
    let probed = outcome(&setup);
    assert_eq!(plain.digest, probed.digest);
    assert_eq!(plain.flows, probed.flows);
    let sampled: std::collections::BTreeSet<u32> = probed.probes.iter().map(|p| p.flow).collect();
    assert_eq!(sampled.into_iter().collect::<Vec<_>>(), [0, 1]);
    assert!(probed.probes.iter().any(|p| p.dctcp_alpha_q20.is_some() && p.cwnd_bytes > 0));
    assert!(probed.queue_samples.iter().any(|q| q.packets > 0));
}

#[test]
fn segmentation_offload_sends_bursts_of_the_same_bytes() {
    let mut c = config("dctcp");
    c.tso_segments = 8;
    let mut setup = star_setup(2, &c, port(300, 20));
    setup.flows = (0..2).map(|i| flow(&setup, i, 1_000_000, Duration::ZERO)).collect();
    let result = outcome(&setup);
    assert!(
        result
            .flows
            .iter()
            .all(|f| f.delivered_bytes == 1_000_000 && f.tcp.bytes_retrans == Some(0))
    );
    let nic =
        result.queues.iter().find(|q| !q.at_switch && q.name.starts_with("h0")).expect("h0's port");
    assert!(nic.levels.iter().any(|l| l.packets >= 5), "bursts queue in the host's own port");
}

/// The bytes that a host's port gets at one instant, at most, and the MSS of the flow.
fn largest_burst(sender: &Config, receiver: Config) -> (u64, u32) {
    let mut setup = star_setup(1, sender, port(3_000, 20));
    setup.hosts[1].config = receiver;
    setup.flows = vec![flow(&setup, 0, 40_000_000, Duration::ZERO)];
    setup.probes.trace = vec![0];
    // A burst waits for the one before it to leave the NIC, so that no two are sent at once.
    setup.hosts[0].nic.tsq_limit = Some(Bytes::new(1));
    let result = outcome(&setup);
    assert_eq!(result.flows[0].delivered_bytes, 40_000_000);
    let mut bytes = BTreeMap::<u64, u64>::new();
    let mss = result.flows[0].mss_bytes.expect("an open flow");
    let trace = result.trace.expect("a trace");
    let sent = trace.segments.iter().filter(|s| s.from_client && s.event == SegmentEvent::Sent);
    for row in sent {
        *bytes.entry(row.at.as_ps()).or_default() += u64::from(row.segment.payload_len);
    }
    (bytes.into_values().max().unwrap_or_default(), mss)
}

#[test]
fn a_burst_never_exceeds_its_bytes_and_the_smaller_mss_cuts_it() {
    let host = |mtu, gso_max| Config {
        mtu,
        gso_max,
        tso_segments: 64,
        initial_window: InitialWindow::Segments(1_000),
        send_buffer: Bytes::new(1 << 24),
        receive_buffer: Bytes::new(1 << 24),
        ..config("sack")
    };
    // Linux leaves 321 B of the buffer for headers; a burst has whole segments.
    for (mtus, gso_max) in [
        ([1500, 1500], 65_536),
        ([9000, 9000], 65_536),
        ([1500, 1500], 524_280),
        ([9000, 9000], 524_280),
        ([9000, 1500], 200_000),
        ([576, 9000], 65_536),
    ] {
        let (bytes, mss) = largest_burst(&host(mtus[0], gso_max), host(mtus[1], gso_max));
        assert_eq!(mss, mtus[0].min(mtus[1]) - 52, "{mtus:?}: the smaller MSS, less timestamps");
        let most = (gso_max - 321) / mss;
        let most = if gso_max > 65_536 { most } else { most.min(64) };
        assert_eq!(bytes, u64::from(most * mss), "{mtus:?} {gso_max}");
    }
}

#[test]
fn an_endless_flow_is_unfinished_and_counted_after_the_warm_up() {
    let mut setup = star_setup(1, &config("dctcp"), port(200, 20));
    let mut endless = flow(&setup, 0, 1, Duration::ZERO);
    endless.size = None;
    setup.flows = vec![endless];
    setup.end.at = Duration::from_ms(100);
    setup.warmup = Duration::from_ms(50);
    let result = outcome(&setup);
    let record = &result.flows[0];
    assert_eq!((record.status, result.reason), (FlowStatus::Unfinished, EndReason::Time));
    let goodput = record.delivered_after_warmup_bytes as f64 * 8.0 / 0.05;
    assert!((goodput / (1e9 * 1448.0 / 1538.0) - 1.0).abs() < 0.01, "{goodput}");
}

#[test]
fn impossible_setups_are_refused() {
    let mut setup = star_setup(1, &config("sack"), port(100, 50));
    setup.flows = vec![flow(&setup, 1, 1000, Duration::ZERO)];
    assert_eq!(run(&setup, &mut |_| false).unwrap_err(), RunError::FlowHosts { flow: 0 });
    setup.flows.clear();
    setup.hosts.pop();
    assert_eq!(
        run(&setup, &mut |_| false).unwrap_err(),
        RunError::HostCount { network: 2, settings: 1 }
    );
}

#[test]
fn a_run_can_be_interrupted() {
    let mut setup = disturbed(1);
    setup.flows.iter_mut().for_each(|f| f.size = None);
    setup.end.at = Duration::from_secs(100);
    let result =
        run(&setup, &mut |now| now > Instant::ZERO + Duration::from_ms(20)).expect("it starts");
    assert_eq!(result.reason, EndReason::Interrupted);
}
