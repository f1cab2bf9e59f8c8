//! Burst control, interrupt moderation and receive aggregation in whole transfers.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{AggregationSpec, BucketSpec, NicSpec, NoiseSpec, Outcome, Setup};
use lowtide_tcp::Config;
use lowtide_units::{Bytes, Duration, Rate};

const SIZE: u64 = 2_000_000;

fn setup(config: &Config) -> Setup {
    let mut setup = star_setup(2, config, port(3_000, 60));
    setup.flows = (0..2).map(|i| flow(&setup, i, SIZE, Duration::ZERO)).collect();
    setup
}

fn with(config: &Config, nic: NicSpec) -> Outcome {
    let mut setup = setup(config);
    setup.hosts.iter_mut().for_each(|h| h.nic = nic);
    let outcome = outcome(&setup);
    assert!(
        outcome.flows.iter().all(|f| f.delivered_bytes == SIZE && f.tcp.bytes_retrans == Some(0))
    );
    assert_eq!(outcome.counts.rejected, 0);
    outcome
}

/// Returns the maximum number of packets that an arrival found in the first sender's own port.
fn longest_at_sender(outcome: &Outcome) -> u32 {
    let queue = outcome.queues.iter().find(|q| q.name.starts_with("h0->")).expect("h0's port");
    queue.levels.iter().filter(|l| l.arrivals > 0).map(|l| l.packets).max().expect("packets")
}

fn bursts() -> Config {
    Config { tso_segments: 16, ..config("dctcp") }
}

fn bucket(rate: Rate, burst: u64) -> NicSpec {
    let bucket = BucketSpec { rate, burst: Bytes::new(burst), poll: Duration::ZERO };
    NicSpec { bucket: Some(bucket), ..NicSpec::default() }
}

#[test]
fn a_bucket_at_the_rate_of_the_line_leaves_no_queue_in_the_nic() {
    let off = with(&bursts(), NicSpec::default());
    // The last packet of an initial window of ten finds nine, one of them on the line.
    assert!(longest_at_sender(&off) >= 8, "a burst waits in the port");
    let on = with(&bursts(), bucket(Rate::from_gbps(1), 1_538));
    assert_eq!(longest_at_sender(&on), 0, "each finds the line free");
    // The queue has moved, and throughput is nearly unchanged.
    let (a, b) = (off.ended.as_secs_f64(), on.ended.as_secs_f64());
    assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
}

#[test]
fn a_bucket_is_a_pacer_at_its_rate() {
    let on = with(&bursts(), bucket(Rate::from_bps(100_000_000).expect("a rate"), 1_538));
    // 1448 B of payload in 1538 B.
    let least = SIZE as f64 * 8.0 * 1538.0 / 1448.0 / 1e8;
    let took = on.ended.as_secs_f64();
    assert!((least..least * 1.01).contains(&took), "{took} for {least}");
}

#[test]
fn aggregates_make_fewer_segments_and_fewer_acknowledgements_of_the_same_bytes() {
    let aggregation =
        AggregationSpec { interval: Duration::from_us(50), max_bytes: Bytes::new(64_000) };
    let nic = NicSpec { aggregation: Some(aggregation), ..NicSpec::default() };
    let (off, on) = (with(&bursts(), NicSpec::default()), with(&bursts(), nic));
    // Two flows at 1 Gbit/s: four packets in 50 us, about two of each flow.
    assert!(
        on.counts.segments * 10 < off.counts.segments * 8,
        "{} {}",
        on.counts.segments,
        off.counts.segments
    );
    let marked = |o: &Outcome| o.flows.iter().filter_map(|f| f.received_bytes).sum::<u64>();
    assert_eq!(marked(&on), marked(&off));
}

#[test]
fn marks_are_counted_exactly_despite_aggregation() {
    let aggregation =
        AggregationSpec { interval: Duration::from_us(50), max_bytes: Bytes::new(64_000) };
    let mut setup = setup(&bursts());
    setup.network.links.iter_mut().for_each(|l| l.from_b.port = port(1_000, 20));
    setup.hosts[2].nic.aggregation = Some(aggregation);
    let outcome = outcome(&setup);
    let marks: u64 = outcome.queues.iter().map(|q| q.served.marks).sum();
    let seen: u64 = outcome.flows.iter().filter_map(|f| f.received_ce_bytes).sum();
    assert!(marks > 50, "{marks}");
    // The last segment of a flow is smaller; every other has 1448 B.
    assert!(seen <= marks * 1_448 && seen + 2 * 1_448 > marks * 1_448, "{seen} B of {marks} marks");
}

#[test]
fn moderation_delays_by_at_most_its_interval_and_batches_what_comes() {
    let nic = |us| NicSpec { moderation: Duration::from_us(us), ..NicSpec::default() };
    let one = |nic| {
        let mut setup = star_setup(1, &config("dctcp"), port(100, 50));
        setup.flows = vec![flow(&setup, 0, 1_000, Duration::ZERO)];
        setup.hosts.iter_mut().for_each(|h| h.nic = nic);
        Duration::from_ps(outcome(&setup).flows[0].delivered_ps.expect("delivered"))
    };
    // Packets far apart interrupt at once.
    assert_eq!(one(nic(10)), one(NicSpec::default()));
    // The request follows its SYN after an RTT of 83 us, so at 200 us it waits for the rest of the
    // interval.
    let late = one(nic(200)).saturating_sub(one(NicSpec::default()));
    assert!((Duration::from_us(100)..=Duration::from_us(200)).contains(&late), "{late}");
    let (off, on) = (with(&bursts(), NicSpec::default()), with(&bursts(), nic(100)));
    assert!(on.ended > off.ended);
    assert!(on.ended.as_secs_f64() < off.ended.as_secs_f64() * 1.2);
}

#[test]
fn clocks_change_nothing_for_schemes_that_do_not_read_them() {
    let ideal = setup(&bursts());
    let mut noisy = setup(&bursts());
    for host in &mut noisy.hosts {
        host.clock.offset = Duration::from_secs(5);
        host.clock.drift = lowtide_units::Fraction::from_ppm(40);
        host.clock.noise = NoiseSpec::Normal(Duration::from_us(6));
    }
    assert_eq!(outcome(&ideal), outcome(&noisy));
}

/// A host whose own line is the bottleneck: no switch marks.
#[test]
fn tsq_bounds_the_queue_in_the_host() {
    let alone = |config: &Config, small_queue: Option<u64>| {
        let mut setup = star_setup(1, config, port(3_000, 60));
        setup.flows = vec![flow(&setup, 0, 20_000_000, Duration::ZERO)];
        setup.hosts[0].nic.tsq_limit = small_queue.map(Bytes::new);
        outcome(&setup)
    };
    let single = Config { send_buffer: Bytes::new(2_000_000), ..config("dctcp") };
    let off = alone(&single, None);
    assert!(longest_at_sender(&off) > 1_000, "up to the send buffer");
    let on = alone(&single, Some(15_000));
    // Ten packets of 1500 B; the last one finds nine.
    assert_eq!(longest_at_sender(&on), 8, "in the queue, without the one on the line");
    // The line never becomes idle because of the limit.
    let (a, b) = (off.ended.as_secs_f64(), on.ended.as_secs_f64());
    assert!((a / b - 1.0).abs() < 0.001, "{a} {b}");
    // A burst counts as one.
    let bursts = alone(&Config { tso_segments: 16, ..single }, Some(15_000));
    assert!((8..=32).contains(&longest_at_sender(&bursts)), "{}", longest_at_sender(&bursts));
}
