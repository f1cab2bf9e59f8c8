//! Clocks with ticks: RTT as a host sees it, and the times of its timers.

use crate::common::{config, flow, outcome, port, star_setup};
use lowtide_host::{StackDelay, StackJitter, StackSpec};
use lowtide_tcp::PacingRule;
use lowtide_units::{Duration, Instant};

#[test]
fn a_host_with_millisecond_ticks_reports_whole_milliseconds() {
    let run = |tick: Duration, k: u64| {
        let mut config = config("dctcp");
        config.rtt_granularity = tick;
        let mut setup = star_setup(2, &config, port(1_000, k));
        setup.flows =
            (0..2).map(|i| flow(&setup, i, 8_000_000, Duration::ZERO)).collect::<Vec<_>>();
        let flows = outcome(&setup).flows;
        [flows[0].srtt_ns, flows[0].srtt_quantised_ns]
            .map(|srtt| Duration::from_ns(srtt.expect("it measured")))
    };
    let [exact, shown] = run(Duration::ZERO, 20);
    assert_eq!(exact, shown, "no tick, nothing to round");
    assert!((Duration::from_us(100)..Duration::from_us(700)).contains(&exact), "{exact}");
    // An RTT below a tick counts as one tick, the minimum of such a host.
    let ms = Duration::from_ms(1);
    assert_eq!(run(ms, 20), [ms, ms]);
    // 300 packets of 12.3 us, 3.7 ms: the estimate keeps fractions, the reported value does not.
    let [exact, _] = run(Duration::ZERO, 300);
    let [kept, shown] = run(ms, 300);
    assert!(exact > ms * 2, "{exact}");
    assert!(kept.abs_diff(exact) < ms, "{kept} of {exact}");
    assert_eq!(shown, ms * (kept.as_ps() / ms.as_ps()));
}

/// Returns the time when the last of three simultaneous clients is connected: its SYN is dropped
/// and retransmitted by the timer.
fn last_connected(tick: Duration, seed: u64) -> Instant {
    let mut setup = star_setup(3, &config("dctcp"), port(1, 500));
    setup.seed = seed;
    setup.hosts.iter_mut().for_each(|h| h.clock.timer_tick = tick);
    setup.flows = (0..3).map(|i| flow(&setup, i, 1_000, Duration::ZERO)).collect();
    let flows = outcome(&setup).flows;
    assert_eq!(flows.iter().filter_map(|f| f.tcp.rto_count).sum::<u64>(), 1, "one SYN is lost");
    let last = flows.iter().filter_map(|f| f.established_ps).max();
    Instant::from_ps(last.expect("all opened"))
}

#[test]
fn a_timer_fires_within_a_tick_of_its_deadline_at_a_random_phase() {
    let tick = Duration::from_ms(10);
    let exact = last_connected(Duration::ZERO, 1);
    assert!(exact > Instant::ZERO + Duration::from_secs(1));
    assert_eq!(last_connected(Duration::ZERO, 2), exact, "nothing else depends on the seed");
    let late: Vec<Duration> =
        (1..=12).map(|seed| last_connected(tick, seed).saturating_since(exact)).collect();
    assert!(late.iter().all(|l| *l < tick), "{late:?}");
    let (least, most) = (late.iter().min(), late.iter().max());
    assert!(least < Some(&Duration::from_ms(3)) && most > Some(&Duration::from_ms(7)), "{late:?}");
    assert_eq!(last_connected(tick, 3).saturating_since(exact), late[2], "the same seed again");
}

#[test]
fn pacing_does_not_wait_for_ticks() {
    let run = |pacing, tick: Duration| {
        let mut config = config("dctcp");
        (config.pacing, config.delack_segments) = (pacing, 1);
        let mut setup = star_setup(1, &config, port(1_000, 500));
        // An RTT of 20 ms, in which the line could send much more.
        let slow = StackDelay { constant: Duration::from_ms(5), jitter: StackJitter::None };
        for host in &mut setup.hosts {
            host.clock.timer_tick = tick;
            host.nic.stack = StackSpec { send: slow, receive: slow };
        }
        setup.flows = vec![flow(&setup, 0, 400_000, Duration::ZERO)];
        outcome(&setup).flows[0].delivered_ps
    };
    let paced = run(PacingRule::Window, Duration::ZERO);
    assert_ne!(paced, run(PacingRule::Off, Duration::ZERO), "pacing has an effect here");
    assert_eq!(paced, run(PacingRule::Window, Duration::from_ms(10)));
}
