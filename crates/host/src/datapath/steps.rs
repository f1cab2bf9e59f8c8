//! The path of a packet through its host: from TCP to the line and back. [`super::nic`] describes
//! the stages.

use std::hint::cold_path;
use std::mem;

use lowtide_net::{ArrivedPacket, Delivery, HostId, Network, Packet};
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{Arrival, ConnId};
use lowtide_units::{HostStamp, Instant};

use super::bucket::DelayedPacket;
use super::drive::{envelope, rearm};
use super::nic::InterruptCoalescer;
use super::transmit::{Stamper, enqueue_delayed, line_time, send};
use crate::app::{ConnSide, OpenConn};
use crate::applications::transfer::{FlowChange, poll_flow};
use crate::clocks::clock::RxTimes;
use crate::node::{Node, address, connection, packet};
use crate::results::ecn_counters::CountSegments as _;
use crate::tables::Table;
use crate::world::{FLUSH, INTERRUPT, SEND, STACK_IN, STACK_OUT, World};

/// Segments that a connection may send at once. The congestion window usually permits fewer.
const MAX_BURST: u32 = 1 << 10;

impl World<'_> {
    /// Releases packets from burst control.
    #[inline(never)]
    pub(crate) fn send_paced(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        loop {
            let node = self.nodes.row_mut(host);
            let pacer = node.pacer.as_mut().expect("only burst control schedules a send");
            let Some(waiting) = pacer.pop(now) else {
                if let Some(next) = pacer.next(now) {
                    sched.at(next, Entity::new(SEND, node.number));
                }
                return;
            };
            self.pass_to_nic(now, host, waiting, sched);
        }
    }

    /// Takes outgoing packets of a host from its stack.
    pub(crate) fn on_stack_out(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        loop {
            let node = self.nodes.row_mut(host);
            let delay_line = node.stack_out.as_mut().expect("only a stack schedules its exits");
            let Some(waiting) = delay_line.pop(now) else {
                if let Some(next) = delay_line.next_exit() {
                    sched.at(next, Entity::new(STACK_OUT, node.number));
                }
                return;
            };
            self.pass_to_pacer(now, host, waiting, sched);
        }
    }

    /// Passes a packet from the stack to burst control.
    pub(crate) fn pass_to_pacer(
        &mut self,
        now: Instant,
        host: u32,
        waiting: DelayedPacket,
        sched: &mut Scheduler,
    ) {
        let node = self.nodes.row_mut(host);
        if node.pacer.is_none() {
            self.pass_to_nic(now, host, waiting, sched);
        } else {
            let pacer = &mut node.pacer;
            enqueue_delayed(now, node.number, &mut None, pacer, waiting, true, sched);
        }
    }

    /// Passes a delayed packet to the NIC.
    fn pass_to_nic(
        &mut self,
        now: Instant,
        host: u32,
        waiting: DelayedPacket,
        sched: &mut Scheduler,
    ) {
        let DelayedPacket { packet, made, completes: ends } = waiting;
        let node = self.nodes.row_mut(host);
        let stamper = Stamper { clock: &mut node.clock, calibration: &mut node.calibration };
        let envelope = packet.envelope();
        let stamp = send(&mut self.net, stamper, made, now, &packet.segment, envelope, sched);
        if let Some(tracer) = &mut self.tracer {
            let side = ConnSide::from_index(packet.src_conn);
            tracer.sent(now, side, &packet.segment, self.net.last_trace_id());
        }
        let conn = self.handles.row(ConnSide::from_index(packet.src_conn)).conn.id();
        // The connection may have ended since it sent the packet.
        if let Some(((stamp, id), conn)) = stamp.zip(ends).zip(conn)
            && let Some(conn) = node.endpoint.conn(conn)
        {
            conn.on_transmitted(id, stamp);
        }
    }

    /// Handles a packet that arrived from the line. Host, connection and driver state are looked up
    /// once. The steps after TCP are those of [`Self::drive_conn`] that every host and flow has.
    #[inline(never)]
    pub(crate) fn deliver(&mut self, now: Instant, arrived: ArrivedPacket, sched: &mut Scheduler) {
        let HostId(host) = arrived.host;
        let node = self.nodes.row_mut(host);
        let packet = self.net.arrived_packet(&arrived);
        let segment = &packet.segment;
        node.note_delivery(now, segment);
        let side = ConnSide::from_index(packet.dst_conn);
        let progress = self.flows.row_mut(side.flow());
        if now >= self.warmup_end {
            let sends = progress.sends(side);
            let signals = &mut progress.ecn_counters;
            if sends { signals.on_ack_received(segment) } else { signals.on_data_received(segment) }
        }
        let observed = self.tracer.is_some() || self.delays.is_enabled();
        if !node.receives_directly || segment.options.experimental().is_some() || observed {
            cold_path();
            return self.receive_slow(now, arrived, sched);
        }
        self.counts.segments += 1;
        let handle = self.handles.row_mut(side);
        let remote = address(packet.src.0);
        let steered = handle.conn.id().and_then(|id| {
            let conn = node.endpoint.steered(id, remote, segment)?;
            Some((id, conn))
        });
        let Some((id, conn)) = steered else {
            cold_path();
            let packet = self.net.take(arrived).packet;
            let node = self.nodes.row_mut(host);
            let arrival = on_segment(now, node, &packet, None);
            return self.handle_arrival(now, host, &packet, arrival, sched);
        };
        let result = conn.handle_segment(now, segment);
        if let Err(error) = result {
            cold_path();
            let packet = self.net.take(arrived).packet;
            let refused = Arrival::Refused(id, error);
            return self.handle_arrival(now, host, &packet, refused, sched);
        }
        self.net.release(arrived);
        if !node.sends_directly || progress.server_sends || !self.writers.is_empty() {
            cold_path();
            return self.drive_conn(now, side, id, sched);
        }
        let mut change = FlowChange::default();
        if conn.has_events() {
            change = poll_flow(now, side, self.warmup_end, conn, progress);
        }
        let counts = progress.sends(side) && now >= self.warmup_end;
        let outgoing = &mut self.outgoing;
        while conn.poll_transmit_into(now, MAX_BURST, outgoing) {
            outgoing.header.rx.delack_timeout = Some(outgoing.delack_timeout);
            let mut rest = outgoing.cut_first();
            loop {
                let segment = &outgoing.header;
                if counts {
                    progress.ecn_counters.on_data_sent(segment);
                }
                let envelope = envelope(side, progress, node.number, node.class, segment);
                self.net.send_segment(now, segment, envelope, sched);
                if !outgoing.cut_next(&mut rest) {
                    break;
                }
            }
        }
        if !change.closed {
            rearm(now, side.with_flow(progress.number), handle, None, conn, sched);
        }
        if change.completed || change.closed {
            cold_path();
            self.on_flow_change(now, side, id, change);
        }
    }

    /// Passes a packet through the stages between line and TCP.
    #[inline(never)]
    fn receive_slow(&mut self, now: Instant, arrived: ArrivedPacket, sched: &mut Scheduler) {
        let mut delivery = self.net.take(arrived);
        let HostId(host) = delivery.host;
        let node = self.nodes.row_mut(host);
        if let Some(coalescer) = &mut node.coalescer {
            if let Some(at) = coalescer.push(now, delivery) {
                sched.at(at, Entity::new(INTERRUPT, node.number));
            }
            return;
        }
        self.receive_from_nic(now, &mut delivery, sched);
    }

    /// Handles an interrupt of a host's NIC, with all packets that have arrived.
    #[inline(never)]
    pub(crate) fn interrupt(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        let coalescer = self.coalescer(host);
        let mut batch = mem::take(coalescer.batch(now));
        for delivery in &mut batch {
            self.receive_from_nic(now, delivery, sched);
        }
        batch.clear();
        self.coalescer(host).reuse(batch);
    }

    fn coalescer(&mut self, host: u32) -> &mut InterruptCoalescer {
        let node = self.nodes.row_mut(host);
        node.coalescer.as_mut().expect("only interrupt moderation schedules an interrupt")
    }

    /// Takes a packet from the NIC and stamps it.
    fn receive_from_nic(&mut self, now: Instant, delivery: &mut Delivery, sched: &mut Scheduler) {
        let HostId(host) = delivery.host;
        let node = self.nodes.row_mut(host);
        if node.stack_in.is_some() {
            self.delay_in_stack(now, delivery, sched);
            return;
        }
        stamp_arrival(&self.net, node, now, now, delivery);
        self.pass_to_aggregator(now, delivery, sched);
    }

    /// Takes a packet from the NIC as `receive_from_nic` does, and delays it in the stack.
    #[cold]
    fn delay_in_stack(&mut self, now: Instant, delivery: &mut Delivery, sched: &mut Scheduler) {
        let HostId(host) = delivery.host;
        let node = self.nodes.row_mut(host);
        let delay_line = node.stack_in.as_mut().expect("the caller has seen it");
        let given = delay_line.exit_time(now);
        stamp_arrival(&self.net, node, now, given, delivery);
        let delay_line = node.stack_in.as_mut().expect("the caller has seen it");
        if let Some(at) = delay_line.push(*delivery) {
            sched.at(at, Entity::new(STACK_IN, node.number));
        }
    }

    /// Takes incoming packets of a host from its stack.
    pub(crate) fn on_stack_in(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        loop {
            let node = self.nodes.row_mut(host);
            let delay_line = node.stack_in.as_mut().expect("only a stack schedules its exits");
            let Some(delivery) = delay_line.pop(now) else {
                if let Some(next) = delay_line.next_exit() {
                    sched.at(next, Entity::new(STACK_IN, node.number));
                }
                return;
            };
            self.pass_to_aggregator(now, &delivery, sched);
        }
    }

    /// Passes a packet from the stack to aggregation, if the host has it.
    pub(crate) fn pass_to_aggregator(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        sched: &mut Scheduler,
    ) {
        let HostId(host) = delivery.host;
        let node = self.nodes.row_mut(host);
        let side = ConnSide::from_index(delivery.packet.dst_conn);
        if let Some(tracer) = &mut self.tracer {
            tracer.received(now, side, &delivery.packet.segment, delivery.trace_id);
        }
        if self.delays.tracks(side) {
            // A packet may arrive before its connection is open, or after its end.
            let conn = self.handles.row(side).conn.id().and_then(|id| node.endpoint.conn(id));
            self.delays.on_data(side, delivery, conn.as_deref());
        }
        let Some(aggregator) = &mut node.aggregator else {
            self.pass_to_tcp(now, host, &delivery.packet, sched);
            return;
        };
        let mut ready = mem::take(&mut self.ready);
        aggregator.push(now, delivery.packet, &mut ready);
        if let Some(at) = aggregator.arm() {
            sched.at(at, Entity::new(FLUSH, node.number));
        }
        self.pass_to_tcp_batch(now, host, ready, sched);
    }

    /// Releases expired aggregates of a host.
    #[inline(never)]
    pub(crate) fn flush(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        let node = self.nodes.row_mut(host);
        let aggregator = node.aggregator.as_mut().expect("only aggregation schedules a flush");
        let mut ready = mem::take(&mut self.ready);
        aggregator.flush(now, &mut ready);
        if let Some(at) = aggregator.arm() {
            sched.at(at, Entity::new(FLUSH, node.number));
        }
        self.pass_to_tcp_batch(now, host, ready, sched);
    }

    #[inline(never)]
    fn pass_to_tcp_batch(
        &mut self,
        now: Instant,
        host: u32,
        mut ready: Vec<Packet>,
        sched: &mut Scheduler,
    ) {
        let node = self.nodes.row_mut(host);
        if node.clock.stamps_aggregates() {
            for packet in &mut ready {
                let stamp =
                    node.clock.on_receive(RxTimes { hardware: now, driver: now, kernel: now });
                let on_line = || line_time(&self.net, packet.dst, packet.size);
                packet.segment.rx.stamp = Some(node.calibration.received(stamp, on_line));
            }
        }
        for packet in &ready {
            self.pass_to_tcp(now, host, packet, sched);
        }
        ready.clear();
        self.ready = ready;
    }

    /// Passes a segment to TCP.
    fn pass_to_tcp(&mut self, now: Instant, host: u32, packet: &Packet, sched: &mut Scheduler) {
        let node = self.nodes.row_mut(host);
        self.counts.segments += 1;
        let mut stamped;
        let packet = if let Some(HostStamp(at)) = packet.segment.rx.stamp {
            let waited = node.clock.read(now).0.saturating_sub(at) / 1_000;
            stamped = *packet;
            stamped.segment.rx.host_wait_us = u16::try_from(waited).unwrap_or(u16::MAX);
            &stamped
        } else {
            packet
        };
        let steered = self.handles.row(ConnSide::from_index(packet.dst_conn)).conn.id();
        let arrival = on_segment(now, node, packet, steered);
        self.handle_arrival(now, host, packet, arrival, sched);
    }

    /// Handles TCP's response to a packet. If ephemeral ports were reused, the connection that took
    /// the packet may be that of an earlier flow with the same four-tuple.
    #[inline(never)]
    #[expect(clippy::needless_pass_by_value, reason = "each arrival is handled once")]
    fn handle_arrival(
        &mut self,
        now: Instant,
        host: u32,
        packet: &Packet,
        arrival: Arrival,
        sched: &mut Scheduler,
    ) {
        let named = ConnSide::from_index(packet.dst_conn);
        match arrival {
            Arrival::Taken(id, _) => {
                let side = self.nodes.row(host).side(id);
                if self.delays.tracks(side) {
                    let conn = connection(&mut self.nodes.row_mut(host).endpoint, id);
                    self.delays.on_ack(now, side, &packet.segment, conn);
                }
                self.drive_conn(now, side, id, sched);
            }
            Arrival::Refused(id, _) => {
                let side = self.nodes.row(host).side(id);
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.rejected(side);
                }
                self.drive_conn(now, side, id, sched);
            }
            Arrival::Opened(id) | Arrival::Completed(id, _) => {
                self.handles.row_mut(named).conn = OpenConn::new(id);
                let node = self.nodes.row_mut(host);
                node.set_side(id, named);
                let progress = self.flows.row(named.flow());
                let is_client = named.is_client();
                let seed = self.setup.control_seed(progress.group, progress.ordinal, is_client);
                connection(&mut node.endpoint, id).set_cc_seed(seed);
                self.drive_conn(now, named, id, sched);
            }
            // Stray, TIME-WAIT, backlog full, cookie: no connection took it.
            _ => {
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.rejected(named);
                }
                self.send_replies(now, host, packet, sched);
            }
        }
    }

    /// Sends RSTs and TIME-WAIT ACKs to the source of the packet.
    #[cold]
    fn send_replies(&mut self, now: Instant, host: u32, cause: &Packet, sched: &mut Scheduler) {
        let own = self.flows.row(ConnSide::from_index(cause.dst_conn).flow()).class;
        let node = self.nodes.row_mut(host);
        while let Some((_, segment)) = node.endpoint.poll_reply() {
            let mut reply =
                packet(node.number, cause.src.0, segment, cause.dst_conn, cause.src_conn);
            reply.class = own.unwrap_or(node.class);
            if node.delays_output {
                let waiting = DelayedPacket { packet: reply, made: now, completes: None };
                let (stack, pacer) = (&mut node.stack_out, &mut node.pacer);
                enqueue_delayed(now, node.number, stack, pacer, waiting, true, sched);
            } else {
                self.net.send(now, &reply, sched);
            }
        }
    }
}

/// Passes a segment to the TCP of a host. `hint`: the connection that the packet names.
#[inline]
fn on_segment(now: Instant, node: &mut Node, packet: &Packet, hint: Option<ConnId>) -> Arrival {
    let remote = address(packet.src.0);
    node.endpoint.handle_segment(now, node.address, remote, &packet.segment, hint)
}

/// Stamps a packet that is taken from the NIC at `taken` and passed to aggregation or TCP at
/// `given`, unless stamps are taken after aggregation.
fn stamp_arrival(
    net: &Network,
    node: &mut Node,
    taken: Instant,
    given: Instant,
    delivery: &mut Delivery,
) {
    if node.aggregator.is_some() && node.clock.stamps_aggregates() {
        return;
    }
    if !node.stamps(&delivery.packet.segment) {
        return;
    }
    let stamp = node.clock.on_receive(RxTimes {
        hardware: delivery.arrived_at,
        driver: taken,
        kernel: given,
    });
    let size = delivery.packet.size;
    let on_line = || line_time(net, delivery.packet.dst, size);
    delivery.packet.segment.rx.stamp = Some(node.calibration.received(stamp, on_line));
}
