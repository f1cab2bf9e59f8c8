//! The world of one run: dispatch of events.

use std::sync::Arc;

use lowtide_net::{HostId, Network, Packet};
use lowtide_rows::RunCounts;
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{ConnId, Connection, Counters, Transmit};
use lowtide_units::Instant;

use crate::app::{ConnHandle, ConnProgress, ConnSide, OpenConn, ReceiverCounters, SERVER_PORT};
use crate::applications::query_clients::QueryClients;
use crate::applications::ranks::Collectives;
use crate::applications::writer::Writer;
use crate::error::RunError;
use crate::node::{Node, address, connection};
use crate::results::delay_comparison::DelayComparison;
use crate::results::probe::Sampler;
use crate::results::sender_summary::SenderSummary;
use crate::results::trace::Tracer;
use crate::setup::{HostSetup, Setup};
use crate::sharding::shard::Shard;
use crate::tables::Table;

/// Event kinds in addition to [`Network::PORT_KIND`] and [`Network::LINK_KIND`].
pub(crate) const TIMER: u8 = 1;
pub(crate) const FLOW_START: u8 = 2;
pub(crate) const PROBE: u8 = 3;
pub(crate) const WRITE: u8 = 4;
/// A host's burst control releases packets.
pub(crate) const SEND: u8 = 5;
/// A host's NIC interrupts.
pub(crate) const INTERRUPT: u8 = 6;
/// A host's aggregates expire.
pub(crate) const FLUSH: u8 = 7;
/// A query client acts.
pub(crate) const QUERY_CLIENT: u8 = 8;
/// Outgoing packets leave a host's stack.
pub(crate) const STACK_OUT: u8 = 9;
/// Incoming packets leave a host's stack.
pub(crate) const STACK_IN: u8 = 10;
/// A rank of a collective acts.
pub(crate) const COLLECTIVE: u8 = 11;

pub(crate) struct World<'a> {
    pub(crate) setup: &'a Setup,
    pub(crate) net: Network,
    pub(crate) nodes: Vec<Node>,
    /// Connections by number: flows, then query connections.
    pub(crate) flows: Vec<ConnProgress>,
    /// Their sides.
    pub(crate) handles: Vec<ConnHandle>,
    pub(crate) query_clients: QueryClients,
    pub(crate) collectives: Collectives,
    /// By flow; empty if every flow is written at once.
    pub(crate) writers: Vec<Option<Box<Writer>>>,
    pub(crate) sampler: Sampler,
    pub(crate) delays: DelayComparison,
    pub(crate) tracer: Option<Box<Tracer>>,
    pub(crate) counts: RunCounts,
    /// Packets to pass to TCP; empty between events.
    pub(crate) ready: Vec<Packet>,
    /// The current transmission of a connection.
    pub(crate) outgoing: Transmit,
    pub(crate) warmup_end: Instant,
    pub(crate) end: Instant,
    /// Awaited flows that are unfinished, and query clients with awaited queries left.
    pub(crate) unfinished: usize,
    /// Everything is finished, and the run ends for that reason.
    pub(crate) done: bool,
    /// The shard state, if the run is split.
    pub(crate) shard: Option<Box<Shard>>,
}

impl lowtide_sim::World for World<'_> {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        if entity.kind() != Network::PORT_KIND {
            return self.handle_other(now, entity, sched);
        }
        if let Some(arrived) = self.net.on_arrival(now, entity.index(), sched) {
            self.deliver(now, arrived, sched);
        }
    }

    fn wants_prefetch(&self) -> bool {
        self.net.wants_prefetch()
    }

    fn prefetch(&self, coming: impl Iterator<Item = Entity>) {
        let ports = coming.filter(|e| e.kind() == Network::PORT_KIND).map(Entity::index);
        self.net.prefetch(ports);
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
            return Err(RunError::FlowHosts { flow });
        }
        let disturbance = &setup.disturbance;
        let salts = if disturbance.salts { setup.seed } else { 0 };
        let (plan, jitter) = (&setup.network, disturbance.host_jitter);
        let mut net = Network::build_salted(plan, setup.seed, salts, jitter, setup.warmup)?;
        let endpoint_seed = if disturbance.ports { setup.seed } else { 0 };
        let mut config = Arc::new(lowtide_tcp::Config::default());
        let node = |(h, i): (&HostSetup, _)| {
            // Equal configurations are shared, so that they stay in the cache.
            if *config != h.config {
                config = Arc::new(h.config.clone());
            }
            let framing = net.framing(HostId(i));
            Node::new(i, h, Arc::clone(&config), framing, setup.seed, endpoint_seed)
        };
        let nodes = setup.hosts.iter().zip(0_u32..).map(node).collect();
        let flow = |(flow, id): (&lowtide_traffic::Flow, u32)| {
            let start = setup.flow_start(id).expect("the flow is in the setup");
            ConnProgress { start, ..ConnProgress::new(flow.group, flow.src, flow.dst, flow.size) }
        };
        let mut flows: Vec<ConnProgress> = setup.flows.iter().zip(0..).map(flow).collect();
        let writers = flows.iter().zip(&setup.flows).zip(0..);
        let writer = |((p, flow), id): ((&ConnProgress, _), _)| {
            Writer::new(flow, p.start, setup.opens_early(p.group), setup.seed, id)
        };
        let mut writers: Vec<_> = writers.map(writer).collect();
        if writers.iter().all(Option::is_none) {
            writers = Vec::new();
        }
        let query_clients = QueryClients::new(setup, &mut flows)?;
        let mut counts = vec![0; setup.traffic_groups.len()];
        for (progress, number) in flows.iter_mut().zip(0..) {
            (progress.number, progress.peer_index) = (number, number);
            if let Some(count) = counts.get_mut(usize::from(progress.group)) {
                progress.ordinal = *count;
                *count += 1;
            }
            // Groups beyond the end of the list have no class.
            progress.class =
                setup.traffic_classes.get(usize::from(progress.group)).copied().flatten();
        }
        let sides = flows.iter().flat_map(|p| [p.client, p.server]);
        let handles = sides.map(ConnHandle::at).collect();
        let sampler = Sampler::new(&setup.probes, &flows, &net);
        let delays = DelayComparison::new(setup.probes.delays, &sampler.senders);
        if setup.probes.delays {
            net.measure_queueing();
        }
        let tracer = Tracer::new(&setup.probes.trace, &flows, &mut net);
        let awaited = flows.iter().filter(|f| f.is_awaited(setup) && !f.is_over());
        let unfinished = awaited.count() + query_clients.busy();
        let open_loop = setup.counting.open_loop.filter(|_| setup.end.when_done && unfinished == 0);
        // Without a counted flow there is nothing to wait for.
        let end = open_loop.map_or(setup.end.at, |open| open.counted_until.min(setup.end.at));
        Ok(Self {
            setup,
            net,
            nodes,
            flows,
            handles,
            query_clients,
            collectives: Collectives::new(setup),
            writers,
            sampler,
            delays,
            tracer,
            counts: RunCounts::default(),
            ready: Vec::new(),
            outgoing: Transmit::default(),
            warmup_end: Instant::ZERO + setup.warmup,
            end: Instant::ZERO + end,
            unfinished,
            done: false,
            shard: None,
        })
    }

    /// Handles an event other than a port event.
    #[inline(never)]
    fn handle_other(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        match entity.kind() {
            Network::LINK_KIND => self.net.on_link_event(now, entity.index()),
            TIMER => self.timer(now, ConnSide::from_index(entity.index()), sched),
            FLOW_START => self.start_flow(now, self.local_flow(entity.index()), sched),
            WRITE => self.write(now, self.local_flow(entity.index()), sched),
            SEND => self.send_paced(now, self.local_host(entity.index()), sched),
            INTERRUPT => self.interrupt(now, self.local_host(entity.index()), sched),
            FLUSH => self.flush(now, self.local_host(entity.index()), sched),
            QUERY_CLIENT => self.run_query_client(now, entity.index(), sched),
            COLLECTIVE => self.run_rank(now, entity.index(), sched),
            STACK_OUT => self.on_stack_out(now, self.local_host(entity.index()), sched),
            STACK_IN => self.on_stack_in(now, self.local_host(entity.index()), sched),
            PROBE => self.probe(now, sched),
            kind => unreachable!("no event has kind {kind}"),
        }
    }

    pub(crate) fn prime(&mut self, sched: &mut Scheduler) {
        self.net.prime(sched);
        for (flow, i) in self.flows.iter().zip(0..).filter(|(f, _)| !f.server_sends) {
            sched.at(self.opening(flow), Entity::new(FLOW_START, i));
        }
        for (at, i) in self.query_clients.first_actions(self.setup, &self.flows).zip(0..) {
            sched.at(at, Entity::new(QUERY_CLIENT, i));
        }
        for ((at, _), i) in self.collectives.first_events(self.setup).zip(0..) {
            sched.at(at, Entity::new(COLLECTIVE, i));
        }
        if self.setup.probes.interval.is_some() {
            sched.at(Instant::ZERO, Entity::new(PROBE, 0));
        }
    }

    /// Returns the time at which the connection of a flow opens.
    pub(crate) fn opening(&self, flow: &ConnProgress) -> Instant {
        self.setup.opening(flow.group, flow.ordinal, flow.start)
    }

    /// Opens the client side of a connection; `None` without a free port.
    pub(crate) fn open(&mut self, now: Instant, side: ConnSide) -> Option<ConnId> {
        let progress = self.flows.row_mut(side.flow());
        let handle = self.handles.row_mut(side);
        let node = self.nodes.row_mut(handle.host);
        let (config, remote) = (Arc::clone(&node.config), address(progress.server));
        let opened = node.endpoint.connect(now, node.address, 0, remote, SERVER_PORT, config);
        let id = opened.ok()?;
        let conn = connection(&mut node.endpoint, id);
        progress.ports.0 = conn.ports().0;
        conn.set_cc_seed(self.setup.control_seed(
            progress.group,
            progress.ordinal,
            side.is_client(),
        ));
        handle.conn = OpenConn::new(id);
        node.set_side(id, side);
        if let Some(tracer) = &mut self.tracer {
            tracer.opened();
        }
        Some(id)
    }

    /// Returns a connection of the host of that side, which must exist ([`connection`]).
    #[track_caller]
    pub(crate) fn conn(&mut self, side: ConnSide, id: ConnId) -> &mut Connection {
        let host = self.handles.row(side).host;
        connection(&mut self.nodes.row_mut(host).endpoint, id)
    }

    /// Returns the connection of that side; `None` before it opens, after it ends, and in a shard
    /// that does not have it. A later connection with the same four-tuple may have ended it.
    pub(crate) fn open_conn(&mut self, side: ConnSide) -> Option<(ConnId, &mut Connection)> {
        let handle = self.handles.row(side);
        let id = handle.conn.id()?;
        Some((id, self.nodes.row_mut(handle.host).endpoint.conn(id)?))
    }

    /// Returns the current counters of a connection side, or those at release; `None` for a
    /// released receiver of a flow.
    pub(crate) fn counters(&mut self, side: ConnSide) -> Option<Counters> {
        let handle = self.handles.row(side);
        if handle.conn == OpenConn::NONE {
            return handle.last.as_deref().map(|last| last.counters().0);
        }
        self.open_conn(side).map(|(_, conn)| *conn.counters())
    }

    /// Returns the current state of a sender, or its state at release, which it then frees.
    pub(crate) fn take_sender(&mut self, side: ConnSide) -> Option<SenderSummary> {
        let handle = self.handles.row_mut(side);
        if handle.conn == OpenConn::NONE {
            return handle.last.take().map(|last| *last);
        }
        self.open_conn(side).map(|(_, conn)| SenderSummary::from(&conn.info()))
    }

    #[inline(never)]
    fn timer(&mut self, now: Instant, numbered: ConnSide, sched: &mut Scheduler) {
        let side = numbered.with_flow(self.local_flow(numbered.flow() as u32));
        let handle = self.handles.row_mut(side);
        if handle.armed > now {
            // Stale: an earlier deadline was scheduled later.
            return;
        }
        handle.armed = Instant::FAR_FUTURE;
        // The connection may have ended since it set the timer, perhaps by a later one with the
        // same four-tuple.
        let Some(id) = handle.conn.id() else { return };
        let node = self.nodes.row_mut(handle.host);
        let Some(conn) = node.endpoint.conn(id) else { return };
        let due = match &node.timer_tick {
            None => conn.poll_timeout().is_some_and(|at| at <= now),
            Some(tick) => tick.is_due(now, conn),
        };
        if due {
            let before = conn.rto_count();
            let seen = self.tracer.is_some().then(|| conn.info());
            conn.handle_timeout(now);
            let timed_out = conn.rto_count() > before;
            if let Some((tracer, seen)) = self.tracer.as_mut().zip(seen) {
                tracer.timer(&seen, &conn.info());
            }
            if timed_out {
                node.note_timeout(now, numbered.index());
            }
            self.drive_conn(now, side, id, sched);
        } else if node.timer_tick.is_some() {
            // Not a timer tick, so pacing.
            self.drive_conn(now, side, id, sched);
        } else if let Some(at) = conn.poll_timeout() {
            // The deadline has moved.
            handle.armed = at.max(now);
            sched.at(handle.armed, Entity::new(TIMER, numbered.index()));
        }
    }

    /// Records that the flow of this side, or a query client, has nothing left to wait for.
    pub(crate) fn on_completed(&mut self, side: Option<ConnSide>) {
        if side.is_some_and(|side| !self.flows.row(side.flow()).is_awaited(self.setup)) {
            return;
        }
        if self.shard.is_some() {
            return self.on_shard_completed(side);
        }
        self.unfinished = self.unfinished.saturating_sub(1);
        self.done = self.unfinished == 0 && self.setup.end.when_done;
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn release(&mut self, now: Instant, side: ConnSide, id: ConnId) {
        let handle = self.handles.row_mut(side);
        let node = self.nodes.row_mut(handle.host);
        let progress = self.flows.row_mut(side.flow());
        let info = connection(&mut node.endpoint, id).info();
        // A query counts the cost of both ends of its connections.
        if progress.sends(side) || progress.server_sends {
            handle.last = Some(Box::new(SenderSummary::from(&info)));
        }
        if !progress.sends(side) {
            progress.received = Some(ReceiverCounters::from(&info));
        }
        node.endpoint.release(now, id);
        handle.conn = OpenConn::NONE;
        handle.tsq = None;
    }

    #[cold]
    #[inline(never)]
    fn probe(&mut self, now: Instant, sched: &mut Scheduler) {
        let interval = self.setup.probes.interval.expect("only a run with an interval is sampled");
        for i in 0..self.sampler.senders.len() {
            let side = self.sampler.senders[i];
            // Only open connections are sampled.
            let handle = self.handles.row(side);
            let Some(id) = handle.conn.id() else { continue };
            if let Some(conn) = self.nodes.row_mut(handle.host).endpoint.conn(id) {
                self.sampler.sample_sender(now, side.flow() as u32, conn);
            }
        }
        self.sampler.sample_queues(now, &mut self.net);
        // If nothing else is pending, nothing will change: sampling must not keep the run alive.
        if !sched.is_empty() && !self.done {
            sched.at(now + interval, Entity::new(PROBE, 0));
        }
    }
}
