//! The cost of one packet-hop: one packet serialised by one output queue, with statistics and
//! digest.
//!
//! Hosts on one switch, each with a window of packets to its neighbour that are resent on arrival:
//! two hops per round, one event per hop. The cost includes the event queue but not TCP. The ports
//! of the switch are plain (`hop`), with a dynamic threshold, with a step at dequeue, with two
//! classes (two events per hop), or with RED, CoDel or PIE; those of the hosts are plain.
//!
//! Then the cost of path choice: eight leaves of sixteen hosts, each with such a window to a host
//! four leaves on, over four spines with links too fast to matter. Finally the build time of a tree
//! of 8192 hosts.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lowtide_net::topology::HostLine;
use lowtide_net::topology::fat_tree::{FatTree, fat_tree};
use lowtide_net::topology::leaf_spine::{LeafSpine, leaf_spine};
use lowtide_net::topology::star::{Star, star};
use lowtide_net::topology::tree::Layer;
use lowtide_net::{
    Blueprint, BufferSpec, ClassSet, ClassSpec, Delivery, Framing, HostId, MarkSpec, Network,
    Packet, PortSpec, QueueLength, Ratio, Routing, Service,
};
use lowtide_sim::{Scheduler, Seed};
use lowtide_units::{Bytes, Duration, Instant, Rate};
use lowtide_wire::{Ecn, Segment};

/// The ports of the switch.
#[derive(Clone, Copy)]
enum Ports {
    Plain,
    Dynamic,
    Dequeue,
    Classes,
    Red,
    CoDel,
    Pie,
}

fn marker(name: &str, params: &[(&str, &str)]) -> MarkSpec {
    MarkSpec::new(name, params).expect("a marker")
}

fn network(ports: Ports, hosts: u32, jitter: Duration) -> Network {
    let line = |i| HostLine {
        name: format!("host{i}"),
        rate: Rate::from_gbps(10),
        delay: Duration::from_us(1),
    };
    let mut port = PortSpec {
        buffer: BufferSpec::Static(QueueLength::Bytes(Bytes::new(1_000_000))),
        mark: MarkSpec::step(QueueLength::Packets(20)),
        count_in_service: false,
        classes: None,
    };
    let class = |service| ClassSpec { service, buffer: port.buffer, mark: port.mark.clone() };
    let classes = vec![class(Service::Strict), class(Service::Dwrr { quantum: Bytes::new(3_000) })];
    match ports {
        Ports::Plain => {}
        Ports::Dynamic => {
            let (alpha, reserved) = (Ratio::new(1, 4).expect("a ratio"), Bytes::new(1_000));
            port.buffer = BufferSpec::Dynamic { alpha, reserved };
        }
        Ports::Dequeue => port.mark = marker("step-dequeue", &[("k", "20 pkt")]),
        Ports::Classes => port = PortSpec { classes: Some(ClassSet(0)), ..PortSpec::NIC },
        Ports::Red => port.mark = marker("red", &[("min", "1 pkt"), ("max", "1000 pkt")]),
        Ports::CoDel => {
            port.mark = marker("codel", &[("target", "5 us"), ("interval", "100 us")]);
        }
        Ports::Pie => {
            let times = [("target", "5 us"), ("period", "100 us"), ("burst", "100 us")];
            port.mark = marker("pie", &[&times[..], &[("alpha", "25"), ("beta", "250")]].concat());
        }
    }
    let mut plan =
        star(&Star { hosts: (0..hosts).map(line).collect(), framing: Framing::Ethernet, port });
    plan.switches[0].memory = Some(Bytes::new(64 << 20));
    plan.class_sets = vec![classes];
    Network::build(&plan, 1, jitter, Duration::ZERO).expect("a star is a network")
}

fn layer(gbps: u64) -> Layer {
    let (rate, delay) = (Rate::from_gbps(gbps), Duration::from_us(1));
    Layer { rate, delay, port: PortSpec::NIC }
}

/// Resends each packet on arrival, from each of `hosts` to the one `step` further.
fn resending(mut net: Network, hosts: u32, step: u32) -> impl FnMut() {
    let mut sched = Scheduler::new(Seed(1));
    let segment = Segment { ecn: Ecn::Ect0, payload_len: 1_448, ..Segment::default() };
    let mut rng = Seed(2).rng();
    for host in 0..hosts {
        // Start times and sizes vary, so that the hosts do not synchronise.
        let start = Instant::ZERO + rng.duration_below(Duration::from_us(20));
        for _ in 0..16 {
            let dst = HostId((host + step) % hosts);
            let size = 1_500 - rng.below(10) as u32;
            let src = HostId(host);
            let segment = Segment { src_port: rng.below(30_000) as u16, ..segment };
            let packet = Packet { segment, src, dst, size, src_conn: 0, dst_conn: 0, class: 0 };
            net.send(start, &packet, &mut sched);
        }
    }
    let mut step = move || {
        let Some((now, entity)) = sched.pop() else { return };
        if let Some(Delivery { mut packet, .. }) =
            net.on_port_event(now, entity.index(), &mut sched)
        {
            packet.segment.ecn = Ecn::Ect0;
            black_box(net.send(now, &packet, &mut sched));
        }
    };
    (0..hosts * 1_000).for_each(|_| step());
    step
}

fn hop(c: &mut Criterion) {
    let mut group = c.benchmark_group("net");
    group.throughput(Throughput::Elements(1));
    for (ports, name, hosts, jitter) in [
        (Ports::Plain, "hop", 4, 0),
        (Ports::Plain, "hop", 128, 0),
        (Ports::Plain, "hop", 128, 500),
        (Ports::Plain, "hop", 1024, 0),
        (Ports::Dynamic, "dynamic", 4, 0),
        (Ports::Dynamic, "dynamic", 128, 0),
        (Ports::Dequeue, "step-dequeue", 128, 0),
        (Ports::Classes, "classes", 128, 0),
        (Ports::Red, "red", 128, 0),
        (Ports::CoDel, "codel", 128, 0),
        (Ports::Pie, "pie", 128, 0),
    ] {
        let net = network(ports, hosts, Duration::from_ns(jitter));
        let mut step = resending(net, hosts, 1);
        let id = BenchmarkId::new(name, format!("{hosts} hosts, jitter {jitter} ns"));
        group.bench_function(id, |b| b.iter(&mut step));
    }
    group.finish();
}

fn end_to_end(c: &mut Criterion) {
    let mut group = c.benchmark_group("way");
    group.throughput(Throughput::Elements(1));
    let ecmp = Routing::Ecmp { polarised: false };
    for (name, routing) in [("single", Routing::Single), ("ecmp", ecmp), ("spray", Routing::Spray)]
    {
        let fabric = LeafSpine {
            leaves: 8,
            spines: 4,
            hosts_per_leaf: 16,
            parallel: 1,
            host: layer(10),
            fabric: layer(800),
            framing: Framing::Ethernet,
        };
        let plan = leaf_spine(&fabric).expect("a fabric");
        let plan = Blueprint { routing, ..plan };
        let net = Network::build(&plan, 1, Duration::ZERO, Duration::ZERO).expect("a network");
        let mut step = resending(net, 128, 64);
        group.bench_function(name, |b| b.iter(&mut step));
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.sample_size(10);
    let ecmp = Routing::Ecmp { polarised: false };
    for (name, routing) in [("single", Routing::Single), ("ecmp", ecmp)] {
        let (host, framing) = (layer(10), Framing::Ethernet);
        let tree =
            FatTree { k: 32, host: host.clone(), aggregation: host.clone(), core: host, framing };
        let plan = Blueprint { routing, ..fat_tree(&tree).expect("k is even") };
        let net = || Network::build(&plan, 1, Duration::ZERO, Duration::ZERO);
        group.bench_function(BenchmarkId::new("8192 hosts", name), |b| b.iter(net));
    }
    group.finish();
}

criterion_group!(benches, hop, end_to_end, build);
criterion_main!(benches);
