//! Small hand-built runs.

use lowtide_host::{
    Counting, Disturbance, EndCondition, HostSetup, Outcome, ProbePlan, Setup, run,
};
use lowtide_net::topology::HostLine;
use lowtide_net::topology::dumbbell::{Dumbbell, dumbbell};
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{BufferSpec, Framing, MarkSpec, PortSpec, QueueLength};
use lowtide_tcp::{Config, scheme};
use lowtide_traffic::workload::collective::ENTRY as COLLECTIVE;
use lowtide_traffic::workload::{WorkloadArgs, WorkloadContext};
use lowtide_traffic::{Flow, QueryClientSpec, QuerySchedule, WritePattern};
use lowtide_units::{Bytes, Duration, Instant, Rate};

/// Returns a port with `buffer` packets that marks above `k`.
pub(crate) fn port(buffer: u64, k: u64) -> PortSpec {
    PortSpec {
        buffer: BufferSpec::Static(QueueLength::Packets(buffer)),
        mark: MarkSpec::step(QueueLength::Packets(k)),
        count_in_service: false,
        classes: None,
    }
}

/// Returns the full random variation.
pub(crate) const fn disturbance() -> Disturbance {
    Disturbance {
        start_jitter: Duration::from_us(100),
        host_jitter: Duration::from_us(1),
        ports: true,
        ties: true,
        salts: true,
    }
}

/// Returns the `rfc` profile with a scheme, and with timers and buffers for microsecond RTTs.
pub(crate) fn config(name: &str) -> Config {
    let mut config = Config::default();
    let bundle = scheme::REGISTRY.find(name).expect("a known scheme");
    bundle.apply(&mut config).expect("it fits the profile");
    config.rto_min = Duration::from_ms(10);
    config.delack_timer = Duration::from_ms(5);
    config.nagle = false;
    config
}

/// Returns `senders` hosts and one receiver on a switch at 1 Gbit/s, 20 us per link.
pub(crate) fn star_setup(senders: u32, config: &Config, port: PortSpec) -> Setup {
    let line = |i: u32| HostLine {
        name: format!("h{i}"),
        rate: Rate::from_gbps(1),
        delay: Duration::from_us(20),
    };
    Setup {
        seed: 1,
        end: EndCondition { at: Duration::from_secs(10), when_done: true },
        warmup: Duration::ZERO,
        counting: Counting::default(),
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
        query_clients: Vec::new(),
        collectives: Vec::new(),
        traffic_groups: vec!["flows".into()],
        traffic_classes: Vec::new(),
        early_groups: Vec::new(),
        packet_classes: Vec::new(),
        disturbance: Disturbance::default(),
        probes: ProbePlan::default(),
    }
}

/// Returns `n` unlimited flows from left to right over a 10 Gbit/s line with propagation delay
/// `delay` that marks above `k` packets. Each starts within `jitter`; the statistics cover 50 ms to
/// 150 ms. Hosts add 20 us each way.
pub(crate) fn long_flows(
    n: u32,
    config: &Config,
    delay: Duration,
    k: u64,
    jitter: Duration,
) -> Setup {
    let line = |side: &str, i: u32| HostLine {
        name: format!("{side}{i}"),
        rate: Rate::from_gbps(10),
        delay: Duration::from_us(10),
    };
    Setup {
        seed: 1,
        end: EndCondition { at: Duration::from_ms(150), when_done: false },
        warmup: Duration::from_ms(50),
        counting: Counting::default(),
        network: dumbbell(&Dumbbell {
            left: (0..n).map(|i| line("left", i)).collect(),
            right: (0..n).map(|i| line("right", i)).collect(),
            bottleneck_rate: Rate::from_gbps(10),
            bottleneck_delay: delay,
            framing: Framing::Ethernet,
            port: port(1000, k),
            bottleneck_port: port(1000, k),
        }),
        hosts: (0..2 * n)
            .map(|_| HostSetup { config: config.clone(), ..HostSetup::default() })
            .collect(),
        host_groups: vec!["all".into()],
        flows: (0..n)
            .map(|i| Flow {
                group: 0,
                src: i,
                dst: n + i,
                size: None,
                start: Instant::ZERO,
                write_pattern: WritePattern::Bulk,
            })
            .collect(),
        query_clients: Vec::new(),
        collectives: Vec::new(),
        traffic_groups: vec!["long".into()],
        traffic_classes: Vec::new(),
        early_groups: Vec::new(),
        packet_classes: Vec::new(),
        disturbance: Disturbance {
            start_jitter: jitter,
            host_jitter: Duration::from_us(1),
            ports: true,
            ties: true,
            salts: true,
        },
        probes: ProbePlan::default(),
    }
}

/// Returns a flow from `src` to the last host.
pub(crate) fn flow(setup: &Setup, src: u32, size: u64, start: Duration) -> Flow {
    let dst = setup.hosts.len() as u32 - 1;
    Flow {
        group: 0,
        src,
        dst,
        size: Some(Bytes::new(size)),
        start: Instant::ZERO + start,
        write_pattern: WritePattern::Bulk,
    }
}

/// Returns a query client on the last host that repeatedly queries all others over persistent
/// connections: requests of 200 B, answers of `answer` bytes.
pub(crate) fn query_client(setup: &Setup, queries: u32, answer: u64) -> QueryClientSpec {
    let client = setup.hosts.len() as u32 - 1;
    QueryClientSpec {
        group: 0,
        client,
        start: Instant::ZERO,
        servers: (0..client).collect(),
        fan_out: client,
        request: Bytes::new(200),
        response_sizes: vec![Bytes::new(answer)],
        schedule: QuerySchedule::ClosedLoop { queries, pause: Duration::ZERO },
        jitter: Duration::ZERO,
        deadline: None,
        persistent: true,
    }
}

/// Adds a collective with these keys, whose ranks are the first hosts.
pub(crate) fn add_collective(setup: &mut Setup, ranks: u32, given: &[(&str, &str)]) {
    let given = COLLECTIVE.args(given).expect("keys of a collective");
    let args = WorkloadArgs { sources: (0..ranks).collect(), ..given };
    let end = Instant::FAR_FUTURE;
    let ctx = WorkloadContext { seed: 1, end, load_end: end, hosts: Vec::new().into() };
    let made = (COLLECTIVE.traffic)(&args, &ctx).expect("a collective");
    let first = setup.flows.len() as u32;
    setup.flows.extend(made.flows);
    setup.collectives.extend(made.collectives.into_iter().map(|c| c.with_first_flow(first)));
}

/// Returns the delay of one packet of `ip_bytes` over two links of the star, store and forward.
pub(crate) fn crossing(ip_bytes: u64) -> Duration {
    (on_line(ip_bytes) + Duration::from_us(20)) * 2
}

/// Returns the serialisation time of such a packet on a line of the star.
pub(crate) fn on_line(ip_bytes: u64) -> Duration {
    Rate::from_gbps(1).serialization(Bytes::new(ip_bytes + 38))
}

/// Runs `setup` to its end.
pub(crate) fn outcome(setup: &Setup) -> Outcome {
    run(setup, &mut |_| false).expect("a run that can start")
}
