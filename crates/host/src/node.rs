//! One host: its address, TCP endpoint, settings, and the digest of its observations.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use lowtide_net::{Delivery, HostId, Packet};
use lowtide_sim::{Digest, Seed};
use lowtide_tcp::{Config, ConnId, Connection, Endpoint};
use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::Segment;

use crate::app::{ConnSide, SERVER_PORT};
use crate::clocks::calibration::Calibration;
use crate::clocks::clock::Clock;
use crate::clocks::timer_tick::TimerTick;
use crate::datapath::aggregate::Aggregator;
use crate::datapath::bucket::{DelayedPacket, Pacer};
use crate::datapath::nic::InterruptCoalescer;
use crate::datapath::stack::DelayLine;
use crate::setup::HostSetup;
use crate::tables::{Row, missing};

/// Event codes in a host's digest.
const DELIVER: u64 = 1;
const TIMEOUT: u64 = 2;

#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Node {
    // A segment touches the first cache line, up to the slots of the endpoint.
    digest: Digest,
    pub(crate) address: IpAddr,
    /// The class of the packets that it sends.
    pub(crate) class: u8,
    // Stages that most hosts do not have take one pointer each.
    /// There is an outgoing stack delay or a bucket.
    pub(crate) delays_output: bool,
    /// Packets pass from the line to TCP without stages, and no one reads a stamp.
    pub(crate) receives_directly: bool,
    /// Packets pass from TCP to the NIC at once, no one reads a stamp, and timers are exact.
    pub(crate) sends_directly: bool,
    /// The global number of the host.
    pub(crate) number: u32,
    pub(crate) endpoint: Endpoint,
    pub(crate) calibration: Calibration,
    /// The ticks of its timers, unless they are exact.
    pub(crate) timer_tick: Option<Box<TimerTick>>,
    pub(crate) coalescer: Option<Box<InterruptCoalescer>>,
    pub(crate) stack_in: Option<Box<DelayLine<Delivery>>>,
    pub(crate) aggregator: Option<Box<Aggregator>>,
    pub(crate) clock: Clock,
    pub(crate) config: Arc<Config>,
    /// TSQ limit: a connection with this much data in the NIC's queue is not asked for more.
    pub(crate) tsq_limit: Option<Bytes>,
    pub(crate) stack_out: Option<Box<DelayLine<DelayedPacket>>>,
    pub(crate) pacer: Option<Box<Pacer>>,
    /// The side of each connection, by [`ConnId`].
    sides: Vec<ConnSide>,
}

impl Row for Node {
    const TABLE: &'static str = "hosts";
    type Key = u32;

    #[inline]
    fn index(host: u32) -> usize {
        host as usize
    }
}

/// Returns connection `id` of a host, which must exist: an arrival has just named it, or the host
/// has just opened it.
#[inline]
#[track_caller]
pub(crate) fn connection(endpoint: &mut Endpoint, id: ConnId) -> &mut Connection {
    let Some(conn) = endpoint.conn(id) else { missing("connections of a host", id.0) };
    conn
}

/// Returns the address of host `index`: 10.0.0.1 and up.
pub(crate) fn address(index: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(0x0a00_0001_u32.wrapping_add(index)))
}

impl Node {
    /// Returns host `index` of a run, with `framing` bytes per packet on its line. `port_seed`
    /// replaces the run seed if ports do not depend on it. Hosts share `config`.
    pub(crate) fn new(
        index: u32,
        setup: &HostSetup,
        config: Arc<Config>,
        framing: u64,
        run_seed: u64,
        port_seed: u64,
    ) -> Self {
        let id = u64::from(index);
        let seed = Seed::derive(port_seed, "host", id, "isn and ports");
        let mut endpoint = Endpoint::new(seed.value());
        // The simulated backlog is unlimited: every SYN of an incast is served.
        let listening = endpoint.listen(SERVER_PORT, Arc::clone(&config), usize::MAX);
        debug_assert!(listening.is_ok(), "a new endpoint has no listener yet");
        let clock = Clock::new(&setup.clock, run_seed, id);
        let nic = &setup.nic;
        let coalesces = nic.moderation > Duration::ZERO;
        let calibration = Calibration::new(&setup.clock);
        // An unused stamp without random draws is skipped.
        let stamps = !clock.is_exact() || !calibration.is_off();
        let timer_tick = TimerTick::new(setup.clock.timer_tick, run_seed, id).map(Box::new);
        let delays_output = !nic.stack.send.is_none() || nic.bucket.is_some();
        let has_stage = coalesces || !nic.stack.receive.is_none() || nic.aggregation.is_some();
        Self {
            endpoint,
            config,
            address: address(index),
            number: index,
            class: setup.class,
            receives_directly: !has_stage && !stamps,
            sends_directly: !delays_output
                && !stamps
                && nic.tsq_limit.is_none()
                && timer_tick.is_none(),
            clock,
            calibration,
            timer_tick,
            delays_output,
            tsq_limit: nic.tsq_limit,
            stack_out: DelayLine::new(nic.stack.send, run_seed, id, "stack out"),
            pacer: nic.bucket.map(|spec| Box::new(Pacer::new(&spec, framing))),
            coalescer: coalesces.then(|| Box::new(InterruptCoalescer::new(nic.moderation))),
            stack_in: DelayLine::new(nic.stack.receive, run_seed, id, "stack in"),
            aggregator: nic.aggregation.map(|spec| Box::new(Aggregator::new(&spec))),
            digest: Digest::default(),
            sides: Vec::new(),
        }
    }

    /// Records that connection `id` is that of `side`.
    pub(crate) fn set_side(&mut self, id: ConnId, side: ConnSide) {
        let index = id.0 as usize;
        if index >= self.sides.len() {
            self.sides.resize(index + 1, side);
        }
        self.sides[index] = side;
    }

    /// Returns the side of connection `id`, which the host has opened or accepted.
    #[track_caller]
    pub(crate) fn side(&self, id: ConnId) -> ConnSide {
        let Some(side) = self.sides.get(id.0 as usize) else {
            missing("connections of a host", id.0)
        };
        *side
    }

    /// Returns true if a segment must be stamped on arrival: an unused stamp without random draws
    /// is skipped.
    #[inline]
    pub(crate) const fn stamps(&self, seg: &Segment) -> bool {
        let free = self.clock.is_exact() && self.calibration.is_off();
        seg.options.experimental().is_some() || !free
    }

    pub(crate) fn note_delivery(&mut self, now: Instant, seg: &Segment) {
        self.digest.update(now.as_ps());
        self.digest.update(u64::from(seg.seq.raw()) << 32 | u64::from(seg.ack.raw()));
        self.digest.update(
            DELIVER << 60
                | u64::from(seg.ecn.bits()) << 48
                | u64::from(seg.flags.bits()) << 32
                | u64::from(seg.payload_len),
        );
    }

    pub(crate) fn note_timeout(&mut self, now: Instant, side: u32) {
        self.digest.update(now.as_ps());
        self.digest.update(TIMEOUT << 60 | u64::from(side));
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.value()
    }
}

/// Returns a packet with `segment`.
#[inline]
pub(crate) fn packet(src: u32, dst: u32, segment: Segment, src_conn: u32, dst_conn: u32) -> Packet {
    Packet {
        segment,
        src: HostId(src),
        dst: HostId(dst),
        size: segment.ipv4_len(),
        src_conn,
        dst_conn,
        class: 0,
    }
}
