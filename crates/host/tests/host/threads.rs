//! One run on several threads: the same outcome, whatever the number of threads.

use lowtide_host::{
    Disturbance, End, EndReason, HostSetup, Outcome, ProbePlan, Setup, Threads, Used, run_on,
};
use lowtide_net::topology::fat_tree::{FatTree, fat_tree};
use lowtide_net::topology::graph::{Graph, GraphLink, graph};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::three_tier::{ThreeTier, three_tier};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{
    Blueprint, BufferSpec, Count, Failure, Framing, MarkSpec, NodeId, NotEct, PortSpec, Ratio,
    Routing,
};
use lowtide_sim::{Rng, Seed};
use lowtide_traffic::{Asker, Asks, Flow, Source};
use lowtide_units::{Bytes, Duration, Instant, Parts, Rate};

use crate::common::{config, disturbance, outcome, port, star_setup};

/// The run on exactly so many threads, where the network can be cut so.
fn on(setup: &Setup, threads: usize) -> (Outcome, Used) {
    let threads = Threads { most: threads, always: true };
    let (mut outcome, used) = run_on(setup, threads, &mut |_| false).expect("a run that can start");
    // What waits for another part does so elsewhere.
    outcome.counts.port_bytes = 0;
    (outcome, used)
}

/// The outcome is the same on all these numbers of threads; how many were really used.
fn same(setup: &Setup, threads: &[usize], what: &str) -> Vec<usize> {
    let mut whole = outcome(setup);
    whole.counts.port_bytes = 0;
    let run = |n: &usize| {
        let (parts, used) = on(setup, *n);
        assert_eq!(parts.digest, whole.digest, "{what}, {n} threads");
        assert_eq!(parts.counts, whole.counts, "{what}, {n} threads");
        assert_eq!((parts.ended, parts.reason), (whole.ended, whole.reason), "{what}");
        for (part, whole) in parts.flows.iter().zip(&whole.flows) {
            assert_eq!(part, whole, "{what}, {n} threads");
        }
        for (part, whole) in parts.queries.iter().zip(&whole.queries) {
            assert_eq!(part, whole, "{what}, {n} threads");
        }
        assert!(parts == whole, "{what}, {n} threads");
        used.threads
    };
    threads.iter().map(run).collect()
}

fn layer(rng: &mut Rng, port: PortSpec) -> Layer {
    let rate = [Rate::from_gbps(1), Rate::from_gbps(10)][rng.below(2) as usize];
    Layer { rate, delay: Duration::from_ns(500 + rng.below(4_000)), port }
}

fn any_port(rng: &mut Rng) -> PortSpec {
    let k = Count::Packets(5 + rng.below(15));
    let plain = port(20 + rng.below(100), 10);
    match rng.below(4) {
        0 => PortSpec { mark: MarkSpec::StepDequeue { k, not_ect: NotEct::Ignore }, ..plain },
        1 => PortSpec {
            buffer: BufferSpec::Dynamic {
                alpha: Ratio::new(1, 2).unwrap(),
                reserved: Bytes::new(1_500),
            },
            ..plain
        },
        _ => plain,
    }
}

/// A ring of switches with chords, hosts here and there.
fn any_graph(rng: &mut Rng) -> Blueprint {
    let n = 3 + rng.below(6);
    let switches: Vec<String> = (0..n).map(|i| format!("s{i}")).collect();
    let hosts: Vec<String> = (0..2 * n).map(|i| format!("h{i}")).collect();
    let mut links = Vec::new();
    for host in &hosts {
        let (a, b) = (host.clone(), format!("s{}", rng.below(n)));
        let port = any_port(rng);
        links.push(GraphLink { a, b, line: layer(rng, port) });
    }
    for i in 0..n + rng.below(n) {
        let (a, b) = (i % n, if i < n { (i + 1) % n } else { rng.below(n) });
        if a != b {
            let port = any_port(rng);
            let mut line = layer(rng, port);
            if rng.below(5) == 0 {
                line.delay = Duration::ZERO;
            }
            links.push(GraphLink { a: format!("s{a}"), b: format!("s{b}"), line });
        }
    }
    graph(&Graph { hosts, switches, links, framing: Framing::Ethernet }).expect("a graph")
}

fn any_network(rng: &mut Rng) -> Blueprint {
    let port = any_port(rng);
    let mut layer = || layer(rng, port);
    let (host, fabric, core) = (layer(), layer(), layer());
    let framing = Framing::Ethernet;
    let mut plan = match rng.below(4) {
        0 => fat_tree(&FatTree { k: 4, host, aggregation: fabric, core, framing }),
        1 => leaf_spine(&LeafSpine {
            leaves: 2 + rng.below(4) as u32,
            spines: 1 + rng.below(3) as u32,
            hosts_per_leaf: 1 + rng.below(4) as u32,
            parallel: 1 + rng.below(2) as u32,
            host,
            fabric,
            framing,
        }),
        2 => three_tier(&ThreeTier {
            pods: 3,
            tors_per_pod: 2,
            aggs_per_pod: 2,
            cores: 2,
            hosts_per_tor: 2,
            tor_uplinks: 2,
            agg_uplinks: 1,
            host,
            aggregation: fabric,
            core,
            framing,
        }),
        _ => Ok(any_graph(rng)),
    }
    .expect("a network");
    plan.routing = match rng.below(3) {
        0 => Routing::Single,
        1 => Routing::Ecmp { polarised: rng.below(2) == 0 },
        _ => Routing::Spray,
    };
    for switch in &mut plan.switches {
        switch.memory = Some(Bytes::new(200_000));
    }
    for link in &mut plan.links {
        if rng.below(8) == 0 {
            link.from_a.loss = Parts::from_ppb(2_000_000);
        }
    }
    let between = |i: &usize| {
        matches!((plan.links[*i].a, plan.links[*i].b), (NodeId::Switch(_), NodeId::Switch(_)))
    };
    let fabric: Vec<usize> = (0..plan.links.len()).filter(between).collect();
    for i in 0..rng.below(3) {
        let link = fabric[(rng.below(fabric.len() as u64) * 7 + i) as usize % fabric.len()];
        if plan.failures.iter().any(|f| f.link == link) {
            continue;
        }
        let down_at = Instant::ZERO + Duration::from_us(rng.below(3_000));
        plan.failures.push(Failure {
            link,
            down_at,
            up_at: (rng.below(2) == 0).then(|| down_at + Duration::from_us(900)),
            detect: Duration::from_us(rng.below(300)),
        });
    }
    plan
}

fn two(rng: &mut Rng, hosts: u64) -> (u32, u32) {
    let a = rng.below(hosts);
    (a as u32, ((a + 1 + rng.below(hosts - 1)) % hosts) as u32)
}

fn any_asker(rng: &mut Rng, hosts: u64) -> Asker {
    let client = rng.below(hosts) as u32;
    let servers: Vec<u32> = (0..hosts as u32).filter(|h| *h != client).take(5).collect();
    let pause = Duration::from_us([0, 50][rng.below(2) as usize]);
    let at = |i: u64| Instant::ZERO + Duration::from_us(100 + 70 * i);
    Asker {
        group: 0,
        client,
        start: Instant::ZERO + Duration::from_us(rng.below(100)),
        fan_out: 1 + rng.below(servers.len() as u64) as u32,
        servers,
        request: Bytes::new(200),
        answers: vec![Bytes::new(2_000), Bytes::new(30_000), Bytes::new(100)],
        asks: if rng.below(2) == 0 {
            Asks::Closed { queries: 8, pause }
        } else {
            Asks::At((0..8).map(at).collect())
        },
        jitter: Duration::from_us(rng.below(2) * 20),
        deadline: Some(Duration::from_us(500)),
        standing: rng.below(2) == 0,
    }
}

fn any_setup(seed: u64) -> Setup {
    let mut rng = Seed(seed).rng();
    let network = any_network(&mut rng);
    let hosts = network.hosts.len() as u64;
    let mut config = config(["dctcp", "sack", "ecn"][rng.below(3) as usize]);
    config.rto_min = Duration::from_us(500 + rng.below(1_000));
    config.syn_retries = 2;
    config.retries = 3;
    let flow = |rng: &mut Rng| {
        let (src, dst) = two(rng, hosts);
        let size = (rng.below(6) > 0).then(|| Bytes::new(1 + rng.below(60_000)));
        let start = Instant::ZERO + Duration::from_us(rng.below(2_000));
        let burst = Bytes::new(20_000);
        let source = match rng.below(6) {
            0 => Source::OnOff { burst, pause: Duration::from_us(30) },
            _ => Source::AtOnce,
        };
        Flow { group: 0, src, dst, size, start, source }
    };
    let flows = (0..4 + rng.below(20)).map(|_| flow(&mut rng)).collect();
    let askers = (0..rng.below(3)).map(|_| any_asker(&mut rng, hosts)).collect();
    let mut host = HostSetup { config: config.clone(), ..HostSetup::default() };
    if rng.below(4) == 0 {
        host.nic.moderation = Duration::from_us(10);
    }
    let probes = ProbePlan {
        interval: (rng.below(2) == 0).then(|| Duration::from_us(130)),
        groups: vec![0],
        flows_per_group: 4,
        queues: rng.below(2) == 0,
        ..ProbePlan::default()
    };
    Setup {
        seed,
        end: End { at: Duration::from_ms(4), when_done: rng.below(3) > 0 },
        warmup: Duration::from_us(rng.below(2) * 700),
        hosts: network.hosts.iter().map(|_| host.clone()).collect(),
        network,
        flows,
        askers,
        disturbance: if rng.below(4) == 0 { Disturbance::default() } else { disturbance() },
        probes,
        ..star_setup(1, &config, port(10, 10))
    }
}

#[test]
fn any_run_is_the_same_on_any_number_of_threads() {
    let (mut cut, mut done) = (0, 0);
    for seed in 0..40 {
        let setup = any_setup(seed);
        let used = same(&setup, &[1, 2, 3, 4, 8], &format!("seed {seed}"));
        cut += usize::from(used[1] == 2);
        done += usize::from(outcome(&setup).reason == EndReason::Done);
    }
    assert!(cut > 30 && done > 5, "{cut} were cut, {done} ended when all was done");
}
