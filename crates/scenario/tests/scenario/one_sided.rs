//! One-sided DCTCP, end to end: figures 4.1 to 5.6 of the ODCTCP thesis, on its dummynet pipe (2
//! Mbit/s, 40 ms, queue of 20 packets, threshold 6).

use lowtide_host::Outcome;
use lowtide_rows::ProbeRow;
use lowtide_scenario::Scenario;

/// The thesis's pipe, as `reproduce` runs it; one profile at a time instead of its comparison.
const PIPE: &str = include_str!("../../../../papers/od/fig4.1.toml");

/// Payload of a full segment with timestamps.
const MSS: u64 = 1448;

fn run(changes: &[(&str, &str)]) -> Outcome {
    let scenario = Scenario::parse(PIPE, "fig4.1.toml").expect("a right file").without("compare");
    // Windows are sampled between two ACKs, and figure 5.1 is a mismatch.
    let ours = [("probes.interval", "1 ms"), ("run.allow-mismatch", "true")];
    let scenario = ours
        .iter()
        .chain(changes)
        .fold(scenario, |s, (key, value)| s.with_override(key, value).expect("a right key"));
    let plan = scenario.expand().expect("a right scenario");
    let setup = plan.runs[0].setup().expect("a right setup");
    lowtide_host::run(&setup, &mut |_| false).expect("a run to its end")
}

fn seconds(row: &ProbeRow) -> f64 {
    row.time_ps as f64 / 1e12
}

/// Returns cwnd in segments at each sample from `from` seconds on.
fn windows(outcome: &Outcome, from: f64) -> impl Iterator<Item = u64> + '_ {
    outcome.probes.iter().filter(move |row| seconds(row) >= from).map(|row| row.cwnd_bytes / MSS)
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.queues.iter().map(|q| q.served.overflow_drops).sum()
}

/// Returns the samples of the queue at the pipe from `from` seconds on, in packets.
fn queue(outcome: &Outcome, from: f64) -> Vec<u32> {
    let pipe = |q: u32| outcome.queues[q as usize].name == "switch0->switch1";
    let late = |time_ps: u64| time_ps as f64 / 1e12 >= from;
    let samples = outcome.queue_samples.iter().filter(|s| pipe(s.queue) && late(s.time_ps));
    samples.map(|s| s.packets).collect()
}

fn mean_queue(outcome: &Outcome) -> f64 {
    let samples = queue(outcome, 0.0);
    samples.iter().copied().map(f64::from).sum::<f64>() / samples.len() as f64
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.flows[0].delivered_bytes as f64 * 8.0 / 10e6
}

/// Figures 4.1 to 4.3: effects of congestion recovery and the initial alpha at the start.
#[test]
fn without_congestion_recovery_slow_start_overflows_unless_alpha_begins_at_one() {
    let original = run(&[("hosts.senders.profile", "thesis-original")]);
    let modified = run(&[]);
    let cautious = run(&[("hosts.senders.sender.dctcp.initial-alpha", "1024")]);
    assert_eq!(drops(&original), 0);
    assert!(drops(&modified) > 0, "fig. 4.2");
    assert_eq!(drops(&cautious), 0, "fig. 4.3");
    // The loss is near half a second: fast recovery halves the largest window of the run.
    let peak = modified.probes.iter().max_by_key(|row| row.cwnd_bytes).expect("samples");
    let after = modified
        .probes
        .iter()
        .find(|r| r.time_ps > peak.time_ps && r.cwnd_bytes < peak.cwnd_bytes * 6 / 10);
    let at = seconds(after.expect("a loss halves"));
    assert!((0.4..0.7).contains(&at), "{at} s");
    // The original's window is frozen for one round, while the other's grows.
    let largest = |o: &Outcome| windows(o, 0.0).max();
    assert!(largest(&modified) > largest(&original));
    assert!(mean_queue(&cautious) < mean_queue(&modified) - 0.3, "fig. 4.3: a lower queue");
}

/// Figure 5.1: the echo never ends, so every window is reduced, down to the floor.
#[test]
fn a_dctcp_sender_without_cwr_collapses_against_a_standard_receiver() {
    for profile in ["thesis-original", "sigcomm10"] {
        let outcome = run(&[("hosts.senders.profile", profile), ("hosts.receivers.scheme", "ecn")]);
        assert!(windows(&outcome, 2.0).all(|w| w == 2), "{profile}: two segments from 2 s on");
        let alpha = outcome.probes.last().and_then(|row| row.dctcp_alpha_q20).expect("DCTCP");
        assert!(alpha > (1 << 20) * 99 / 100, "{profile}: {alpha}");
        assert!(goodput(&outcome) < 0.8, "{profile}: {} Mbit/s", goodput(&outcome));
        // The latched echo keeps it there: the queue has long been below the threshold.
        let queued = queue(&outcome, 2.0).into_iter().max();
        assert!(queued <= Some(3), "{profile}: {queued:?}");
        let flow = &outcome.flows[0];
        assert!(
            flow.tcp.ecn_reductions > Some(50),
            "{profile}: {:?} cuts",
            flow.tcp.ecn_reductions
        );
    }
    // In the thesis, too, the window is at its floor from about 1.7 s on.
    let original =
        run(&[("hosts.senders.profile", "thesis-original"), ("hosts.receivers.scheme", "ecn")]);
    let floor = original.probes.iter().find(|row| row.cwnd_bytes > 0 && row.cwnd_bytes / MSS == 2);
    let at = floor.map(seconds).expect("the floor is reached");
    assert!((1.0..2.0).contains(&at), "{at} s");
}

/// Figure 5.4: with CWR the echo ends, and the window recovers.
#[test]
fn with_cwr_the_window_recovers_against_a_standard_receiver() {
    let one_sided = [("hosts.senders.scheme", "odctcp-sender")];
    let rfc = [("hosts.senders.profile", "rfc8257")];
    let freebsd = [("hosts.senders.profile", "freebsd")];
    for change in [one_sided, rfc, freebsd] {
        let outcome = run(&[change[0], ("hosts.receivers.scheme", "ecn")]);
        let least = windows(&outcome, 1.5).min().expect("samples");
        assert!(least >= 6, "{change:?}: {least} segments");
        assert!(goodput(&outcome) > 1.85, "{change:?}: {} Mbit/s", goodput(&outcome));
        // The cost (thesis §5.1.2): the latch makes alpha exceed the share of marks.
        let flow = &outcome.flows[0];
        let [marked, all] =
            [flow.received_ce_bytes, flow.received_bytes].map(|bytes| bytes.unwrap() as f64);
        let share = marked / all;
        let late: Vec<f64> = outcome
            .probes
            .iter()
            .filter(|row| seconds(row) > 3.0)
            .filter_map(|row| row.dctcp_alpha_q20.map(|a| a as f64 / f64::from(1 << 20)))
            .collect();
        let alpha = late.iter().sum::<f64>() / late.len() as f64;
        assert!(alpha > share, "{change:?}: alpha {alpha} over a share of {share}");
    }
}

/// Returns by how many segments a standard sender's window grows at the first growth after each
/// reduction.
fn first_growths(receiver: &str) -> Vec<u64> {
    let outcome = run(&[
        ("hosts.senders.scheme", "ecn"),
        ("hosts.senders.sender.freeze-growth", "round"),
        ("hosts.receivers.scheme", receiver),
    ]);
    let mut growths = Vec::new();
    let mut cut = None;
    for pair in outcome.probes.windows(2) {
        let (before, now) = (pair[0].cwnd_bytes, pair[1].cwnd_bytes);
        if now < before {
            cut = Some(now);
        } else if now > before
            && let Some(low) = cut.take()
        {
            growths.push((now - low) / MSS);
        }
    }
    growths
}

/// Figures 5.5 and 5.6: the immediate ACK of the segment with CWR costs a standard sender one
/// segment.
#[test]
fn a_dctcp_receiver_makes_a_standard_sender_grow_by_one_segment_instead_of_two() {
    let share_of_two = |receiver| {
        let growths = first_growths(receiver);
        assert!(growths.len() > 10, "{receiver}: {growths:?}");
        assert!(growths.iter().all(|g| (1..=2).contains(g)), "{receiver}: {growths:?}");
        let twos = growths.iter().filter(|g| **g == 2).count();
        twos as f64 / growths.len() as f64
    };
    let (standard, dctcp, one_sided) =
        (share_of_two("ecn"), share_of_two("dctcp"), share_of_two("odctcp-receiver"));
    assert!(standard > 0.9, "{standard}");
    assert!(one_sided > 0.9, "{one_sided}");
    // If a segment is waiting for an ACK when CWR arrives, one ACK covers both.
    assert!(dctcp < 0.4, "{dctcp}");
}
