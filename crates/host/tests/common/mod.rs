//! Small runs put together by hand.
#![allow(dead_code, reason = "each test file uses its own part")]

use lowtide_host::{Disturbance, End, HostSetup, Outcome, ProbePlan, Setup, run};
use lowtide_net::topology::HostLine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{BufferSpec, Count, Framing, MarkSpec, NotEct, PortSpec};
use lowtide_tcp::{Config, scheme};
use lowtide_traffic::{Flow, Source};
use lowtide_units::{Bytes, Duration, Instant, Rate};

/// A port with `buffer` packets that marks above `k`.
pub(crate) fn port(buffer: u64, k: u64) -> PortSpec {
    PortSpec {
        buffer: BufferSpec::Static(Count::Packets(buffer)),
        mark: MarkSpec::Step { k: Count::Packets(k), not_ect: NotEct::Ignore },
        count_in_service: false,
        classes: None,
    }
}

/// The `rfc` profile with a scheme, timers and buffers fit for microseconds.
pub(crate) fn config(name: &str) -> Config {
    let mut config = Config::default();
    let bundle = scheme::find_scheme(name).expect("a known scheme");
    scheme::apply(bundle, &mut config).expect("it fits the profile");
    config.rto_min = Duration::from_ms(10);
    config.delack_timer = Duration::from_ms(5);
    config.nagle = false;
    config
}

/// `senders` hosts and one receiver on a switch at 1 Gbit/s, 20 us per link.
pub(crate) fn star_setup(senders: u32, config: &Config, port: PortSpec) -> Setup {
    let line = |i: u32| HostLine {
        name: format!("h{i}"),
        rate: Rate::from_gbps(1),
        delay: Duration::from_us(20),
    };
    Setup {
        seed: 1,
        end: End { at: Duration::from_secs(10), when_done: true },
        warmup: Duration::ZERO,
        network: star(&Star {
            hosts: (0..=senders).map(line).collect(),
            framing: Framing::Ethernet,
            port,
        }),
        hosts: (0..=senders)
            .map(|_| HostSetup { config: config.clone(), ..HostSetup::default() })
            .collect(),
        host_groups: vec!["all".into()],
        flows: Vec::new(),
        traffic_groups: vec!["flows".into()],
        disturbance: Disturbance::default(),
        probes: ProbePlan::default(),
    }
}

/// A flow from `src` to the last host.
pub(crate) fn flow(setup: &Setup, src: u32, size: u64, start: Duration) -> Flow {
    let dst = setup.hosts.len() as u32 - 1;
    Flow {
        group: 0,
        src,
        dst,
        size: Some(Bytes::new(size)),
        start: Instant::ZERO + start,
        source: Source::AtOnce,
    }
}

/// Runs it to its end.
pub(crate) fn outcome(setup: &Setup) -> Outcome {
    run(setup, &mut |_| false).expect("a run that can start")
}
