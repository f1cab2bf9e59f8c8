//! The server of an accepted connection: reads everything, and answers the requests of queries.
//!
//! Contract: as in the simulator. Requests are answered in the order of their complete arrival,
//! each at once and in full. The server closes after its answer if the connection was opened for
//! one request.

use std::io;
use std::net::SocketAddrV4;

use super::context::{AppContext, Received};
use crate::sockets::Conn;

/// One connection that a host accepted.
#[derive(Debug)]
pub(crate) struct ServerConn {
    conn: Conn,
    peer: SocketAddrV4,
    /// Its number in the run, once known.
    pub(crate) number: Option<u32>,
    pub(crate) received: Received,
    /// Bytes of answers that the socket has not accepted.
    unwritten: u64,
    /// The last answer is in the socket or in `unwritten`.
    last_answer: bool,
    closed: bool,
}

impl ServerConn {
    pub(super) fn new(conn: Conn, peer: SocketAddrV4) -> Self {
        Self {
            conn,
            peer,
            number: None,
            received: Received::default(),
            unwritten: 0,
            last_answer: false,
            closed: false,
        }
    }

    /// Handles an event.
    pub(super) fn serve(&mut self, ctx: &mut AppContext<'_>) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        if self.number.is_none()
            && let Some(number) = ctx.run_state.number_of(self.peer)
        {
            self.number = Some(number);
            self.received.size = ctx.run_state.flow_size(number);
            ctx.run_state.on_accepted(number, ctx.sockets.observer(self.conn)?);
        }
        let was_complete = self.received.completed_at.is_some();
        // FIN, or an error: the client reports a failed connection itself.
        self.closed = ctx.read(self.conn, &mut self.received).unwrap_or(true);
        if !was_complete && self.received.completed_at.is_some() {
            ctx.run_state.on_finished();
        }
        if let Some(number) = self.number {
            let (answers, is_last) = ctx.run_state.answers(number, self.received.bytes);
            self.unwritten += answers;
            self.last_answer |= is_last;
        }
        self.closed |= self.write(ctx).is_err();
        if self.closed && self.last_answer {
            ctx.sockets.close(self.conn);
        }
        Ok(())
    }

    fn write(&mut self, ctx: &mut AppContext<'_>) -> io::Result<()> {
        if self.unwritten == 0 {
            return Ok(());
        }
        self.unwritten -= ctx.sockets.write(self.conn, self.unwritten)?;
        if self.unwritten == 0 && self.last_answer {
            ctx.sockets.get(self.conn)?.shutdown_write()?;
        }
        Ok(())
    }
}
