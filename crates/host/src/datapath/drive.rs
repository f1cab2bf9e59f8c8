//! Handling of a changed connection: events to its application, transmission, timer.
//!
//! Most segments of flows take a shorter path, which does the same without stages, query clients,
//! writers and observers: `World::deliver` (`steps.rs`).

use std::hint::cold_path;

use lowtide_net::{Envelope, HostId, Network};
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{ConnId, Connection, Transmit};
use lowtide_units::Instant;
use lowtide_wire::Segment;

use super::bucket::DelayedPacket;
use super::transmit::{Stamper, enqueue_delayed, send};
use super::tsq::Tsq;
use crate::app::{ConnHandle, ConnProgress, ConnSide};
use crate::applications::transfer::{FlowChange, poll_flow};
use crate::applications::writer::Writer;
use crate::clocks::timer_tick::TimerTick;
use crate::node::connection;
use crate::results::ecn_counters::CountSegments as _;
use crate::results::trace::Tracer;
use crate::tables::Table;
use crate::world::{TIMER, WRITE, World};

impl World<'_> {
    /// Processes a change of connection `id` of a side.
    pub(crate) fn drive_conn(
        &mut self,
        now: Instant,
        side: ConnSide,
        id: ConnId,
        sched: &mut Scheduler,
    ) {
        let answers = self.flows.row(side.flow()).server_sends;
        let closed = answers && self.poll_query_events(now, side, id, sched);
        let mut change = FlowChange { closed, completed: false };

        let progress = self.flows.row_mut(side.flow());
        let number = progress.number;
        let handle = self.handles.row_mut(side);
        let node = self.nodes.row_mut(handle.host);
        let conn = connection(&mut node.endpoint, id);
        if !answers && conn.has_events() {
            change = poll_flow(now, side, self.warmup_end, conn, progress);
        }
        // Only a flow that is written over time has a writer.
        if let Some(Some(writer)) = self.writers.get_mut(side.flow())
            && side.is_client()
        {
            resume(now, progress.number, writer, conn, sched);
        }

        let sends = progress.sends(side) && now >= self.warmup_end;
        let outgoing = &mut self.outgoing;
        while conn.poll_transmit_into(now, 1, outgoing) {
            // Not on the wire; for schemes that request it explicitly.
            outgoing.header.rx.delack_timeout = Some(outgoing.delack_timeout);
            let mut stamp = None;
            let mut i = 0;
            loop {
                let cut;
                let segment = if outgoing.segments > 1 {
                    cold_path();
                    cut = outgoing.segment(i);
                    &cut
                } else {
                    &outgoing.header
                };
                let envelope = envelope(side, progress, node.number, node.class, segment);
                if sends {
                    progress.ecn_counters.on_data_sent(segment);
                }
                if node.delays_output {
                    let ends = (i + 1 == outgoing.segments).then_some(outgoing.id);
                    let waiting = DelayedPacket {
                        packet: envelope.around(*segment),
                        made: now,
                        completes: ends,
                    };
                    let (stack, pacer) = (&mut node.stack_out, &mut node.pacer);
                    enqueue_delayed(now, node.number, stack, pacer, waiting, i == 0, sched);
                } else {
                    let stamper =
                        Stamper { clock: &mut node.clock, calibration: &mut node.calibration };
                    let net = &mut self.net;
                    stamp = send(net, stamper, now, now, segment, envelope, sched).or(stamp);
                    if let Some(tracer) = &mut self.tracer {
                        tracer.sent(now, side, segment, self.net.last_trace_id());
                    }
                }
                i += 1;
                if i >= outgoing.segments {
                    break;
                }
            }
            if let Some(stamp) = stamp {
                conn.on_transmitted(outgoing.id, stamp);
            }
            if let Some(limit) = node.tsq_limit {
                let small = handle.tsq.get_or_insert_with(|| Tsq::boxed(limit));
                apply_tsq(now, &self.net, HostId(node.number), outgoing, small, conn);
            }
        }
        if let Some(tracer) = &mut self.tracer {
            trace_sender(now, side, tracer, conn);
        }
        if !change.closed {
            let tick = node.timer_tick.as_deref();
            rearm(now, side.with_flow(number), handle, tick, conn, sched);
        }
        if answers {
            self.record_cost(side, id);
        }
        if change.completed || change.closed {
            cold_path();
            self.on_flow_change(now, side, id, change);
        }
        if !side.is_client() && !self.collectives.ranks.is_empty() {
            self.on_collective_data(now, number, sched);
        }
    }

    /// Ends a flow or its connection, after its last packets were sent.
    #[cold]
    pub(super) fn on_flow_change(
        &mut self,
        now: Instant,
        side: ConnSide,
        id: ConnId,
        change: FlowChange,
    ) {
        if change.completed {
            self.on_completed(Some(side));
        }
        if change.closed {
            self.release(now, side, id);
        }
    }
}

/// Returns the envelope of a segment that the side sends from host `src`, whose packets have
/// `class` unless the connection has another.
#[inline]
pub(super) fn envelope(
    side: ConnSide,
    progress: &ConnProgress,
    src: u32,
    class: u8,
    segment: &Segment,
) -> Envelope {
    Envelope {
        src: HostId(src),
        dst: HostId(if side.is_client() { progress.server } else { progress.client }),
        size: segment.ipv4_len(),
        src_conn: side.index(),
        dst_conn: side.peer().with_flow(progress.peer_index).index(),
        class: progress.class.unwrap_or(class),
    }
}

/// Applies TSQ: the transmission is in the host's queue, which limits the data of a connection.
#[cold]
#[inline(never)]
fn apply_tsq(
    now: Instant,
    net: &Network,
    host: HostId,
    outgoing: &Transmit,
    small: &mut Tsq,
    conn: &mut Connection,
) {
    let data = (0..outgoing.segments).map(|i| outgoing.segment(i)).filter(|s| s.payload_len > 0);
    let bytes: u64 = data.map(|s| u64::from(s.ipv4_len())).sum();
    // Pure ACKs do not count.
    if bytes == 0 {
        return;
    }
    let left = net.drained_at(now, host).expect("each host has a line");
    if let Some(until) = small.add(now, left, bytes) {
        conn.hold_data_until(until);
    }
}

/// Resumes a writer that waits for acknowledgements.
#[cold]
fn resume(
    now: Instant,
    number: u32,
    writer: &mut Writer,
    conn: &Connection,
    sched: &mut Scheduler,
) {
    if let Some(next) = writer.acknowledged(now, conn) {
        sched.at(next, Entity::new(WRITE, number));
    }
}

/// Records the sender state of the connection.
#[cold]
fn trace_sender(now: Instant, side: ConnSide, tracer: &mut Tracer, conn: &Connection) {
    tracer.on_sender_state(now, side, conn);
}

/// Keeps one pending event per connection; a deadline that moved later needs no action.
#[inline]
pub(super) fn rearm(
    now: Instant,
    side: ConnSide,
    handle: &mut ConnHandle,
    tick: Option<&TimerTick>,
    conn: &mut Connection,
    sched: &mut Scheduler,
) {
    let earlier = match tick {
        None => conn.poll_timeout_before(handle.armed),
        Some(tick) => tick.deadline(conn).filter(|at| *at < handle.armed),
    };
    if let Some(at) = earlier {
        cold_path();
        handle.armed = at.max(now);
        sched.at(handle.armed, Entity::new(TIMER, side.index()));
    }
}
