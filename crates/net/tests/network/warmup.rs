//! A time boundary lies after the departures and before the arrivals of its instant.

use lowtide_net::{Network, PortSpec};
use lowtide_rows::{Level, Queue};
use lowtide_units::{Duration, Instant};

use crate::rig::{OUT, Rig, funnel, packet, ps};

const COUNTED: PortSpec = PortSpec { count_in_service: true, ..PortSpec::NIC };

/// Two packets of 100 B into the slow port at 100 and 200 ps, out of it at 100.1 and 200.1 ns.
fn stats(warmup: u64, end: u64) -> Queue {
    let warmup = Duration::from_ps(warmup);
    let net = Network::build(&funnel(COUNTED), 0, Duration::ZERO, warmup).expect("plan is sound");
    // The third never arrives; it keeps the run from being idle before its end.
    let sends = [0, 100, end].map(|at| (ps(at), packet(0, 1, 100, 0)));
    Rig::run(net, &sends, ps(end)).stats(OUT)
}

fn arrivals(stats: &Queue) -> u64 {
    stats.levels.iter().map(|l| l.arrivals).sum()
}

#[test]
fn an_arrival_at_the_end_of_the_warm_up_counts() {
    assert_eq!(arrivals(&stats(199, 300_000)), 1);
    assert_eq!(arrivals(&stats(200, 300_000)), 1);
    assert_eq!(arrivals(&stats(201, 300_000)), 0);
}

#[test]
fn a_departure_at_the_end_of_the_warm_up_does_not() {
    assert_eq!(stats(100_099, 300_000).served.packets, 2);
    assert_eq!(stats(100_100, 300_000).served.packets, 1);
    // The maximum starts from the queue at the boundary.
    assert_eq!(stats(100_099, 300_000).max_bytes, 200);
    assert_eq!(stats(100_100, 300_000).max_bytes, 100);
    assert_eq!(stats(200_100, 300_000).max_bytes, 0);
}

#[test]
fn at_the_end_of_the_run_departures_count_and_arrivals_do_not() {
    assert_eq!(stats(0, 100_100).served.packets, 1);
    assert_eq!(stats(0, 100_099).served.packets, 0);
    assert_eq!(arrivals(&stats(0, 200)), 1);
    assert_eq!(arrivals(&stats(0, 201)), 2);
}

#[test]
fn half_a_transmission_is_half_busy() {
    let stats = stats(50_100, 150_100);
    assert_eq!(stats.busy_ps, 100_000);
    let level = |packets, ps| Level { packets, time_ps: ps, arrivals: 0 };
    assert_eq!(stats.levels, [level(1, 50_000), level(2, 50_000)]);
}

#[test]
fn sampling_during_the_warm_up_changes_nothing() {
    let warmup = Duration::from_ns(100);
    let mut net = Network::build(&funnel(COUNTED), 0, Duration::ZERO, warmup).unwrap();
    net.finish(ps(50_000));
    let nothing = net.ports().nth(OUT).unwrap();
    assert_eq!((nothing.served.packets, nothing.busy_ps, nothing.max_bytes), (0, 0, 0));
    assert_eq!(nothing.levels, []);
    net.finish(Instant::ZERO + warmup);
    assert_eq!(net.ports().nth(OUT).unwrap(), nothing);
    net.finish(ps(100_007));
    let levels = net.ports().nth(OUT).unwrap().levels;
    assert_eq!(levels, [Level { packets: 0, time_ps: 7, arrivals: 0 }]);
}
