//! The world of one run: what each event does to it.

use std::sync::Arc;

use lowtide_net::{HostId, Network, Packet};
use lowtide_sim::{Entity, Scheduler, Seed};
use lowtide_tcp::{CloseReason, ConnId, Event};
use lowtide_units::{Bytes, Instant};

use crate::app::{BACKLOG, Handle, Progress, SERVER_PORT, Side};
use crate::delays::Delays;
use crate::error::RunError;
use crate::node::{Node, address};
use crate::outcome::Counts;
use crate::probe::Sampler;
use crate::setup::Setup;
use crate::signals::Signals;
use crate::trace::Tracer;
use crate::writer::Writer;

/// Kinds of events beside [`Network::PORT_KIND`] and [`Network::LINK_KIND`].
const TIMER: u8 = 1;
const FLOW_START: u8 = 2;
const PROBE: u8 = 3;
const WRITE: u8 = 4;
/// A host's burst control lets packets go.
pub(crate) const SEND: u8 = 5;
/// A host's NIC interrupts.
pub(crate) const INTERRUPT: u8 = 6;
/// A host's aggregates have waited long enough.
pub(crate) const FLUSH: u8 = 7;

pub(crate) struct World<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) net: Network,
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Progress>,
    pub(crate) handles: Vec<Handle>,
    /// By flow; empty when every flow is written at once.
    writers: Vec<Option<Box<Writer>>>,
    pub(crate) sampler: Sampler,
    pub(crate) delays: Delays,
    pub(crate) tracer: Option<Box<Tracer>>,
    pub(crate) counts: Counts,
    /// Packets on their way to TCP; empty between events.
    pub(crate) ready: Vec<Packet>,
    pub(crate) warm: Instant,
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
                if let Some(mut delivery) = self.net.on_port_event(now, entity.index(), sched) {
                    self.deliver(now, &mut delivery, sched);
                }
            }
            Network::LINK_KIND => self.net.on_link_event(now, entity.index()),
            TIMER => self.timer(now, Side::from_index(entity.index()), sched),
            FLOW_START => self.start_flow(now, entity.index(), sched),
            WRITE => self.write(now, entity.index(), sched),
            SEND => self.send_paced(now, entity.index(), sched),
            INTERRUPT => self.interrupt(now, entity.index(), sched),
            FLUSH => self.flush(now, entity.index(), sched),
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
        let node = |(h, i)| Node::new(i, h, net.framing(HostId(i)), setup.seed, endpoint_seed);
        let nodes = setup.hosts.iter().zip(0_u32..).map(node).collect();
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
                    signals: Signals::default(),
                }
            })
            .collect();
        let writers = flows.iter().zip(0..);
        let mut writers: Vec<_> =
            writers.map(|(f, id)| Writer::new(&f.flow, f.start, setup.seed, id)).collect();
        if writers.iter().all(Option::is_none) {
            writers.clear();
        }
        let handle = |host| Handle { host, conn: None, armed: Instant::FAR_FUTURE, last: None };
        let handles = setup.flows.iter().flat_map(|f| [handle(f.src), handle(f.dst)]).collect();
        let sampler = Sampler::new(setup, &net);
        let delays = Delays::new(setup.probes.delays, &sampler.flows);
        if setup.probes.delays {
            net.measure_waits();
        }
        let tracer = Tracer::new(setup, &mut net);
        let unfinished = flows.iter().filter(|f| !f.is_over()).count();
        Ok(Self {
            setup,
            net,
            nodes,
            flows,
            handles,
            writers,
            sampler,
            delays,
            tracer,
            counts: Counts::default(),
            ready: Vec::new(),
            warm: Instant::ZERO + setup.warmup,
            end: Instant::ZERO + setup.end.at,
            unfinished,
            done: false,
        })
    }

    pub(crate) fn prime(&mut self, sched: &mut Scheduler) {
        self.net.prime(sched);
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
            if let Some(Some(writer)) = self.writers.get_mut(index as usize) {
                if let Some(next) = writer.write(now, conn) {
                    sched.at(next, Entity::new(WRITE, index));
                }
            } else {
                conn.send(progress.flow.size.map_or(BACKLOG, Bytes::as_u64));
                if progress.flow.size.is_some() {
                    conn.close();
                }
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

    /// The application of a flow writes more.
    fn write(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let side = Side::client(index);
        let Some(handle) = self.handles.get(side.index() as usize) else { return };
        let Some(id) = handle.conn else { return };
        let Some(Some(writer)) = self.writers.get_mut(index as usize) else { return };
        let Some(node) = self.nodes.get_mut(handle.host as usize) else { return };
        let Some(conn) = node.endpoint.conn(id) else { return };
        if let Some(next) = writer.write(now, conn) {
            sched.at(next, Entity::new(WRITE, index));
        }
        self.serve(now, side, id, sched);
    }

    /// A writer that waits for acknowledgements may have got them.
    fn resume_writer(&mut self, now: Instant, side: Side, id: ConnId, sched: &mut Scheduler) {
        if !side.is_client() {
            return;
        }
        let Some(Some(writer)) = self.writers.get_mut(side.flow()) else { return };
        let Some(handle) = self.handles.get(side.index() as usize) else { return };
        let Some(node) = self.nodes.get_mut(handle.host as usize) else { return };
        let Some(conn) = node.endpoint.conn(id) else { return };
        if let Some(next) = writer.acknowledged(now, conn) {
            sched.at(next, Entity::new(WRITE, side.flow() as u32));
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
            let before = conn.rto_count();
            let counters = self.tracer.is_some().then(|| conn.info().counters);
            conn.handle_timeout(now);
            let timed_out = conn.rto_count() > before;
            if let Some((tracer, counters)) = self.tracer.as_mut().zip(counters) {
                tracer.timer(side, &counters, &conn.info().counters);
            }
            if timed_out {
                node.note_timeout(now, side.index());
            }
            self.serve(now, side, id, sched);
        } else {
            self.rearm(now, side, sched);
        }
    }

    /// Everything that follows a change of a connection: events, transmissions, the timer.
    pub(crate) fn serve(&mut self, now: Instant, side: Side, id: ConnId, sched: &mut Scheduler) {
        let over = self.drain_events(now, side, id);
        if !self.writers.is_empty() {
            self.resume_writer(now, side, id, sched);
        }
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
