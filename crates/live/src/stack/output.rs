//! Output of a connection after a change: segments, application events, timer.

use std::ops::Range;

use lowtide_tcp::{CloseReason, Event, State, Transmit};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Addresses, Flags, Segment};

use super::orphans::Orphan;
use super::{ConnInfo, ConnKey, Stack, TxBatch};

/// Send buffer memory that an idle connection keeps, bytes. The rest is freed: of many connections
/// most are idle.
const IDLE_SEND_MEMORY: usize = 4096;
/// Most payload bytes in one packet: an IP packet with headers has at most 65,535.
const MAX_GSO_PAYLOAD: u32 = 65_535 - lowtide_wire::packet::MAX_HEADERS_LEN as u32;

/// Whether the kernel would segment the packet as [`Transmit::segment`] does. It does not handle
/// the delay option, whose timestamps are per segment. CWR is rare.
fn can_use_gso(transmit: &Transmit) -> bool {
    let header = &transmit.header;
    header.options.delay().is_none() && !header.flags.contains(Flags::CWR)
}

/// One or more segments of a transmission in one packet.
struct GsoPacket {
    header: Segment,
    stream: Range<u64>,
    segments: u32,
}

/// Splits a transmission into packets of as many segments as fit.
fn gso_packets(transmit: &Transmit) -> impl Iterator<Item = GsoPacket> {
    let most = (MAX_GSO_PAYLOAD / transmit.mss.max(1)).max(1);
    (0..transmit.segments).step_by(most as usize).map(move |first| {
        let segments = most.min(transmit.segments - first);
        let last = first + segments - 1;
        let stream = transmit.stream_of(first).start..transmit.stream_of(last).end;
        let mut header = transmit.segment(first);
        header.payload_len = (stream.end - stream.start) as u32;
        // FIN and PSH belong to the last segment, and the kernel's GSO keeps them there.
        header.flags |= transmit.segment(last).flags;
        GsoPacket { header, stream, segments }
    })
}

impl Stack {
    /// Sends all pending segments of a connection and delivers its events.
    pub(super) fn pump(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        self.limit_receive_window(now, key);
        self.poll_conn(now, key, batch);
        self.charge(key);
        if self.get(key).is_some_and(|c| c.waits_for_memory) {
            self.wake_writer(key);
        }
        while self.orphans.over_limit() && self.reset_oldest_orphan(now, batch) {}
    }

    fn poll_conn(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        let Self { boundary, conns, counters, gso, orphans, budget, .. } = self;
        let Some(conn) = conns.get_mut(key.0 as usize).and_then(Option::as_mut) else { return };
        let Some(id) = conn.id else { return };
        let stamp = HostStamp(now.since_start().as_ns());
        let Some(addresses) = Addresses::between(conn.tuple.local, conn.tuple.remote) else {
            return;
        };
        let mut more = false;
        loop {
            if batch.is_full() {
                more = true;
                break;
            }
            let Some(transmit) = boundary.poll_transmit(now, id) else { break };
            let gso = *gso && transmit.segments > 1 && can_use_gso(&transmit);
            for part in gso.then(|| gso_packets(&transmit)).into_iter().flatten() {
                let payload = conn.send.slices(&part.stream);
                let size = transmit.mss as u16;
                // A packet of one segment is not GSO: the kernel would reject it.
                let pushed = match part.segments {
                    1 => batch.push(&addresses, &part.header, payload),
                    _ => batch.push_gso(&addresses, &part.header, payload, size),
                };
                match pushed {
                    Ok(()) => counters.sent += u64::from(part.segments),
                    Err(_) => counters.unsent += u64::from(part.segments),
                }
            }
            for i in 0..if gso { 0 } else { transmit.segments } {
                let payload = conn.send.slices(&transmit.stream_of(i));
                let mut segment = transmit.segment(i);
                segment.stamp_departure(stamp);
                match batch.push(&addresses, &segment, payload) {
                    Ok(()) => counters.sent += 1,
                    Err(_) => counters.unsent += 1,
                }
            }
            boundary.on_transmitted(now, id, transmit.id, stamp);
        }
        let (mut has_events, mut newly_established) = (false, false);
        while let Some(event) = boundary.poll_event(now, id) {
            has_events = true;
            match event {
                Event::Established => newly_established = true,
                Event::Readable { upto } => conn.receive.set_readable(upto),
                Event::PeerClosed => conn.peer_closed = true,
                Event::Closed(reason) => conn.close_reason = Some(reason),
                Event::Writable => {}
            }
        }
        let look = |c: &lowtide_tcp::Connection| (c.acked_upto(), c.state(), c.poll_timeout());
        let Some((acked, state, timer)) = boundary.inspect(id, look) else { return };
        conn.send.acknowledge(acked);
        if conn.send.is_empty() && conn.send.memory() > IDLE_SEND_MEMORY {
            conn.send.trim();
        } else if budget.under_pressure() {
            conn.send.shrink();
        }
        conn.established |= newly_established;
        if has_events {
            conn.wait.wake();
        }
        if !conn.held {
            if conn.orphan.is_none() && conn.orphaned_until == Instant::FAR_FUTURE {
                let orphan = Orphan::new(now, acked);
                orphans.insert(&orphan, key);
                conn.orphan = Some(orphan);
            }
            let until = conn.orphan.as_mut().map(|o| o.deadline(now, state, acked));
            conn.orphaned_until = until.unwrap_or(conn.orphaned_until);
        }
        let orphaned = (conn.orphaned_until < Instant::FAR_FUTURE).then_some(conn.orphaned_until);
        let timer = timer.into_iter().chain(orphaned).min();
        // If more is left to send, the next poll arms the timer.
        if let Some(at) = timer.filter(|at| !more && *at < conn.timer_deadline) {
            self.timers.arm(key, conn.timer_deadline, at);
            conn.timer_deadline = at;
        }
        if newly_established || conn.deferred_since.is_some() {
            self.offer_or_defer(now, key, batch);
        }
        if more {
            self.mark_changed(key);
        }
        // TIME-WAIT continues in the endpoint's compact table; the application has been notified of
        // the end.
        if !more && matches!(state, State::Closed | State::TimeWait) {
            self.release(now, key);
        }
    }

    /// Releases a connection that has ended in the endpoint.
    fn release(&mut self, now: Instant, key: ConnKey) {
        let Self { boundary, conns, by_id, orphans, .. } = self;
        let Some(conn) = conns.get_mut(key.0 as usize).and_then(Option::as_mut) else { return };
        let Some(id) = conn.id.take() else { return };
        if let Some(orphan) = conn.orphan.take() {
            orphans.remove(&orphan, key);
        }
        conn.final_info = boundary.inspect(id, |c| Box::new(ConnInfo::of(c)));
        conn.close_reason.get_or_insert(CloseReason::Normal);
        conn.send.trim();
        boundary.release(now, id);
        if let Some(slot) = by_id.get_mut(id.0 as usize) {
            *slot = None;
        }
        conn.wait.wake();
        // The handshake failed before the listener was notified: no application will accept it.
        if conn.listener.take().is_some() {
            conn.held = false;
        }
        self.forget(key);
    }
}
