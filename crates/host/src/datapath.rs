//! The way of a packet through its host: from TCP to the line and from the line to TCP. What stands on
//! it is in [`crate::nic`].

use std::hint::cold_path;
use std::mem;

use lowtide_net::{ArrivedPacket, Delivery, Envelope, HostId, Network, Packet};
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::Arrival;
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::Segment;

use crate::app::{ConnHandle, ConnSide};
use crate::bucket::{DelayedPacket, Pacer};
use crate::calibration::Calibration;
use crate::clock::{Clock, RxTimes, TxTimes};
use crate::node::{Node, address, packet};
use crate::stack::DelayLine;
use crate::world::{FLUSH, INTERRUPT, SEND, STACK_IN, STACK_OUT, World};

impl World<'_> {
    /// Burst control of a host lets packets go.
    #[inline(never)]
    pub(crate) fn send_paced(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        while let Some(node) = self.nodes.get_mut(host as usize) {
            let Some(pacer) = &mut node.pacer else { return };
            let Some(waiting) = pacer.pop(now) else {
                if let Some(next) = pacer.next(now) {
                    sched.at(next, Entity::new(SEND, node.number));
                }
                return;
            };
            self.pass_to_nic(now, host, waiting, sched);
        }
    }

    /// Packets of a host have come through its stack on their way out.
    pub(crate) fn on_stack_out(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        while let Some(node) = self.nodes.get_mut(host as usize) {
            let Some(way) = &mut node.stack_out else { return };
            let Some(waiting) = way.pop(now) else {
                if let Some(next) = way.next_exit() {
                    sched.at(next, Entity::new(STACK_OUT, node.number));
                }
                return;
            };
            self.pass_to_pacer(now, host, waiting, sched);
        }
    }

    /// A packet has come through the stack: burst control is next.
    pub(crate) fn pass_to_pacer(
        &mut self,
        now: Instant,
        host: u32,
        waiting: DelayedPacket,
        sched: &mut Scheduler,
    ) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        if node.pacer.is_none() {
            self.pass_to_nic(now, host, waiting, sched);
        } else {
            enqueue_delayed(now, node.number, (&mut None, &mut node.pacer), waiting, true, sched);
        }
    }

    /// A packet that has waited goes to the NIC.
    fn pass_to_nic(
        &mut self,
        now: Instant,
        host: u32,
        waiting: DelayedPacket,
        sched: &mut Scheduler,
    ) {
        let DelayedPacket { packet, made, completes: ends } = waiting;
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        let stamps = (&mut node.clock, &mut node.calibration);
        let parts = (&packet.segment, packet.envelope());
        let stamp = send(&mut self.net, stamps, (made, now), parts, sched);
        if let Some(tracer) = &mut self.tracer {
            let side = ConnSide::from_index(packet.src_conn);
            tracer.sent(now, side, &packet.segment, self.net.last_trace_id());
        }
        let conn = self.handles.get(packet.src_conn as usize).and_then(|h| h.conn);
        if let Some(((stamp, id), conn)) = stamp.zip(ends).zip(conn)
            && let Some(conn) = node.endpoint.conn(conn)
        {
            conn.on_transmitted(id, stamp);
        }
    }

    /// A packet has come off the line.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Instant, landed: ArrivedPacket, sched: &mut Scheduler) {
        let HostId(host) = landed.host;
        let Some(node) = self.nodes.get_mut(host as usize) else { return self.net.release(landed) };
        let packet = self.net.arrived_packet(&landed);
        node.note_delivery(now, &packet.segment);
        let side = ConnSide::from_index(packet.dst_conn);
        if now >= self.warmup_end
            && let Some(progress) = self.flows.get_mut(side.flow())
        {
            let sends = progress.sends(side);
            let (signals, segment) = (&mut progress.ecn_counters, &packet.segment);
            if sends { signals.on_ack_received(segment) } else { signals.on_data_received(segment) }
        }
        let seen = self.tracer.is_some() || self.delays.is_enabled();
        if node.stamps(&packet.segment) || !node.receives_directly() || seen {
            cold_path();
            return self.receive_slow(now, landed, sched);
        }
        self.counts.segments += 1;
        let arrival = on_segment(now, node, &self.handles, packet);
        if let Arrival::Taken(id, _) = arrival {
            self.net.release(landed);
            return self.drive_conn(now, side, id, sched);
        }
        cold_path();
        let packet = self.net.take(landed).packet;
        self.handle_arrival(now, host, &packet, arrival, sched);
    }

    /// A packet goes through what stands between the line and TCP.
    #[inline(never)]
    fn receive_slow(&mut self, now: Instant, landed: ArrivedPacket, sched: &mut Scheduler) {
        let mut delivery = self.net.take(landed);
        let HostId(host) = delivery.host;
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        if let Some(moderator) = &mut node.coalescer {
            if let Some(at) = moderator.push(now, delivery) {
                sched.at(at, Entity::new(INTERRUPT, node.number));
            }
            return;
        }
        self.receive_from_nic(now, &mut delivery, sched);
    }

    /// The interrupt of a host's NIC: it takes all that has come.
    #[inline(never)]
    pub(crate) fn interrupt(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        let Some(moderator) = &mut node.coalescer else { return };
        let mut batch = mem::take(moderator.batch(now));
        for delivery in &mut batch {
            self.receive_from_nic(now, delivery, sched);
        }
        batch.clear();
        let node = self.nodes.get_mut(host as usize);
        if let Some(moderator) = node.and_then(|n| n.coalescer.as_mut()) {
            moderator.reuse(batch);
        }
    }

    /// The host takes a packet off the NIC and stamps it.
    fn receive_from_nic(&mut self, now: Instant, delivery: &mut Delivery, sched: &mut Scheduler) {
        let HostId(host) = delivery.host;
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        if node.stack_in.is_some() {
            self.delay_in_stack(now, delivery, sched);
            return;
        }
        stamp_arrival(&self.net, node, (now, now), delivery);
        self.pass_to_aggregator(now, delivery, sched);
    }

    /// The same where the packet then waits in the stack.
    #[cold]
    fn delay_in_stack(&mut self, now: Instant, delivery: &mut Delivery, sched: &mut Scheduler) {
        let HostId(host) = delivery.host;
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        let Some(way) = &mut node.stack_in else { return };
        let given = way.exit_time(now);
        stamp_arrival(&self.net, node, (now, given), delivery);
        let Some(way) = &mut node.stack_in else { return };
        if let Some(at) = way.push(*delivery) {
            sched.at(at, Entity::new(STACK_IN, node.number));
        }
    }

    /// Packets of a host have come through its stack on their way in.
    pub(crate) fn on_stack_in(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        while let Some(node) = self.nodes.get_mut(host as usize) {
            let Some(way) = &mut node.stack_in else { return };
            let Some(delivery) = way.pop(now) else {
                if let Some(next) = way.next_exit() {
                    sched.at(next, Entity::new(STACK_IN, node.number));
                }
                return;
            };
            self.pass_to_aggregator(now, &delivery, sched);
        }
    }

    /// A packet has come through the stack, and is aggregated if the host does that.
    pub(crate) fn pass_to_aggregator(
        &mut self,
        now: Instant,
        delivery: &Delivery,
        sched: &mut Scheduler,
    ) {
        let HostId(host) = delivery.host;
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        let side = ConnSide::from_index(delivery.packet.dst_conn);
        if let Some(tracer) = &mut self.tracer {
            tracer.received(now, side, &delivery.packet.segment, delivery.trace_id);
        }
        if self.delays.tracks(side) {
            let conn = self.handles.get(side.index() as usize).and_then(|h| h.conn);
            let conn = conn.and_then(|id| node.endpoint.conn(id));
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

    /// Aggregates of a host have waited long enough.
    #[inline(never)]
    pub(crate) fn flush(&mut self, now: Instant, host: u32, sched: &mut Scheduler) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        let Some(aggregator) = &mut node.aggregator else { return };
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
        if let Some(node) = self.nodes.get_mut(host as usize)
            && node.clock.stamps_aggregates()
        {
            for packet in &mut ready {
                let stamp =
                    node.clock.on_receive(RxTimes { hardware: now, driver: now, kernel: now });
                packet.segment.rx.stamp = Some(node.calibration.received(stamp, || {
                    self.net.serialization(packet.dst, packet.size).unwrap_or_default()
                }));
            }
        }
        for packet in &ready {
            self.pass_to_tcp(now, host, packet, sched);
        }
        ready.clear();
        self.ready = ready;
    }

    /// TCP gets a segment.
    fn pass_to_tcp(&mut self, now: Instant, host: u32, packet: &Packet, sched: &mut Scheduler) {
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        self.counts.segments += 1;
        let arrival = on_segment(now, node, &self.handles, packet);
        self.handle_arrival(now, host, packet, arrival, sched);
    }

    /// What follows from what TCP said of a packet.
    #[inline(never)]
    #[expect(clippy::needless_pass_by_value, reason = "TCP says it once")]
    fn handle_arrival(
        &mut self,
        now: Instant,
        host: u32,
        packet: &Packet,
        arrival: Arrival,
        sched: &mut Scheduler,
    ) {
        let side = ConnSide::from_index(packet.dst_conn);
        match arrival {
            Arrival::Taken(id, _) => {
                if self.delays.tracks(side)
                    && let Some(node) = self.nodes.get_mut(host as usize)
                {
                    let conn = node.endpoint.conn(id);
                    self.delays.on_ack(now, side, &packet.segment, conn.as_deref());
                }
                self.drive_conn(now, side, id, sched);
            }
            Arrival::Refused(id, _) => {
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.rejected(side);
                }
                self.drive_conn(now, side, id, sched);
            }
            Arrival::Opened(id) | Arrival::Completed(id, _) => {
                if let Some(handle) = self.handles.get_mut(side.index() as usize) {
                    handle.conn = Some(id);
                }
                self.drive_conn(now, side, id, sched);
            }
            Arrival::Stray | Arrival::TimeWait | Arrival::BacklogFull | Arrival::Cookie => {
                self.counts.rejected += 1;
                if let Some(tracer) = &mut self.tracer {
                    tracer.rejected(side);
                }
                self.send_replies(now, host, packet, sched);
            }
        }
    }

    /// RST and TIME-WAIT ACKs go back where the packet came from.
    #[cold]
    fn send_replies(&mut self, now: Instant, host: u32, cause: &Packet, sched: &mut Scheduler) {
        let own = self.flows.get(ConnSide::from_index(cause.dst_conn).flow()).and_then(|p| p.class);
        let Some(node) = self.nodes.get_mut(host as usize) else { return };
        while let Some((_, segment)) = node.endpoint.poll_reply() {
            let mut reply =
                packet(node.number, cause.src.0, segment, cause.dst_conn, cause.src_conn);
            reply.class = own.unwrap_or(node.class);
            if node.delays_output {
                let waiting = DelayedPacket { packet: reply, made: now, completes: None };
                let ways = (&mut node.stack_out, &mut node.pacer);
                enqueue_delayed(now, node.number, ways, waiting, true, sched);
            } else {
                self.net.send(now, &reply, sched);
            }
        }
    }
}

/// The TCP of a host hears of a segment.
#[inline]
fn on_segment(now: Instant, node: &mut Node, handles: &[ConnHandle], packet: &Packet) -> Arrival {
    let hint = handles.get(packet.dst_conn as usize).and_then(|h| h.conn);
    let remote = address(packet.src.0);
    node.endpoint.handle_segment(now, node.address, remote, &packet.segment, hint)
}

/// What stands in a packet's way out of its host, where something does.
type OutputQueues<'a> = (&'a mut Option<Box<DelayLine<DelayedPacket>>>, &'a mut Option<Box<Pacer>>);

/// A packet of the host of that number waits in the stack, or else for burst control; `fresh` for the first one of a burst.
#[cold]
#[inline(never)]
pub(crate) fn enqueue_delayed(
    now: Instant,
    host: u32,
    (stack, pacer): OutputQueues<'_>,
    waiting: DelayedPacket,
    fresh: bool,
    sched: &mut Scheduler,
) {
    let (at, kind) = if let Some(way) = stack {
        if fresh {
            way.exit_time(now);
        }
        (way.push(waiting), STACK_OUT)
    } else {
        (pacer.as_mut().and_then(|p| p.push(now, waiting)), SEND)
    };
    if let Some(at) = at {
        sched.at(at, Entity::new(kind, host));
    }
}

/// A packet that TCP made at `made` goes to the NIC at `now`. Returns its stamp, which it carries where
/// it has a place for it (DX); `None` when the NIC had no room, or where nobody wants it.
#[expect(clippy::inline_always, reason = "every packet comes this way")]
#[inline(always)]
pub(crate) fn send(
    net: &mut Network,
    stamps: (&mut Clock, &mut Calibration),
    (made, now): (Instant, Instant),
    (segment, envelope): (&Segment, Envelope),
    sched: &mut Scheduler,
) -> Option<HostStamp> {
    if segment.options.delay().is_some() {
        return send_stamped(net, stamps, (made, now), envelope.around(*segment), sched);
    }
    let left = net.send_segment(now, segment, envelope, sched)?;
    let (clock, calibration) = &stamps;
    // A stamp that nothing is drawn for and nobody reads.
    if clock.is_exact() && calibration.is_off() {
        return None;
    }
    Some(stamp(net, stamps, TxTimes { kernel: made, driver: now, hardware: left }, envelope))
}

/// The stamp is in the packet, so it is taken before the packet is gone.
#[inline(never)]
fn send_stamped(
    net: &mut Network,
    stamps: (&mut Clock, &mut Calibration),
    (made, now): (Instant, Instant),
    mut packet: Packet,
    sched: &mut Scheduler,
) -> Option<HostStamp> {
    let left = net.departure_time(now, packet.src, packet.size)?;
    let stamp = stamp(
        net,
        stamps,
        TxTimes { kernel: made, driver: now, hardware: left },
        packet.envelope(),
    );
    packet.segment.stamp_departure(stamp);
    net.send(now, &packet, sched).map(|_| stamp)
}

#[inline]
fn stamp(
    net: &Network,
    (clock, calibration): (&mut Clock, &mut Calibration),
    sent: TxTimes,
    envelope: Envelope,
) -> HostStamp {
    let stamp = clock.on_send(sent);
    let Envelope { src, size, .. } = envelope;
    calibration.sent(stamp, || net.serialization(src, size).unwrap_or_default())
}

/// A packet comes off the NIC at `taken` and will be given to TCP, or be aggregated, at `given`: it gets its
/// stamp, unless that is taken behind aggregation.
fn stamp_arrival(
    net: &Network,
    node: &mut Node,
    (taken, given): (Instant, Instant),
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
    let on_line = || net.serialization(delivery.packet.dst, size).unwrap_or_default();
    delivery.packet.segment.rx.stamp = Some(node.calibration.received(stamp, on_line));
}
