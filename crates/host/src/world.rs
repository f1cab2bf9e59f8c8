//! The world of one run: what each event does to it.

use std::sync::Arc;

use lowtide_net::Network;
use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_tcp::{Arrival, CloseReason, ConnId, Event};
use lowtide_units::{Bytes, Instant};
use lowtide_wire::Segment;

use crate::app::{BACKLOG, Handle, Progress, SERVER_PORT, Side};
use crate::error::RunError;
use crate::node::{Node, address, packet};
use crate::outcome::Counts;
use crate::probe::Sampler;
use crate::setup::Setup;
use crate::trace::Tracer;

/// Kinds of events beside [`Network::PORT_KIND`].
const TIMER: u8 = 1;
const FLOW_START: u8 = 2;
const PROBE: u8 = 3;

pub(crate) struct World<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) net: Network,
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Progress>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) sampler: Sampler,
    pub(crate) tracer: Option<Box<Tracer>>,
    pub(crate) counts: Counts,
    warm: Instant,
    pub(crate) end: Instant,
    /// Flows with a size that are neither delivered nor failed.
    unfinished: usize,
    /// All of them are, and the run ends for that.
    done: bool,
}

impl lowtide_sim::World for World<'_> {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        match entity.kind() {
            Network::PORT_KIND => {
                if let Some((host, packet)) = self.net.on_port_event(now, entity.index(), sched) {
                    self.deliver(now, host.0, &packet, sched);
                }
            }
            TIMER => self.timer(now, Side::from_index(entity.index()), sched),
            FLOW_START => self.start_flow(now, entity.index(), sched),
            _ => self.probe(now, sched),
        }
    }

    fn finished(&self) -> bool {
        self.done
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Result<Self, RunError> {
        let settings = setup.hosts.len();
        if setup.network.hosts.len() != settings {
            return Err(RunError::HostCount { network: setup.network.hosts.len(), settings });
        }
        let bad_flow = |f: &lowtide_traffic::Flow| {
            f.src == f.dst || f.src as usize >= settings || f.dst as usize >= settings
        };
        if let Some(flow) = setup.flows.iter().position(bad_flow) {
            return Err(RunError::FlowEnds { flow });
        }
        let disturbance = &setup.disturbance;
        let mut net =
            Network::build(&setup.network, setup.seed, disturbance.host_jitter, setup.warmup)?;
        let endpoint_seed = if disturbance.ports { setup.seed } else { 0 };
        let nodes = setup.hosts.iter().enumerate();
        let nodes =
            nodes.map(|(i, h)| Node::new(i as u32, h.config.clone(), endpoint_seed)).collect();
        let flows: Vec<Progress> = setup
            .flows
            .iter()
            .enumerate()
            .map(|(i, flow)| {
                let mut rng = Seed::derive(setup.seed, "flow", i as u64, "start jitter").rng();
                Progress {
                    flow: *flow,
                    start: flow.start + rng.duration_below(disturbance.start_jitter),
                    established: None,
                    delivered: 0,
                    delivered_in_warmup: 0,
                    delivered_at: None,
                    ports: (0, SERVER_PORT),
                    failed: None,
                }
            })
            .collect();
        let handle = |host| Handle { host, conn: None, armed: Instant::FAR_FUTURE, last: None };
        let handles = setup.flows.iter().flat_map(|f| [handle(f.src), handle(f.dst)]).collect();
        let sampler = Sampler::new(setup, &net);
        let tracer = Tracer::new(setup, &mut net);
        let unfinished = flows.iter().filter(|f| !f.is_over()).count();
        Ok(Self {
            setup,
            net,
            nodes,
            flows,
            handles,
            sampler,
            tracer,
            counts: Counts::default(),
            warm: Instant::ZERO + setup.warmup,
            end: Instant::ZERO + setup.end.at,
            unfinished,
            done: false,
        })
    }

    pub(crate) fn prime(&mut self, sched: &mut Scheduler) {
        for (i, flow) in self.flows.iter().enumerate() {
            sched.at(flow.start, Entity::new(FLOW_START, i as u32));
        }
        if self.setup.probes.interval.is_some() {
            sched.at(Instant::ZERO, Entity::new(PROBE, 0));
        }
    }

    fn start_flow(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let side = Side::client(index);
        let Some(progress) = self.flows.get_mut(index as usize) else { return };
        let (src, dst) = (progress.flow.src, progress.flow.dst);
        let Some(node) = self.nodes.get_mut(src as usize) else { return };
        let config = Arc::clone(&node.config);
        let opened = node.endpoint.connect(now, node.address, 0, address(dst), SERVER_PORT, config);
        let Ok(id) = opened else {
            // Out of ephemeral ports: the flow fails and says so.
            progress.failed = Some(CloseReason::Aborted);
            self.one_is_over();
            return;
        };
        if let Some(conn) = node.endpoint.conn(id) {
            progress.ports.0 = conn.ports().0;
            conn.send(progress.flow.size.map_or(BACKLOG, Bytes::as_u64));
            if progress.flow.size.is_some() {
                conn.close();
            }
        }
        if let Some(handle) = self.handles.get_mut(side.index() as usize) {
            handle.conn = Some(id);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.opened();
        }
        self.serve(now, side, id, sched);
    }

    fn deliver(
        &mut self,
        now: Instant,
        host: u32,
        packet: &lowtide_net::Packet,
        sched: &mut Scheduler,
    ) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        node.note_delivery(now, &packet.segment);
        self.counts.segments += 1;
        let mut segment = packet.segment;
        segment.rx.stamp = Some(Node::stamp(now));
        let hint = self.handles.get(packet.dst_conn as usize).and_then(|h| h.conn);
        let side = Side::from_index(packet.dst_conn);
        let remote = address(packet.src.0);
        if let Some(tracer) = &mut self.tracer {
            tracer.received(now, side, &segment, self.net.watched_packet());
        }
        match node.endpoint.handle_segment(now, node.address, remote, &segment, hint) {
            Arrival::Taken(id, _) => self.serve(now, side, id, sched),
            Arrival::Refused(id, _) => {
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.refused(side);
                }
                self.serve(now, side, id, sched);
            }
            Arrival::Opened(id) => {
                if let Some(handle) = self.handles.get_mut(side.index() as usize) {
                    handle.conn = Some(id);
                }
                self.serve(now, side, id, sched);
            }
            Arrival::Stray | Arrival::TimeWait | Arrival::BacklogFull => {
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.refused(side);
                }
                self.send_replies(now, host, packet, sched);
            }
        }
    }

    /// RST and TIME-WAIT ACKs go back where the packet came from.
    fn send_replies(
        &mut self,
        now: Instant,
        host: u32,
        cause: &lowtide_net::Packet,
        sched: &mut Scheduler,
    ) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        while let Some((_, segment)) = node.endpoint.poll_reply() {
            let reply = packet(host, cause.src.0, segment, cause.dst_conn, cause.src_conn);
            self.net.send(now, reply, sched);
        }
    }

    fn timer(&mut self, now: Instant, side: Side, sched: &mut Scheduler) {
        let Some(handle) = self.handles.get_mut(side.index() as usize) else { return };
        if handle.armed > now {
            // Left over from before an earlier deadline came up.
            return;
        }
        handle.armed = Instant::FAR_FUTURE;
        let Some(id) = handle.conn else { return };
        let Some(node) = self.nodes.get_mut(handle.host as usize) else { return };
        let Some(conn) = node.endpoint.conn(id) else { return };
        if conn.poll_timeout().is_some_and(|at| at <= now) {
            let before = conn.info().counters;
            conn.handle_timeout(now);
            let after = conn.info().counters;
            if after.rto_count > before.rto_count {
                node.note_timeout(now, side.index());
            }
            if let Some(tracer) = &mut self.tracer {
                tracer.timer(side, &before, &after);
            }
            self.serve(now, side, id, sched);
        } else {
            self.rearm(now, side, sched);
        }
    }

    /// Everything that follows a change of a connection: events, transmissions, the timer.
    fn serve(&mut self, now: Instant, side: Side, id: ConnId, sched: &mut Scheduler) {
        let over = self.drain_events(now, side, id);
        self.transmit(now, side, id, sched);
        if self.tracer.is_some() {
            self.look(now, side, id);
        }
        if over {
            self.release(now, side, id);
        } else {
            self.rearm(now, side, sched);
        }
    }

    /// The application's turn. True when the connection can be released.
    fn drain_events(&mut self, now: Instant, side: Side, id: ConnId) -> bool {
        let Some(progress) = self.flows.get_mut(side.flow()) else { return false };
        let Some(handle) = self.handles.get(side.index() as usize) else { return false };
        let Some(conn) = self.nodes.get_mut(handle.host as usize).and_then(|n| n.endpoint.conn(id))
        else {
            return false;
        };
        let was_over = progress.is_over();
        let mut over = false;
        while let Some(event) = conn.poll_event() {
            match event {
                Event::Established if side.is_client() => progress.established = Some(now),
                Event::Readable { upto } if !side.is_client() => {
                    conn.read(upto);
                    progress.delivered = upto;
                    if now < self.warm {
                        progress.delivered_in_warmup = upto;
                    }
                    if progress.flow.size.is_some_and(|s| upto >= s.as_u64()) {
                        progress.delivered_at.get_or_insert(now);
                    }
                }
                // The server has nothing of its own to send.
                Event::PeerClosed => conn.close(),
                Event::Closed(reason) => {
                    over = true;
                    if reason != CloseReason::Normal && progress.delivered_at.is_none() {
                        progress.failed.get_or_insert(reason);
                    }
                }
                Event::Established | Event::Readable { .. } | Event::Writable => {}
            }
        }
        if !was_over && progress.is_over() {
            self.one_is_over();
        }
        over
    }

    fn one_is_over(&mut self) {
        self.unfinished = self.unfinished.saturating_sub(1);
        self.done = self.unfinished == 0 && self.setup.end.when_done;
    }

    fn transmit(&mut self, now: Instant, side: Side, id: ConnId, sched: &mut Scheduler) {
        let Some(handle) = self.handles.get(side.index() as usize) else { return };
        let Some(peer) = self.handles.get(side.peer().index() as usize) else { return };
        let Some(conn) = self.nodes.get_mut(handle.host as usize).and_then(|n| n.endpoint.conn(id))
        else {
            return;
        };
        while let Some(transmit) = conn.poll_transmit(now) {
            let mut left_at = None;
            for i in 0..transmit.segments {
                let segment: Segment = transmit.segment(i);
                let packet =
                    packet(handle.host, peer.host, segment, side.index(), side.peer().index());
                left_at = self.net.send(now, packet, sched).or(left_at);
                if let Some(tracer) = &mut self.tracer {
                    tracer.sent(now, side, &segment, self.net.watched_packet());
                }
            }
            if let Some(at) = left_at {
                conn.on_transmitted(transmit.id, Node::stamp(at));
            }
        }
    }

    /// Shows the connection to the tracer.
    fn look(&mut self, now: Instant, side: Side, id: ConnId) {
        let Some(handle) = self.handles.get(side.index() as usize) else { return };
        let node = self.nodes.get_mut(handle.host as usize);
        let (Some(conn), Some(tracer)) = (node.and_then(|n| n.endpoint.conn(id)), &mut self.tracer)
        else {
            return;
        };
        tracer.look(now, side, conn);
    }

    /// Keeps one pending event per connection; a deadline that moved later costs nothing now.
    fn rearm(&mut self, now: Instant, side: Side, sched: &mut Scheduler) {
        let Some(handle) = self.handles.get_mut(side.index() as usize) else { return };
        let Some(id) = handle.conn else { return };
        let Some(conn) = self.nodes.get_mut(handle.host as usize).and_then(|n| n.endpoint.conn(id))
        else {
            return;
        };
        if let Some(at) = conn.poll_timeout()
            && at < handle.armed
        {
            handle.armed = at.max(now);
            sched.at(handle.armed, Entity::new(TIMER, side.index()));
        }
    }

    fn release(&mut self, now: Instant, side: Side, id: ConnId) {
        let Some(handle) = self.handles.get_mut(side.index() as usize) else { return };
        let Some(node) = self.nodes.get_mut(handle.host as usize) else { return };
        if let Some(conn) = node.endpoint.conn(id) {
            handle.last = Some(conn.info());
        }
        node.endpoint.release(now, id);
        handle.conn = None;
    }

    fn probe(&mut self, now: Instant, sched: &mut Scheduler) {
        let Some(interval) = self.setup.probes.interval else { return };
        for i in 0..self.sampler.flows.len() {
            let Some(&flow) = self.sampler.flows.get(i) else { break };
            let Some(handle) = self.handles.get(Side::client(flow).index() as usize) else {
                continue;
            };
            let Some(id) = handle.conn else { continue };
            if let Some(conn) =
                self.nodes.get_mut(handle.host as usize).and_then(|n| n.endpoint.conn(id))
            {
                self.sampler.sample_sender(now, flow, conn);
            }
        }
        self.sampler.sample_queues(now, &mut self.net);
        // Nothing else pending means that nothing will ever change: sampling must not keep the run
        // alive.
        if !sched.is_empty() && !self.done {
            sched.at(now + interval, Entity::new(PROBE, 0));
        }
    }
}
