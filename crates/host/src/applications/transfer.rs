//! The applications of flows: a client that writes the flow's bytes and closes, and a server that
//! reads everything.

use std::hint::cold_path;

use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{CloseReason, Connection, Event};
use lowtide_traffic::UNLIMITED_BYTES;
use lowtide_units::{Bytes, Instant};

use crate::app::{ConnProgress, ConnSide};
use crate::node::connection;
use crate::tables::Table;
use crate::world::{WRITE, World};

impl World<'_> {
    /// Opens the connection of a flow's client and writes.
    #[cold]
    #[inline(never)]
    pub(crate) fn start_flow(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let side = ConnSide::client(index);
        let Some(id) = self.open(now, side) else {
            // Out of ephemeral ports: the flow fails.
            self.flows.row_mut(index as usize).failed = Some(CloseReason::Aborted);
            self.on_completed(Some(side));
            return;
        };
        let progress = self.flows.row(index as usize);
        let host = self.handles.row(side).host;
        let conn = connection(&mut self.nodes.row_mut(host).endpoint, id);
        // Only a flow that is written over time has a writer.
        if let Some(Some(writer)) = self.writers.get_mut(index as usize) {
            if let Some(next) = writer.write(now, conn) {
                sched.at(next, Entity::new(WRITE, progress.number));
            }
        } else {
            conn.send(progress.size.map_or(UNLIMITED_BYTES, Bytes::as_u64));
            if progress.size.is_some() {
                conn.close();
            }
        }
        self.drive_conn(now, side, id, sched);
    }

    /// Writes more data of a flow.
    #[cold]
    #[inline(never)]
    pub(crate) fn write(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let side = ConnSide::client(index);
        let handle = self.handles.row(side);
        // The connection may have ended before this write, perhaps by a later one with the same
        // four-tuple.
        let Some(id) = handle.conn.id() else { return };
        let node = self.nodes.row_mut(handle.host);
        let Some(conn) = node.endpoint.conn(id) else { return };
        let writer = self.writers.row_mut(index).as_mut().expect("only a writer schedules a write");
        if let Some(next) = writer.write(now, conn) {
            sched.at(next, Entity::new(WRITE, self.flows.row(index as usize).number));
        }
        self.drive_conn(now, side, id, sched);
    }
}

/// The effect of a connection's events on its flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowChange {
    /// There is nothing left to wait for.
    pub(crate) completed: bool,
    /// The connection can be released.
    pub(crate) closed: bool,
}

/// Handles the events of a flow's connection, of which there is at least one.
#[inline]
pub(crate) fn poll_flow(
    now: Instant,
    side: ConnSide,
    warm: Instant,
    conn: &mut Connection,
    progress: &mut ConnProgress,
) -> FlowChange {
    if !side.is_client()
        && let Some(upto) = conn.read_all()
    {
        let completed = progress.note_delivered(now, upto, warm);
        return FlowChange { completed, closed: false };
    }
    cold_path();
    let was_over = progress.is_over();
    let closed = poll_flow_events(now, side, warm, conn, progress);
    FlowChange { completed: !was_over && progress.is_over(), closed }
}

/// Handles the events of a flow's connection one by one. Returns true if the connection can be
/// released.
#[inline(never)]
fn poll_flow_events(
    now: Instant,
    side: ConnSide,
    warm: Instant,
    conn: &mut Connection,
    progress: &mut ConnProgress,
) -> bool {
    let mut over = false;
    while let Some(event) = conn.poll_event() {
        match event {
            Event::Established if side.is_client() => progress.established = Some(now),
            Event::Readable { upto } if !side.is_client() => {
                conn.read(upto);
                let _ = progress.note_delivered(now, upto, warm);
            }
            // The server has no data to send.
            Event::PeerClosed => conn.close(),
            Event::Closed(reason) => {
                over = true;
                if reason != CloseReason::Normal && progress.delivered_at.is_none() {
                    progress.failed.get_or_insert(reason);
                }
            }
            _ => {}
        }
    }
    over
}
