//! A world that consists only of a network: sends at given times, and a list of deliveries.

use lowtide_net::topology::HostLine;
use lowtide_net::topology::star::{Star, star};
use lowtide_net::{Blueprint, Delivery, Framing, HostId, MarkSpec, Network, Packet, PortSpec};
use lowtide_rows::Queue;
use lowtide_sim::{Entity, Scheduler, Seed, Stop, World, run};
use lowtide_units::{Bytes, Duration, Instant, Rate};
use lowtide_wire::{Ecn, Segment, SeqNum};

const SEND_KIND: u8 = 1;

pub(crate) struct Rig {
    pub(crate) net: Network,
    sends: Vec<Packet>,
    /// Return values of `send`, by number of the send.
    pub(crate) left: Vec<Option<Instant>>,
    pub(crate) delivered: Vec<(Instant, HostId, Packet)>,
    /// Number of events handled.
    pub(crate) events: u64,
}

/// Returns a valid marker with these parameters.
#[track_caller]
pub(crate) fn marker(name: &str, params: &[(&str, &str)]) -> MarkSpec {
    MarkSpec::new(name, params).unwrap_or_else(|error| panic!("{name}: {error}"))
}

impl World for Rig {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        let index = entity.index();
        if entity.kind() == SEND_KIND {
            let packet = self.sends[index as usize];
            let predicted = self.net.departure_time(now, packet.src, packet.size);
            let left = self.net.send(now, &packet, sched);
            assert!(left.is_none() || left == predicted, "{left:?}, not {predicted:?}");
            self.left[index as usize] = left;
        } else if entity.kind() == Network::LINK_KIND {
            self.net.on_link_event(now, index);
        } else {
            assert_eq!(entity.kind(), Network::PORT_KIND);
            if let Some(Delivery { host, packet, arrived_at: came, .. }) =
                self.net.on_port_event(now, index, sched)
            {
                assert!(came <= now, "no packet is early");
                self.delivered.push((now, host, packet));
            }
        }
    }
    fn finished(&self) -> bool {
        false
    }
}

impl Rig {
    /// Runs `net` with these sends until `until`, or until it is idle.
    pub(crate) fn run(net: Network, sends: &[(Instant, Packet)], until: Instant) -> Self {
        let mut sched = Scheduler::new(Seed(1));
        net.prime(&mut sched);
        for (&(at, _), i) in sends.iter().zip(0..) {
            sched.at(at, Entity::new(SEND_KIND, i));
        }
        let left = vec![None; sends.len()];
        let sends = sends.iter().map(|s| s.1).collect();
        let mut rig = Self { net, sends, left, delivered: Vec::new(), events: 0 };
        let stop = run(&mut rig, &mut sched, until, &mut |_| false);
        rig.events = sched.events();
        rig.net.finish(if stop == Stop::Idle { sched.now() } else { until });
        if stop == Stop::Idle {
            assert_eq!(rig.net.in_flight(), 0, "packets disappeared");
        }
        rig
    }
    /// Runs without jitter and warm-up.
    pub(crate) fn quiet(plan: &Blueprint, sends: &[(Instant, Packet)]) -> Self {
        Self::run(build(plan), sends, Instant::FAR_FUTURE)
    }
    /// Returns the counters of a port, without its name and rate.
    pub(crate) fn stats(&self, port: usize) -> Queue {
        let queue = self.net.ports().nth(port).expect("port exists");
        Queue { name: String::new(), at_switch: false, rate_bps: 0, ..queue }
    }
    /// Returns the statistics of the port with that name.
    pub(crate) fn port(&self, name: &str) -> Queue {
        self.net.ports().find(|p| p.name == name).expect("port exists")
    }
    /// Returns the sequence numbers of the deliveries, in order.
    pub(crate) fn seqs(&self) -> Vec<u32> {
        self.delivered.iter().map(|d| d.2.segment.seq.raw()).collect()
    }
    /// Returns the times of the deliveries.
    pub(crate) fn times(&self) -> Vec<u64> {
        self.delivered.iter().map(|d| d.0.as_ps()).collect()
    }
    /// Returns the sequence numbers of the delivered packets with CE.
    pub(crate) fn marked(&self) -> Vec<u32> {
        let ce = |d: &&(Instant, HostId, Packet)| d.2.segment.ecn == Ecn::Ce;
        self.delivered.iter().filter(ce).map(|d| d.2.segment.seq.raw()).collect()
    }
}

pub(crate) fn build(plan: &Blueprint) -> Network {
    Network::build(plan, 0, Duration::ZERO, Duration::ZERO).expect("plan is sound")
}

/// Returns an ECT(0) packet number `seq`.
pub(crate) fn packet(src: u32, dst: u32, size: u32, seq: u32) -> Packet {
    let segment = Segment { seq: SeqNum::new(seq), ecn: Ecn::Ect0, ..Segment::default() };
    Packet {
        segment,
        src: HostId(src),
        dst: HostId(dst),
        size,
        src_conn: seq,
        dst_conn: !seq,
        class: 0,
    }
}

pub(crate) fn ps(ps: u64) -> Instant {
    Instant::from_ps(ps)
}

pub(crate) fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

pub(crate) fn host(name: &str, gbps: u64, delay: Duration) -> HostLine {
    HostLine { name: name.to_string(), rate: Rate::from_gbps(gbps), delay }
}

/// Host 0 at 8 Tbit/s (one byte per ps) to host 1 at 8 Gbit/s (one byte per ns), no delay, no
/// framing. The port towards host 1 is [`OUT`].
pub(crate) fn funnel(port: PortSpec) -> Blueprint {
    let hosts = vec![host("fast", 8_000, Duration::ZERO), host("slow", 8, Duration::ZERO)];
    star(&Star { hosts, framing: Framing::Ip, port })
}

/// The bottleneck of a [`funnel`].
pub(crate) const OUT: usize = 3;

/// Host 0 at 8 Tbit/s to `receivers` hosts, 1 and up, at 8 Gbit/s, 1 ns away, no framing. The port
/// of the switch towards host `i` is `2 i + 1`; its ports share `memory` bytes.
pub(crate) fn fan(receivers: u32, port: PortSpec, memory: Option<u64>) -> Blueprint {
    let mut hosts = vec![host("fast", 8_000, Duration::ZERO)];
    hosts.extend((0..receivers).map(|i| host(&format!("slow{i}"), 8, Duration::from_ns(1))));
    let mut plan = star(&Star { hosts, framing: Framing::Ip, port });
    plan.switches[0].memory = memory.map(Bytes::new);
    plan
}
