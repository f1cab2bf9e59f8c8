//! Output of a connection after a change: segments, application events, timer.

use std::ops::Range;
use std::sync::atomic::Ordering;

use lowtide_sockets::{ConnKey, Polled};
use lowtide_tcp::{State, Transmit};
use lowtide_units::{HostStamp, Instant};
use lowtide_wire::{Addresses, Flags, Segment};

use super::orphans::Orphan;
use super::{Stack, TxBatch};

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
        self.limit_receive_window(key);
        self.poll_conn(now, key, batch);
        self.charge(key);
        if self.sockets.get(key).is_some_and(|c| c.driver.waits_for_memory) {
            self.wake_writer(key);
        }
        while self.orphans.over_limit() && self.reset_oldest_orphan(now, batch) {}
    }

    fn poll_conn(&mut self, now: Instant, key: ConnKey, batch: &mut TxBatch) {
        let Self { sockets, counters, gso, orphans, budget, progressed, .. } = self;
        let Some((conn, endpoint)) = sockets.with_endpoint(key) else { return };
        let Some(transport) = conn.id.and_then(|id| endpoint.conn(id)) else { return };
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
            let Some(transmit) = transport.poll_transmit(now) else { break };
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
            transport.on_transmitted(transmit.id, stamp);
        }
        let Some(polled) = sockets.poll_events(key) else { return };
        let Polled { acked, state, timer, .. } = polled;
        let Some(conn) = sockets.get_mut(key) else { return };
        if conn.send.is_empty() && conn.send.memory() > IDLE_SEND_MEMORY {
            conn.send.trim();
        } else if budget.under_pressure() {
            conn.send.shrink();
        }
        let (held, remote, driver) = (conn.held, conn.tuple.remote, &mut conn.driver);
        // The handshake proves as much as data: our SYN was acknowledged.
        let before = driver.acked.load(Ordering::Relaxed);
        if (acked > before || polled.newly_established)
            && let Some(progressed) = progressed
            && progressed.last() != Some(&remote)
        {
            progressed.push(remote);
        }
        driver.acked.store(acked, Ordering::Relaxed);
        if polled.has_events {
            driver.wait.wake();
        }
        if !held {
            if driver.orphan.is_none() && driver.orphaned_until == Instant::FAR_FUTURE {
                let orphan = Orphan::new(now, acked);
                orphans.insert(&orphan, key);
                driver.orphan = Some(orphan);
            }
            let until = driver.orphan.as_mut().map(|o| o.deadline(now, state, acked));
            driver.orphaned_until = until.unwrap_or(driver.orphaned_until);
        }
        let orphaned = Some(driver.orphaned_until).filter(|at| *at < Instant::FAR_FUTURE);
        let timer = timer.into_iter().chain(orphaned).min();
        // If more is left to send, the next poll arms the timer.
        if let Some(at) = timer.filter(|at| !more && *at < driver.timer_deadline) {
            self.timers.arm(key, driver.timer_deadline, at);
            driver.timer_deadline = at;
        }
        if polled.newly_established || driver.deferred_since.is_some() {
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
        let Some(conn) = self.sockets.get_mut(key) else { return };
        if let Some(orphan) = conn.driver.orphan.take() {
            self.orphans.remove(&orphan, key);
        }
        conn.driver.wait.wake();
        self.sockets.release(now, key);
        self.forget(key);
    }
}
