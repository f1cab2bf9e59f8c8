//! The client of a flow: opens the connection, writes, and closes its send direction.

use std::io;

use lowtide_units::Instant;

use super::client_conn::ClientConn;
use super::context::{AppContext, ConnRole};
use crate::socket_info::SocketInfo;
use crate::sockets::Conn;
use crate::writer::{ACK_POLL_INTERVAL, FlowWriter};

/// One flow that a host sends.
pub(crate) struct FlowClient {
    pub(crate) conn: ClientConn,
    sized: bool,
    writer: FlowWriter,
    /// Planned open time.
    opens: Instant,
    finished: bool,
    /// Time of the next check whether all data is acknowledged.
    next_ack_check: Instant,
}

impl FlowClient {
    pub(crate) fn new(conn: ClientConn, sized: bool, opens: Instant, writer: FlowWriter) -> Self {
        let (finished, next_ack_check) = (false, Instant::ZERO);
        Self { conn, sized, writer, opens, finished, next_ack_check }
    }

    /// All data is acknowledged, as last observed.
    pub(super) fn is_acknowledged(&self) -> bool {
        let nothing = |info: &SocketInfo| info.unacknowledged == Some(0);
        self.finished && self.conn.client.as_ref().is_some_and(nothing)
    }

    /// Opens the connection and writes data that is due; returns the time of the next action.
    pub(super) fn run_due(
        &mut self,
        role: ConnRole,
        ctx: &mut AppContext<'_>,
    ) -> io::Result<Instant> {
        let (now, mut next) = (ctx.now(), Instant::FAR_FUTURE);
        if self.conn.failed.is_some() || self.finished {
            return Ok(next);
        }
        if self.conn.opened.is_none() {
            if self.opens > now {
                return Ok(self.opens);
            }
            self.conn.open(role, ctx);
            self.note_failure(ctx);
            return Ok(next);
        }
        if self.conn.established.is_none() {
            return Ok(next);
        }
        if self.writer.waits_for_acks() {
            if self.next_ack_check <= now {
                self.next_ack_check = now + ACK_POLL_INTERVAL;
                self.conn.observe(ctx.run_state)?;
                if self.conn.client.as_ref().is_some_and(|info| info.unacknowledged == Some(0)) {
                    self.writer.acknowledged(now);
                }
            }
            next = self.next_ack_check;
        }
        match self.writer.next() {
            Some(at) if at <= now => self.serve(ctx),
            Some(at) => next = next.min(at),
            None => {}
        }
        Ok(next)
    }

    /// Handles an event.
    pub(super) fn serve(&mut self, ctx: &mut AppContext<'_>) {
        let Some(conn) = self.conn.usable() else { return };
        if let Err(error) = self.write(conn, ctx) {
            self.conn.fail(&error);
            self.note_failure(ctx);
        }
    }

    /// The server counts a flow whose bytes all arrived.
    fn note_failure(&self, ctx: &AppContext<'_>) {
        if self.conn.failed.is_some() && self.sized && !self.finished {
            ctx.run_state.on_finished();
        }
    }

    fn write(&mut self, conn: Conn, ctx: &mut AppContext<'_>) -> io::Result<()> {
        if !self.conn.poll_established(conn, ctx)? {
            return Ok(());
        }
        let due = self.writer.due(ctx.now());
        self.writer.on_accepted(ctx.sockets.write(conn, due)?);
        if self.writer.is_finished() && !self.finished {
            self.finished = true;
            ctx.sockets.get(conn)?.shutdown_write()?;
        }
        // The server sends no data: a read detects a reset.
        while ctx.sockets.get(conn)?.read(&mut [0; 64])?.is_some_and(|n| n > 0) {}
        Ok(())
    }
}
