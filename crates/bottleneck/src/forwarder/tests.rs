//! Tests of the driver in virtual time, with fake devices and a fake clock.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::IpAddr;

use lowtide_net::topology::HostLine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{
    Blueprint, BufferSpec, Failure, Framing, LineSpec, MarkSpec, Network, Packet, PortSpec,
    QueueLength,
};
use lowtide_sim::{Scheduler, Seed};
use lowtide_units::{Fraction, Quantile, Rate};
use lowtide_wire::{Addresses, Ecn, Segment, packet};

use super::*;
use crate::address_table::AddressTable;
use crate::engine::EngineConfig;
use crate::faults::Faults;

/// A fake device: packets to read, and packets sent to it.
#[derive(Default)]
struct FakeDevice {
    waiting: RefCell<VecDeque<Vec<u8>>>,
    got: RefCell<Vec<Vec<u8>>>,
    full: Cell<bool>,
    failed: Cell<bool>,
}

impl PacketIo for FakeDevice {
    fn read(&self, _: &mut ReadBuffers, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.failed.get() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        for _ in 0..BURST {
            let Some(packet) = self.waiting.borrow_mut().pop_front() else { break };
            take(&packet);
        }
        Ok(())
    }
    fn send(&self, packet: &[u8]) -> io::Result<bool> {
        if !self.full.get() {
            self.got.borrow_mut().push(packet.to_vec());
        }
        Ok(!self.full.get())
    }
}

const PACKET: usize = 1500;

fn address(host: usize, v6: bool) -> IpAddr {
    let text = if v6 { format!("fd77::{}", host + 1) } else { format!("10.77.0.{}", host + 1) };
    text.parse().unwrap()
}

/// A packet from host 0 to host 1 with sequence number `number`.
fn numbered(v6: bool, ecn: Ecn, number: u32) -> Vec<u8> {
    let addresses = Addresses::between(address(0, v6), address(1, v6)).unwrap();
    let mut out = vec![0; PACKET];
    let headers = if v6 { 60 } else { 40 };
    let seq = lowtide_wire::SeqNum::new(number);
    let payload = vec![number as u8; PACKET - headers];
    let segment = Segment {
        seq,
        ecn,
        payload_len: payload.len() as u32,
        dst_port: 5201,
        ..Segment::default()
    };
    assert_eq!(packet::emit(&addresses, &segment, &payload, &mut out), Ok(PACKET));
    out
}

fn ns(n: u64) -> Instant {
    Instant::ZERO + Duration::from_ns(n)
}

/// 100 Mbit/s without framing at the switch: 120 us per packet. The hosts' links are much faster.
fn plan_of(port: PortSpec) -> Blueprint {
    let host = |name: &str| HostLine {
        name: name.to_owned(),
        rate: Rate::from_bps(100_000_000).unwrap(),
        delay: Duration::from_us(50),
    };
    let mut plan = star(&Star { hosts: vec![host("a"), host("b")], framing: Framing::Ip, port });
    for link in &mut plan.links {
        link.from_a.rate = Rate::from_gbps(1000);
        link.from_a.delay = Duration::ZERO;
    }
    plan
}

fn port(buffer: u64, k: u64) -> PortSpec {
    PortSpec {
        buffer: BufferSpec::Static(QueueLength::Packets(buffer)),
        mark: MarkSpec::step(QueueLength::Packets(k)),
        ..PortSpec::NIC
    }
}

struct Rig {
    forwarder: Forwarder,
    devices: [FakeDevice; 2],
    clock: Cell<Instant>,
    buffers: ReadBuffers,
}

impl Rig {
    fn new(plan: &Blueprint, faults: &[&str]) -> Self {
        let mut injected = Faults::default();
        for text in faults {
            injected.set(text).unwrap();
        }
        let settings = EngineConfig {
            seed: 1,
            warmup: Duration::ZERO,
            max_packets: 1000,
            sample_interval: Duration::from_us(100),
            faults: vec![(HostId(0), injected)],
        };
        let mut table = AddressTable::default();
        for host in 0..2 {
            for v6 in [false, true] {
                let bits = if v6 { 128 } else { 32 };
                table.add(address(host, v6), bits, HostId(host as u32)).unwrap();
            }
        }
        let port_state = |host| PortState {
            host: HostId(host),
            device_error: None,
            device_drops: 0,
            checksum_partial: 0,
            capture: None,
        };
        let forwarder = Forwarder {
            engine: Engine::new(plan, &settings, table).unwrap(),
            ports: vec![port_state(0), port_state(1)],
            by_host: vec![Some(0), Some(1)],
            fidelity: FidelityStats::default(),
            tolerance: Duration::from_us(100),
            no_device_drops: 0,
        };
        Self {
            forwarder,
            devices: <[FakeDevice; 2]>::default(),
            clock: Cell::new(Instant::ZERO),
            buffers: ReadBuffers::default(),
        }
    }

    fn put(&self, packets: impl IntoIterator<Item = Vec<u8>>) {
        self.devices[0].waiting.borrow_mut().extend(packets);
    }

    fn iterate(&mut self, at: Instant) -> usize {
        self.clock.set(at);
        let clock = &self.clock;
        self.forwarder
            .run_iteration(&self.devices, &[true, true], &mut self.buffers, &mut || clock.get())
    }

    /// Iterates at every event until `end`. Returns the arrival times at host 1.
    fn run(&mut self, end: Instant) -> Vec<Instant> {
        let mut times = Vec::new();
        while let Some(next) = self.forwarder.engine.next().filter(|next| *next <= end) {
            self.iterate(next);
            times.resize(self.devices[1].got.borrow().len(), next);
        }
        times
    }

    /// Numbers and codepoints of the packets at host 1, all of them intact.
    fn got(&self) -> Vec<(u32, Ecn)> {
        let read = |bytes: &Vec<u8>| {
            let (_, segment, payload) = packet::parse(bytes).unwrap();
            assert!(bytes[payload].iter().all(|b| *b == segment.seq.raw() as u8));
            (segment.seq.raw(), segment.ecn)
        };
        self.devices[1].got.borrow().iter().map(read).collect()
    }
}

#[test]
fn packets_leave_at_the_link_rate_and_arrive_after_its_delay() {
    let mut rig = Rig::new(&plan_of(port(100, 50)), &[]);
    rig.put((0..3).map(|i| numbered(false, Ecn::Ect0, i)));
    assert_eq!(rig.iterate(ns(1_000)), 3);
    // 12 ns per packet on each host's link, 120 us on the bottleneck's, 50 us delay to the host.
    let times = rig.run(ns(1_000_000));
    assert_eq!(times, [171_012, 291_012, 411_012].map(ns));
    assert_eq!(rig.got(), [0, 1, 2].map(|i| (i, Ecn::Ect0)));
    assert_eq!(
        (rig.forwarder.fidelity.lateness.count(), rig.forwarder.fidelity.lateness.max()),
        (3, 0)
    );
    assert_eq!(rig.forwarder.engine.in_transit(), 0);
}

#[test]
fn marks_are_those_of_the_simulator() {
    for v6 in [false, true] {
        let blueprint = plan_of(port(30, 5));
        let mut rig = Rig::new(&blueprint, &[]);
        let mut network = Network::build(&blueprint, 1, Duration::ZERO, Duration::ZERO).unwrap();
        let mut sched = Scheduler::new(Seed(1));
        let mut rng = Seed(7).rng();
        let (mut expected, mut at) = (Vec::new(), Instant::ZERO);
        for i in 0..2_000_u32 {
            at += Duration::from_ns(rng.below(240_000));
            let ecn = if i % 7 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
            rig.put([numbered(v6, ecn, i)]);
            rig.iterate(at);
            let mut handle = |until: Instant, sched: &mut Scheduler, network: &mut Network| {
                while let Some((t, e)) = sched.pop_before(until + Duration::from_ps(1)) {
                    let reached = network.on_port_event(t, e.index(), sched);
                    expected.extend(reached.map(|d| (d.packet.src_conn, d.packet.segment.ecn)));
                }
            };
            handle(at, &mut sched, &mut network);
            let segment = Segment { ecn, ..Segment::default() };
            let sent = Packet {
                segment,
                src: HostId(0),
                dst: HostId(1),
                size: PACKET as u32,
                src_conn: i,
                dst_conn: 0,
                class: 0,
            };
            network.send(at, &sent, &mut sched);
            if i == 1_999 {
                handle(Instant::ZERO + Duration::from_secs(9), &mut sched, &mut network);
            }
        }
        rig.run(Instant::ZERO + Duration::from_secs(1));
        assert_eq!(rig.got(), expected);
        let marks = expected.iter().filter(|(_, ecn)| *ecn == Ecn::Ce).count();
        assert!(
            marks > 100 && expected.len() < 2_000,
            "{marks} of {}: it was full too",
            expected.len()
        );
        assert!(expected.iter().all(|(i, ecn)| i % 7 != 0 || *ecn == Ecn::NotEct));
        assert_eq!(rig.forwarder.engine.in_transit(), 0, "dropped packets are freed");
    }
}

/// A late thread delivers packets late but makes the same decisions as a timely one.
#[test]
fn lateness_delays_packets_but_changes_no_decision() {
    let drive = |step: u64| {
        let mut rig = Rig::new(&plan_of(port(30, 5)), &[]);
        for i in 0..40_u64 {
            // Packets arrive in pairs while the thread is awake.
            rig.put((0..2).map(|j| numbered(false, Ecn::Ect0, (2 * i + j) as u32)));
            rig.iterate(ns(i * 1_000_000 / 8));
            // In between it runs only every `step`.
            let mut t = i * 1_000_000 / 8 + step;
            while t < (i + 1) * 1_000_000 / 8 {
                rig.iterate(ns(t));
                t += step;
            }
        }
        rig.iterate(ns(100_000_000));
        let late = rig.forwarder.fidelity.lateness.clone();
        (rig.got(), late, rig.forwarder.fidelity.late_packets)
    };
    let (timely, late, behind) = drive(1_000);
    assert!(late.nearest_rank(Quantile::P50) <= 1_000 && behind <= 30, "{late:?}");
    let (late_runs, late, behind) = drive(90_000);
    assert_eq!(timely, late_runs);
    assert!(
        late.nearest_rank(Quantile::P50) > 20_000 && late.max() > 100_000 && behind > 0,
        "{late:?}"
    );
}

#[test]
fn bytes_of_dropped_packets_are_freed() {
    let edit_line = |plan: &mut Blueprint, edit: fn(&mut LineSpec)| edit(&mut plan.links[0].from_a);
    let mut random = plan_of(port(100, 50));
    edit_line(&mut random, |line| line.loss = Fraction::from_percent(50));
    let mut failing = plan_of(port(1000, 500));
    let at = Instant::ZERO + Duration::from_ms(3);
    let until = Instant::ZERO + Duration::from_ms(6);
    let detect = Duration::ZERO;
    failing.failures.push(Failure {
        link: 1,
        down_at: at,
        up_at: Some(until),
        detect,
        ..Failure::default()
    });
    let values = [("target", "500 us"), ("interval", "2 ms"), ("signal", "drop")];
    let codel = MarkSpec::new("codel", &values).expect("a marker");
    for (what, plan) in [
        ("loss", random),
        ("buffer", plan_of(port(10, 5))),
        ("failure", failing),
        ("codel", plan_of(PortSpec { mark: codel, ..port(1000, 0) })),
    ] {
        let mut rig = Rig::new(&plan, &[]);
        for i in 0..200_u64 {
            rig.put([numbered(false, Ecn::Ect0, i as u32)]);
            rig.iterate(ns(i * 60_000));
        }
        rig.run(Instant::ZERO + Duration::from_ms(100));
        let got = rig.got().len();
        assert!((1..200).contains(&got), "{what}: {got}");
        assert_eq!(rig.forwarder.engine.in_transit(), 0, "{what}");
    }
}

#[test]
fn faults_reorder_duplicate_and_corrupt() {
    let run = |faults: &[&str]| {
        let mut rig = Rig::new(&plan_of(port(100, 50)), faults);
        for i in 0..50_u64 {
            rig.put([numbered(false, Ecn::Ect0, i as u32)]);
            rig.iterate(ns(i * 150_000));
        }
        rig.run(Instant::ZERO + Duration::from_ms(100));
        assert_eq!(rig.forwarder.engine.in_transit(), 0);
        rig
    };
    let numbers = |rig: &Rig| rig.got().iter().map(|g| g.0).collect::<Vec<_>>();
    let in_order: Vec<u32> = (0..50).collect();
    assert_eq!(numbers(&run(&[])), in_order);

    let duplicated: Vec<u32> = (0..50).flat_map(|i| [i, i]).collect();
    assert_eq!(numbers(&run(&["duplicate=100%"])), duplicated);

    let rig = run(&["reorder=20%/400us"]);
    let mut got = numbers(&rig);
    let late = got.windows(2).filter(|w| w[1] < w[0]).count();
    assert!((2..20).contains(&late), "{got:?}");
    got.sort_unstable();
    assert_eq!(got, in_order);

    assert!(run(&["ce=100%"]).got().iter().all(|g| g.1 == Ecn::Ce));
    assert!(run(&["bleach=100%"]).got().iter().all(|g| g.1 == Ecn::NotEct));

    let rig = run(&["corrupt=100%"]);
    let corrupted = |bytes: &Vec<u8>| packet::parse(bytes).is_err();
    assert_eq!(rig.devices[1].got.borrow().len(), 50);
    assert!(rig.devices[1].got.borrow().iter().all(corrupted));
}

#[test]
fn packets_without_a_destination_are_counted() {
    let mut rig = Rig::new(&plan_of(port(100, 50)), &[]);
    let to = |dst: &str| {
        let dst: IpAddr = dst.parse().unwrap();
        let addresses = Addresses::between(address(0, dst.is_ipv6()), dst).unwrap();
        let mut out = vec![0; 200];
        let len = packet::emit(&addresses, &Segment::default(), &[], &mut out).unwrap();
        out.truncate(len);
        rig.put([out]);
    };
    for dst in ["10.77.0.9", "ff02::2", "224.0.0.1", "10.77.0.1", "fd78::1"] {
        to(dst);
    }
    rig.put([vec![], vec![0x45; 19], b"garbage".to_vec()]);
    rig.iterate(ns(0));
    let drops = rig.forwarder.engine.ingress_drops();
    assert_eq!(
        (drops.malformed, drops.unknown_destination, drops.multicast, drops.to_self),
        (3, 2, 2, 1)
    );
    assert_eq!(rig.forwarder.engine.in_transit(), 0);
}

#[test]
fn full_and_lost_devices_are_reported() {
    let mut rig = Rig::new(&plan_of(port(100, 50)), &[]);
    rig.devices[1].full.set(true);
    rig.put([numbered(true, Ecn::Ect0, 1)]);
    rig.iterate(ns(0));
    rig.run(ns(1_000_000));
    assert_eq!(rig.forwarder.ports[1].device_drops, 1);
    rig.devices[1].failed.set(true);
    rig.put([numbered(true, Ecn::Ect0, 2)]);
    rig.iterate(ns(2_000_000));
    rig.run(ns(3_000_000));
    assert!(rig.forwarder.ports[1].device_error.is_some());
    assert_eq!(rig.forwarder.no_device_drops, 1);
    let names = ["a".to_owned(), "b".to_owned()];
    let report = rig.forwarder.report(ns(3_000_000), &names, crate::report::ThreadStats::default());
    let warnings = report.warnings().join("; ");
    assert!(warnings.contains("host `b` is gone"), "{warnings}");
    assert!(warnings.contains("did not take 1 packets"), "{warnings}");
    assert_eq!(report.port("switch0->b").unwrap().served.packets, 2);
}

#[test]
fn max_packets_bounds_memory() {
    let mut rig = Rig::new(&plan_of(port(1_000_000, 1_000_000)), &[]);
    for i in 0..1_500 {
        rig.put([numbered(false, Ecn::Ect0, i)]);
    }
    while rig.iterate(ns(0)) > 0 {}
    assert_eq!(
        (rig.forwarder.engine.ingress_drops().no_buffer, rig.forwarder.engine.in_transit()),
        (500, 1000)
    );
}

#[test]
fn queues_are_sampled_at_their_interval() {
    let mut rig = Rig::new(&plan_of(port(100, 50)), &[]);
    rig.put((0..10).map(|i| numbered(false, Ecn::Ect0, i)));
    rig.iterate(ns(0));
    rig.run(ns(1_000_000));
    let samples = rig.forwarder.engine.samples().iter();
    let queue: Vec<u32> = samples.filter(|s| s.queue == 3).map(|s| s.packets).collect();
    // The first packet is on the link; one leaves every 120 us.
    assert_eq!(queue, [9, 8, 7, 6, 5, 5, 4, 3, 2, 1]);
}

/// Random bytes, some with header-like beginnings, cause no panic and no leak.
#[test]
fn arbitrary_bytes_cause_no_panic_and_no_leak() {
    let faults = ["corrupt=50%", "ce=50%", "bleach=10%", "duplicate=10%", "reorder=10%/1ms"];
    let mut rig = Rig::new(&plan_of(port(100, 5)), &faults);
    let mut rng = Seed(11).rng();
    for i in 0..50_000_u64 {
        let len = rng.below(120) as usize;
        let mut packet: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
        if rng.below(4) > 0 {
            let v6 = rng.below(2) == 0;
            let good = numbered(v6, Ecn::Ect0, i as u32);
            let kept = (rng.below(60) as usize).min(len);
            packet[..kept].copy_from_slice(&good[..kept]);
            let bytes = (len as u16).saturating_sub(if v6 { 40 } else { 0 }).to_be_bytes();
            let offset = if v6 { 4 } else { 2 };
            if len > offset + 2 && rng.below(8) > 0 {
                packet[offset..offset + 2].copy_from_slice(&bytes);
            }
        }
        rig.put([packet]);
        rig.iterate(ns(i * 5_000));
    }
    rig.run(Instant::ZERO + Duration::from_secs(10));
    let drops = rig.forwarder.engine.ingress_drops();
    let counters = &rig.forwarder.engine.counters()[1];
    assert!(
        drops.malformed > 5_000 && drops.unknown_destination > 100 && counters.delivered > 5_000
    );
    assert_eq!(rig.forwarder.engine.in_transit(), 0);
}
