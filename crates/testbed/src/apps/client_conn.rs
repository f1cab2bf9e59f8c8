//! A connection at the end that opens it, and the last snapshots of both its ends.

use std::io;
use std::net::Ipv4Addr;

use lowtide_tcp::CloseReason;
use lowtide_units::Instant;

use super::context::{AppContext, ConnRole};
use crate::run_state::RunState;
use crate::socket_info::SocketInfo;
use crate::socket_observer::SocketObserver;
use crate::sockets::Conn;

/// A connection at the end that opens it.
pub(crate) struct ClientConn {
    /// Its number in the run.
    pub(crate) number: u32,
    to: Ipv4Addr,
    /// The server sends the data.
    server_sends: bool,
    /// Its sender is sampled at intervals.
    sampled: bool,
    /// None before it opens and after it is closed.
    conn: Option<Conn>,
    observer: Option<SocketObserver>,
    pub(crate) port: u16,
    pub(crate) opened: Option<Instant>,
    pub(crate) established: Option<Instant>,
    pub(crate) failed: Option<CloseReason>,
    /// The last snapshots.
    pub(crate) client: Option<SocketInfo>,
    pub(crate) server: Option<SocketInfo>,
}

impl ClientConn {
    pub(crate) fn new(number: u32, to: Ipv4Addr, server_sends: bool, sampled: bool) -> Self {
        Self {
            number,
            to,
            server_sends,
            sampled,
            conn: None,
            observer: None,
            port: 0,
            opened: None,
            established: None,
            failed: None,
            client: None,
            server: None,
        }
    }

    /// The open connection, unless it has failed.
    pub(crate) fn usable(&self) -> Option<Conn> {
        self.conn.filter(|_| self.failed.is_none())
    }

    /// Opens it. Check [`Self::failed`] afterwards.
    pub(crate) fn open(&mut self, role: ConnRole, ctx: &mut AppContext<'_>) {
        self.opened = Some(ctx.now());
        match ctx.connect(self.number, self.to, role) {
            Ok((conn, port)) => (self.conn, self.port) = (Some(conn), port),
            Err(error) => self.fail(&error),
        }
    }

    /// Returns whether it is established.
    pub(crate) fn poll_established(
        &mut self,
        conn: Conn,
        ctx: &AppContext<'_>,
    ) -> io::Result<bool> {
        if self.established.is_none() && ctx.sockets.get(conn)?.is_connected()? {
            self.established = Some(ctx.now());
            self.observer = Some(ctx.sockets.observer(conn)?);
        }
        Ok(self.established.is_some())
    }

    /// Records an error that ended it.
    pub(crate) fn fail(&mut self, error: &io::Error) {
        self.failed.get_or_insert(match error.kind() {
            io::ErrorKind::ConnectionRefused => CloseReason::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => CloseReason::Reset,
            io::ErrorKind::TimedOut => CloseReason::TimedOut,
            _ => CloseReason::Aborted,
        });
    }

    /// Takes a snapshot of both ends. An end without one keeps its last snapshot.
    pub(crate) fn observe(&mut self, run_state: &RunState) -> io::Result<()> {
        if let Some(info) = self.observer.as_ref().map(SocketObserver::info).transpose()?.flatten()
        {
            self.client = Some(info);
        }
        if let Some(info) = run_state.server_info(self.number)? {
            self.server = Some(info);
        }
        Ok(())
    }

    /// Takes a snapshot of the sender of a sampled, established connection.
    pub(crate) fn sample(&mut self, run_state: &RunState) -> io::Result<Option<SocketInfo>> {
        if !self.sampled || self.established.is_none() || self.usable().is_none() {
            return Ok(None);
        }
        self.observe(run_state)?;
        Ok(if self.server_sends { self.server.clone() } else { self.client.clone() })
    }

    /// Closes it. Nothing can be observed afterwards.
    pub(crate) fn close(&mut self, ctx: &mut AppContext<'_>) {
        if let Some(conn) = self.conn.take() {
            ctx.sockets.close(conn);
        }
        self.observer = None;
        ctx.run_state.forget_server(self.number);
    }
}
