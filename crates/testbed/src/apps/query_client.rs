//! A query client: opens connections, sends requests, receives answers.
//!
//! Contract: its schedule and its draws are the simulator's ([`QueryClient`]). A persistent
//! connection is not reopened after a failure: requests on it fail at once, and their query with
//! them. A query is complete when each of its answers has arrived or failed.

use std::io;

use lowtide_host::{QueryClient, QueryCost, response_size};
use lowtide_tcp::CloseReason;
use lowtide_units::{Duration, Instant};

use super::client_conn::ClientConn;
use super::context::{AppContext, ConnRole, Received};
use crate::run_state::RunState;
use crate::socket_info::SocketInfo;
use crate::sockets::Conn;

/// One connection of a query client.
pub(crate) struct QueryConn {
    pub(crate) conn: ClientConn,
    /// The server's host.
    pub(crate) server: u32,
    pub(crate) received: Received,
    /// Bytes of requests that the socket has not accepted.
    unwritten: u64,
}

impl QueryConn {
    pub(crate) fn new(conn: ClientConn, server: u32, size: Option<u64>) -> Self {
        Self { conn, server, received: Received { size, ..Received::default() }, unwritten: 0 }
    }

    /// Cost of both ends so far.
    fn cost(&mut self, run_state: &RunState) -> io::Result<QueryCost> {
        self.conn.observe(run_state)?;
        let of = |info: &SocketInfo| QueryCost {
            timeouts: info.tcp.rto_count.unwrap_or(0),
            retx_bytes: info.tcp.bytes_retrans.unwrap_or(0),
        };
        let ends = [&self.conn.client, &self.conn.server];
        Ok(ends.into_iter().flatten().map(of).fold(QueryCost::NONE, QueryCost::and))
    }
}

/// A query client of a host.
pub(crate) struct QueryApp {
    /// Its number in the run.
    pub(crate) number: u32,
    pub(crate) client: QueryClient,
    /// Time of its first action.
    opens: Instant,
    /// Its connections, in the order of their numbers.
    pub(crate) conns: Vec<QueryConn>,
}

impl QueryApp {
    pub(crate) fn new(
        number: u32,
        client: QueryClient,
        opens: Instant,
        conns: Vec<QueryConn>,
    ) -> Self {
        Self { number, client, opens, conns }
    }

    /// Starts queries and sends requests that are due; returns the time of the next action.
    /// `own` is its index at the host.
    pub(super) fn run_due(&mut self, own: usize, ctx: &mut AppContext<'_>) -> io::Result<Instant> {
        let (now, run_state) = (ctx.now(), ctx.run_state);
        let spec = run_state.query_client(self.number);
        if !self.client.connected {
            if self.opens > now {
                return Ok(self.opens);
            }
            self.client.connected = true;
            for connection in self.client.persistent_connections(spec) {
                let index = self.index(connection);
                self.conns[index].conn.open(ConnRole::Query { client: own, index }, ctx);
            }
        }
        let mut requests = Vec::new();
        while let Some(query) = self.client.begin(now, spec) {
            for i in 0..spec.fan_out {
                let connection = self.client.connection(query, i);
                if spec.jitter == Duration::ZERO {
                    requests.push((connection, query));
                } else {
                    self.client.delay_request(now, spec.jitter, connection, query);
                }
            }
        }
        requests.extend(std::iter::from_fn(|| self.client.take_due(now)));
        for (connection, query) in &requests {
            let index = self.index(*connection);
            run_state.exchange(*connection, |exchange| {
                exchange.request(*query, response_size(spec, *query), QueryCost::NONE);
            });
            if !spec.persistent {
                self.conns[index].conn.open(ConnRole::Query { client: own, index }, ctx);
            }
            self.conns[index].unwritten += spec.request.as_u64();
            self.serve(index, ctx)?;
        }
        // The kernel takes microseconds to report it, so all requests leave first.
        for (connection, query) in requests {
            let index = self.index(connection);
            let before = self.conns[index].cost(run_state)?;
            run_state.exchange(connection, |exchange| {
                let mut sent = exchange.outstanding.iter_mut().rev();
                if let Some(request) = sent.find(|request| request.query == query) {
                    request.cost_before = before;
                }
            });
        }
        if self.client.settles(now) {
            run_state.on_finished();
        }
        Ok(self.client.next_action().unwrap_or(Instant::FAR_FUTURE))
    }

    fn index(&self, connection: u32) -> usize {
        (connection - self.client.first) as usize
    }

    /// Handles an event of a connection.
    pub(super) fn serve(&mut self, index: usize, ctx: &mut AppContext<'_>) -> io::Result<()> {
        let query = &mut self.conns[index];
        let served = match query.conn.usable() {
            Some(conn) => query.transfer(conn, ctx),
            None => Ok(false),
        };
        let at_end = served.unwrap_or_else(|error| {
            query.conn.fail(&error);
            true
        });
        if at_end && query.received.size.is_none() {
            // No server closes a persistent connection.
            query.conn.failed.get_or_insert(CloseReason::Aborted);
        }
        let upto = query.received.bytes;
        self.complete_requests(index, upto, None, ctx)?;
        let conn = &self.conns[index].conn;
        if at_end || conn.failed.is_some() {
            let why = conn.failed.unwrap_or(CloseReason::Aborted);
            self.complete_requests(index, u64::MAX, Some(why), ctx)?;
        }
        if at_end {
            let conn = &mut self.conns[index].conn;
            conn.observe(ctx.run_state)?;
            conn.close(ctx);
        }
        Ok(())
    }

    /// Records answers up to that byte of the server's stream, or the failure of their requests.
    fn complete_requests(
        &mut self,
        index: usize,
        upto: u64,
        lost: Option<CloseReason>,
        ctx: &AppContext<'_>,
    ) -> io::Result<()> {
        let (now, run_state) = (ctx.now(), ctx.run_state);
        let spec = run_state.query_client(self.number);
        let connection = self.conns[index].conn.number;
        while let Some(request) = run_state.exchange(connection, |e| e.take_answered(upto)) {
            let cost = self.conns[index].cost(run_state)?.since(request.cost_before);
            let query = &mut self.client.queries[request.query as usize];
            query.add_cost(cost);
            if query.complete_one(now, lost) {
                self.client.on_query_completed(now, request.query, spec);
                if self.client.settles(now) {
                    run_state.on_finished();
                }
            }
        }
        Ok(())
    }

    /// Adds the cost of outstanding requests, and observes every connection for the last time.
    pub(super) fn finish(&mut self, run_state: &RunState) -> io::Result<()> {
        for query in self.conns.iter_mut().filter(|query| query.conn.opened.is_some()) {
            let cost = query.cost(run_state)?;
            for request in run_state.exchange(query.conn.number, |e| e.outstanding.clone()) {
                let query = &mut self.client.queries[request.query as usize];
                query.add_cost(cost.since(request.cost_before));
            }
        }
        Ok(())
    }
}

impl QueryConn {
    /// Writes requests and reads answers; returns true at the end of the server's stream.
    fn transfer(&mut self, conn: Conn, ctx: &mut AppContext<'_>) -> io::Result<bool> {
        if !self.conn.poll_established(conn, ctx)? {
            return Ok(false);
        }
        self.unwritten -= ctx.sockets.write(conn, self.unwritten)?;
        ctx.read(conn, &mut self.received)
    }
}
