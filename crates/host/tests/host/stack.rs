//! Stack delay and host profiles in whole transfers.

use crate::common::{config, crossing, flow, on_line, outcome, port, query_client, star_setup};
use lowtide_host::profile::REGISTRY;
use lowtide_host::{EndCondition, NicSpec, Outcome, Setup, StackDelay, StackJitter, StackSpec};
use lowtide_traffic::Flow;
use lowtide_units::{Bytes, Duration, Rate};

fn delay(constant: u64, jitter: StackJitter) -> StackDelay {
    StackDelay { constant: Duration::from_us(constant), jitter }
}

fn with_stack(send: StackDelay, receive: StackDelay) -> Setup {
    let mut setup = star_setup(1, &config("dctcp"), port(1_000, 500));
    let stack = StackSpec { send, receive };
    setup.hosts.iter_mut().for_each(|h| h.nic = NicSpec { stack, ..NicSpec::default() });
    setup
}

#[test]
fn a_constant_delay_is_exact_in_each_direction() {
    let mut setup = with_stack(delay(7, StackJitter::None), delay(11, StackJitter::None));
    setup.flows = vec![flow(&setup, 0, 14_480, Duration::ZERO)];
    let stack = Duration::from_us(18);
    let syn = crossing(40 + 4 + 12 + 4) + stack;
    let train = crossing(1_500) + on_line(1_500) * 9 + stack;
    let row = &outcome(&setup).flows[0];
    assert_eq!(row.established_ps, Some((syn * 2).as_ps()));
    assert_eq!(row.delivered_ps, Some((syn * 2 + train).as_ps()));
    // Before burst control: packets enter the bucket after the stack.
    setup.hosts[0].nic.bucket = Some(lowtide_host::BucketSpec {
        rate: Rate::from_gbps(1),
        burst: Bytes::new(1_538),
        poll: Duration::ZERO,
    });
    assert_eq!(outcome(&setup).flows[0].delivered_ps, row.delivered_ps);
}

#[test]
fn jitter_keeps_the_order_and_follows_the_seed() {
    let jitter = StackJitter::Exponential(Duration::from_us(20));
    let run = |seed| {
        let mut setup =
            with_stack(delay(5, jitter), delay(5, StackJitter::Uniform(Duration::from_us(9))));
        setup.seed = seed;
        setup.flows = vec![flow(&setup, 0, 2_000_000, Duration::ZERO)];
        outcome(&setup)
    };
    let first = run(1);
    // Reordering would cause retransmissions: there were none.
    assert_eq!((first.flows[0].tcp.bytes_retrans, first.counts.rejected), (Some(0), 0));
    assert_eq!(first.flows[0].delivered_bytes, 2_000_000);
    assert_eq!(first, run(1));
    assert_ne!(first.digest, run(2).digest);
}

/// Runs two flows over 10 Gbit/s with `profile`. Returns the utilisation, and the 99th percentile
/// of the queue that packets find in the sender's own port, i.e. the burst size.
fn long(profile: &str) -> (f64, u32, Outcome) {
    let mut setup = star_setup(2, &config("dctcp"), port(600, 65));
    for link in &mut setup.network.links {
        link.from_a.rate = Rate::from_gbps(10);
        link.from_b.rate = Rate::from_gbps(10);
        link.from_a.port = port(600, 500);
    }
    let profile = REGISTRY.find(profile).expect("a profile");
    setup.hosts.iter_mut().for_each(|h| profile.apply(h).expect("its switches"));
    setup.end = EndCondition { at: Duration::from_ms(60), when_done: false };
    setup.warmup = Duration::from_ms(20);
    setup.disturbance.start_jitter = Duration::from_us(100);
    let endless = Flow { size: None, ..flow(&setup, 0, 1, Duration::ZERO) };
    setup.flows = (0..2).map(|src| Flow { src, ..endless }).collect();
    let result = outcome(&setup);
    let delivered: u64 = result.flows.iter().map(|f| f.delivered_after_warmup_bytes).sum();
    assert!(result.flows.iter().all(|f| f.tcp.bytes_retrans == Some(0)));
    let rate = delivered as f64 * 8.0 / 0.04 / (10e9 * 1448.0 / 1538.0);
    let own = result.queues.iter().find(|q| q.name.starts_with("h0->")).expect("h0's port");
    let all: u64 = own.levels.iter().map(|l| l.arrivals).sum();
    let mut found = 0;
    let burst = own.levels.iter().find(|l| {
        found += l.arrivals;
        found * 100 >= all * 99
    });
    (rate, burst.expect("packets").packets, result)
}

#[test]
fn hosts_of_2010_send_bursts_of_thirty_packets_and_ideal_ones_do_not() {
    let (ideal_rate, ideal, _) = long("ideal");
    let (rate, burst, _) = long("papers-2010");
    let (linux_rate, _, linux) = long("linux");
    println!("{ideal_rate:.3} {ideal}, {rate:.3} {burst}, {linux_rate:.3}");
    assert!((30..=40).contains(&burst) && ideal < 5, "{burst} {ideal}");
    // With K = 65 the line stays full in each case (DCTCP fig. 14).
    assert!(
        ideal_rate > 0.99 && rate > 0.99 && linux_rate > 0.99,
        "{ideal_rate} {rate} {linux_rate}"
    );
    let (_, _, plain) = long("ideal");
    assert!(linux.counts.segments * 10 < plain.counts.segments * 9, "GRO merges segments");
}

#[test]
fn queries_work_on_hosts_of_every_profile() {
    for profile in REGISTRY.all() {
        let mut setup = star_setup(8, &config("dctcp"), port(1_000, 20));
        setup.hosts.iter_mut().for_each(|h| profile.apply(h).expect("its switches"));
        setup.query_clients = vec![query_client(&setup, 5, 50_000)];
        let result = outcome(&setup);
        assert!(
            result.queries.iter().all(|q| q.end_ps.is_some() && q.timeouts == 0),
            "{}",
            profile.name
        );
        assert_eq!(result.queries.len(), 5);
    }
}
