//! One run on several threads: the outcome does not depend on the number of threads.

use lowtide_host::{
    Disturbance, EndCondition, HostSetup, OpenLoop, Outcome, ProbePlan, Setup, ThreadUsage,
    Threads, run_on,
};
use lowtide_net::topology::GraphLink;
use lowtide_net::topology::fat_tree::{FatTree, fat_tree};
use lowtide_net::topology::graph::{Graph, graph};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::three_tier::{ThreeTier, three_tier};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{
    Blueprint, BufferSpec, Failure, Framing, MarkSpec, NodeId, PortSpec, QueueLength, Ratio,
    Routing,
};
use lowtide_rows::{EndReason, FlowRow, FlowStatus, Role};
use lowtide_sim::{Rng, Seed};
use lowtide_traffic::{Flow, QueryClientSpec, QuerySchedule, WritePattern};
use lowtide_units::{Bytes, Duration, Fraction, Instant, Rate};

use crate::common::{add_collective, config, disturbance, flow, outcome, port, star_setup};

/// Runs on exactly this many threads, if the network can be partitioned so.
fn on(setup: &Setup, threads: usize) -> (Outcome, ThreadUsage) {
    let threads = Threads { max: threads, force: true };
    let (mut outcome, used) = run_on(setup, threads, &mut |_| false).expect("a run that can start");
    // Packets for another shard wait elsewhere.
    outcome.memory.port_bytes = 0;
    (outcome, used)
}

/// Checks that the outcome equals `whole` on all these numbers of threads. Returns the threads
/// used.
fn same(setup: &Setup, whole: &Outcome, threads: &[usize], what: &str) -> Vec<ThreadUsage> {
    let mut whole = whole.clone();
    whole.memory.port_bytes = 0;
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
        assert_eq!(parts.collectives, whole.collectives, "{what}, {n} threads");
        assert!(parts == whole, "{what}, {n} threads");
        used
    };
    threads.iter().map(run).collect()
}

fn layer(rng: &mut Rng, port: PortSpec) -> Layer {
    let rate = [Rate::from_gbps(1), Rate::from_gbps(10)][rng.below(2) as usize];
    Layer { rate, delay: Duration::from_ns(2_000 + rng.below(4_000)), port }
}

fn any_port(rng: &mut Rng) -> PortSpec {
    let k = QueueLength::Packets(5 + rng.below(15)).to_string();
    let step_dequeue = MarkSpec::new("step-dequeue", &[("k", &k)]).expect("a marker");
    let plain = port(20 + rng.below(100), 10);
    match rng.below(4) {
        0 => PortSpec { mark: step_dequeue, ..plain },
        1 => PortSpec {
            buffer: BufferSpec::Dynamic {
                alpha: Ratio::new(1, 2).expect("a ratio"),
                reserved: Bytes::new(1_500),
            },
            ..plain
        },
        _ => plain,
    }
}

/// Returns a ring of switches with chords and random hosts.
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
            let mut line = layer(rng, port.clone());
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
    let mut layer = || layer(rng, port.clone());
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
            link.from_a.loss = Fraction::from_ppb(2_000_000);
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
        let down_at = Instant::ZERO + Duration::from_us(rng.below(1_500));
        let (back, part) = (rng.below(2) == 0, rng.below(300));
        plan.failures.push(Failure {
            link,
            down_at,
            up_at: back.then(|| down_at + Duration::from_us(400)),
            detect: Duration::from_us(part),
            only_back: [None, Some(false), Some(true)][part as usize % 3],
            rate: Rate::from_bps(300_000_000).filter(|_| part % 4 < 2),
            reweight: part % 8 == 0,
        });
    }
    plan
}

fn two(rng: &mut Rng, hosts: u64) -> (u32, u32) {
    let a = rng.below(hosts);
    (a as u32, ((a + 1 + rng.below(hosts - 1)) % hosts) as u32)
}

fn any_query_client(rng: &mut Rng, hosts: u64) -> QueryClientSpec {
    let client = rng.below(hosts) as u32;
    let servers: Vec<u32> = (0..hosts as u32).filter(|h| *h != client).take(5).collect();
    let pause = Duration::from_us([0, 50][rng.below(2) as usize]);
    let at = |i: u64| Instant::ZERO + Duration::from_us(100 + 70 * i);
    QueryClientSpec {
        group: 0,
        client,
        start: Instant::ZERO + Duration::from_us(rng.below(100)),
        fan_out: 1 + rng.below(servers.len() as u64) as u32,
        servers,
        request: Bytes::new(200),
        response_sizes: vec![Bytes::new(2_000), Bytes::new(30_000), Bytes::new(100)],
        schedule: if rng.below(2) == 0 {
            QuerySchedule::ClosedLoop { queries: 5, pause }
        } else {
            QuerySchedule::OpenLoop((0..5).map(at).collect::<Vec<_>>().into())
        },
        jitter: Duration::from_us(rng.below(2) * 20),
        deadline: Some(Duration::from_us(500)),
        persistent: rng.below(2) == 0,
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
    let any_flow = |rng: &mut Rng| {
        let (src, dst) = two(rng, hosts);
        let size = (rng.below(6) > 0).then(|| Bytes::new(1 + rng.below(30_000)));
        let start = Instant::ZERO + Duration::from_us(rng.below(600));
        let burst = Bytes::new(20_000);
        let source = match rng.below(6) {
            0 => WritePattern::OnOff { burst, pause: Duration::from_us(30) },
            _ => WritePattern::Bulk,
        };
        Flow { group: 0, src, dst, size, start, write_pattern: source }
    };
    let flows = (0..4 + rng.below(20)).map(|_| any_flow(&mut rng)).collect();
    let query_clients = (0..rng.below(3)).map(|_| any_query_client(&mut rng, hosts)).collect();
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
    let mut setup = Setup {
        seed,
        end: EndCondition { at: Duration::from_us(1_600), when_done: rng.below(3) > 0 },
        warmup: Duration::from_us(rng.below(2) * 700),
        hosts: network.hosts.iter().map(|_| host.clone()).collect(),
        network,
        flows,
        query_clients,
        collectives: Vec::new(),
        disturbance: if rng.below(4) == 0 { Disturbance::default() } else { disturbance() },
        probes,
        ..star_setup(1, &config, port(10, 10))
    };
    if seed.is_multiple_of(2) {
        let operation = ["ring-all-reduce", "tree-all-reduce", "all-to-all"][seed as usize % 3];
        let given = [("operation", operation), ("data", "9 kB"), ("compute-jitter", "30 us")];
        add_collective(&mut setup, hosts.min(7) as u32, &given);
    }
    setup
}

#[test]
fn any_run_is_the_same_on_any_number_of_threads() {
    let (mut partitioned, mut done, mut merged) = (0, 0, 0);
    for seed in 0..10 {
        let setup = any_setup(seed);
        let whole = outcome(&setup);
        let threads: &[usize] = if seed % 5 == 0 { &[1, 2, 3, 4, 8] } else { &[2, 3] };
        let used = same(&setup, &whole, threads, &format!("seed {seed}"));
        partitioned += usize::from(used.iter().any(|u| u.threads > 2));
        done += usize::from(whole.reason == EndReason::Done);
        merged += usize::from(used.iter().all(|u| u.windows.0 > 0 && u.windows.1 > 0));
    }
    assert!(
        partitioned > 5 && done > 1 && merged > 2,
        "{partitioned} cut, {done} done, {merged} merged"
    );
}

/// Returns a run whose load goes on beyond its counted arrivals.
fn any_open_loop(seed: u64) -> Setup {
    let mut setup = any_setup(seed);
    let load_from = setup.flows.len() as u32 * 2 / 3;
    let counted_until = Duration::from_us(300 + seed % 3 * 100);
    setup.counting.open_loop = Some(OpenLoop { counted_until, load_from });
    setup.counting.by_arrival = vec![seed.is_multiple_of(2)];
    setup.end = EndCondition { at: Duration::from_ms(4), when_done: true };
    setup.warmup = setup.warmup.min(Duration::from_us(150));
    for client in &mut setup.query_clients {
        if let QuerySchedule::OpenLoop(arrivals) = &mut client.schedule {
            arrivals.counted = 3;
        }
    }
    setup
}

#[test]
fn an_open_loop_ends_with_its_counted_flows_and_queries_on_any_number_of_threads() {
    let (mut done, mut cut, mut left) = (0, 0, 0);
    for seed in 0..20 {
        let setup = any_open_loop(seed);
        let whole = outcome(&setup);
        same(&setup, &whole, if seed % 5 == 0 { &[2, 4] } else { &[2] }, &format!("seed {seed}"));
        let open_loop = setup.counting.open_loop.expect("an open loop");
        let flow_is_open = |f: &&FlowRow| f.status == FlowStatus::Unfinished;
        let counted = whole.flows.iter().filter(|f| f.size_bytes.is_some() && f.is_counted());
        let queries = whole.queries.iter().filter(|q| q.is_counted());
        assert!(counted.clone().all(|f| f.flow < open_loop.load_from || f.role == Role::Answers));
        assert!(queries.clone().all(|q| q.start_ps < open_loop.counted_until.as_ps()));
        let open = counted.filter(flow_is_open).count()
            + queries.filter(|q| q.status == FlowStatus::Unfinished).count();
        // It does not end before, and not after the last counted one.
        assert_eq!(open > 0, whole.reason == EndReason::Time, "seed {seed}: {open}");
        done += usize::from(whole.reason == EndReason::Done);
        cut += usize::from(whole.reason == EndReason::Time);
        left += whole.flows.iter().filter(|f| !f.is_counted()).filter(flow_is_open).count();
    }
    assert!(done > 5 && cut > 0 && left > 3, "{done} done, {cut} cut, {left} left");
}

/// Returns two racks of two hosts under two spines, 1 us per link.
fn racks(flows: &[(u32, u32, Option<u64>, u64)]) -> Setup {
    let config = config("dctcp");
    let layer =
        Layer { rate: Rate::from_gbps(10), delay: Duration::from_us(1), port: port(60, 20) };
    let network = leaf_spine(&LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 2,
        parallel: 1,
        host: layer.clone(),
        fabric: layer,
        framing: Framing::Ethernet,
    });
    let base = star_setup(3, &config, port(60, 20));
    let flow = |&(src, dst, size, us): &(u32, u32, Option<u64>, u64)| Flow {
        group: 0,
        src,
        dst,
        size: size.map(Bytes::new),
        start: Instant::ZERO + Duration::from_us(us),
        write_pattern: WritePattern::Bulk,
    };
    Setup { network: network.expect("a fabric"), flows: flows.iter().map(flow).collect(), ..base }
}

#[test]
fn a_run_ends_with_its_final_event() {
    // One flow across racks, one within a rack, one that starts last: each finishes last once.
    // Later events (FIN, ACKs, timers) do not happen on any number of threads.
    for (across, within, late) in [(600_000, 3_000, 1), (3_000, 600_000, 1), (3_000, 3_000, 100)] {
        let flows = [(0, 3, Some(across), 0), (1, 0, Some(within), 5), (2, 1, Some(4_000), late)];
        let setup = racks(&flows);
        let whole = outcome(&setup);
        assert_eq!(whole.reason, EndReason::Done);
        let used = same(&setup, &whole, &[2], "done")[0];
        assert!(used.windows.0 > 10 && used.windows.1 > 3, "{used:?}");
    }
    // A failed flow is finished too: no answer arrives, since the only path is down.
    let mut setup = racks(&[(0, 3, Some(1_000_000), 0), (1, 0, Some(3_000), 0)]);
    for hosts in &mut setup.hosts {
        hosts.config.retries = 2;
    }
    let link = |spine| setup.network.find_link("leaf0", spine, 0).unwrap();
    let failure = |link| Failure {
        link,
        down_at: Instant::ZERO + Duration::from_us(100),
        up_at: None,
        detect: Duration::from_us(50),
        ..Failure::default()
    };
    setup.network.failures = vec![failure(link("spine0")), failure(link("spine1"))];
    let whole = outcome(&setup);
    assert_eq!(whole.reason, EndReason::Done);
    assert!(whole.flows[0].error.is_some());
    same(&setup, &whole, &[2], "failed");
}

#[test]
fn a_run_ends_at_its_time_or_when_nothing_is_left() {
    for at in [7_000, 100_000, 100_001] {
        let mut setup = racks(&[(0, 3, None, 0), (2, 1, None, 0)]);
        setup.end = EndCondition { at: Duration::from_ns(at), when_done: false };
        setup.probes =
            ProbePlan { interval: Some(Duration::from_us(10)), queues: true, ..setup.probes };
        let whole = outcome(&setup);
        assert_eq!((whole.reason, whole.queue_samples.len() > 7), (EndReason::Time, true));
        same(&setup, &whole, &[2], "time");
    }
    let mut setup = racks(&[(0, 3, Some(50_000), 0)]);
    setup.end.when_done = false;
    let whole = outcome(&setup);
    assert_eq!(whole.reason, EndReason::Idle);
    same(&setup, &whole, &[2], "idle");
}

#[test]
fn one_thread_is_used_if_several_would_not_be_faster() {
    let fewer = |setup: &Setup| {
        let (_, used) = run_on(setup, Threads::up_to(2), &mut |_| false).unwrap();
        assert_eq!(used.threads, 1);
        used.why.expect("a reason").to_string()
    };
    let alone = racks(&[(0, 3, Some(3_000), 0)]);
    assert!(fewer(&alone).contains("events"), "{}", fewer(&alone));
    let traced =
        Setup { probes: ProbePlan { trace: vec![0], ..ProbePlan::default() }, ..alone.clone() };
    assert!(fewer(&traced).contains("trace"));
    let star = star_setup(4, &config("dctcp"), port(60, 20));
    let star = Setup { flows: vec![flow(&star, 0, 3_000, Duration::ZERO)], ..star };
    assert!(fewer(&star).contains("switch"));
    let mut close = alone;
    for link in &mut close.network.links {
        (link.from_a.delay, link.from_b.delay) = (Duration::ZERO, Duration::ZERO);
    }
    assert!(fewer(&close).contains("no delay"));
    let one = run_on(&star, Threads::ONE, &mut |_| false).unwrap();
    assert_eq!((one.0, one.1.why), (outcome(&star), None));
}

#[test]
fn several_threads_can_be_interrupted() {
    let setup = racks(&[(0, 3, None, 0), (2, 1, None, 0), (3, 0, None, 0), (1, 2, None, 0)]);
    let threads = Threads { max: 2, force: true };
    let mut asked = 0;
    let (outcome, used) = run_on(&setup, threads, &mut |_| {
        asked += 1;
        asked == 2
    })
    .unwrap();
    assert_eq!((outcome.reason, used.threads, asked), (EndReason::Interrupted, 2, 2));
}
