//! Applications of one host: clients of flows and of queries, and the server of all connections.
//!
//! Contract: as in the simulator. A flow's client opens its connection when the flow starts, or
//! early, writes, and closes its send direction; the server reads at once. A flow is delivered when
//! the server's application has read its last byte. Connections of flows, and persistent ones of
//! query clients, are not closed before the run ends, so that both ends can be queried.

pub(crate) mod client_conn;
pub(crate) mod context;
pub(crate) mod flow_client;
pub(crate) mod query_client;
pub(crate) mod server;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use lowtide_units::{Duration, Instant};

use crate::run_state::RunState;
use crate::socket_info::SocketInfo;
use crate::sockets::{Conn, SocketEvent, Sockets};
use client_conn::ClientConn;
use context::{AppContext, ConnRole};
use flow_client::FlowClient;
use query_client::QueryApp;
use server::ServerConn;

/// Maximum wait, so that the end of the run is noticed.
const MAX_WAIT: Duration = Duration::from_ms(2);

/// A sample of a sender.
#[derive(Debug)]
pub(crate) struct SenderSample {
    pub(crate) at: Instant,
    pub(crate) connection: u32,
    pub(crate) info: SocketInfo,
}

/// The applications of a host.
pub(crate) struct Apps {
    pub(crate) flows: Vec<FlowClient>,
    pub(crate) queries: Vec<QueryApp>,
    pub(crate) incoming: Vec<ServerConn>,
    pub(crate) samples: Vec<SenderSample>,
    address: Ipv4Addr,
    warmup: Duration,
    interval: Option<Duration>,
}

impl Apps {
    pub(crate) fn new(
        address: Ipv4Addr,
        flows: Vec<FlowClient>,
        queries: Vec<QueryApp>,
        warmup: Duration,
        interval: Option<Duration>,
    ) -> Self {
        let (incoming, samples) = (Vec::new(), Vec::new());
        Self { flows, queries, incoming, samples, address, warmup, interval }
    }

    /// Runs the applications until the run is stopped, then observes every connection once more.
    pub(crate) fn run(
        &mut self,
        sockets: &mut dyn Sockets,
        run_state: &RunState,
    ) -> io::Result<()> {
        let mut ctx = AppContext::new(sockets, run_state, self.address, self.warmup);
        let mut events = Vec::new();
        let mut sample_at = self.interval.map(|interval| Instant::ZERO + interval);
        while !run_state.is_stopped() {
            let mut next = self.run_due(&mut ctx)?;
            if let (Some(at), Some(interval)) = (sample_at, self.interval) {
                let now = run_state.now();
                if at <= now {
                    self.sample(now, run_state)?;
                    // Missed samples are skipped.
                    let missed = now.saturating_since(at).as_ps() / interval.as_ps().max(1);
                    sample_at = Some(at + interval * (missed + 1));
                }
                next = sample_at.map_or(next, |at| next.min(at));
            }
            let left = next.saturating_since(run_state.now()).min(MAX_WAIT);
            ctx.sockets.wait(std::time::Duration::from_nanos(left.as_ns()), &mut events)?;
            for event in events.drain(..) {
                self.handle(event, &mut ctx)?;
            }
        }
        for flow in &mut self.flows {
            flow.conn.observe(run_state)?;
        }
        self.queries.iter_mut().try_for_each(|client| client.finish(run_state))
    }

    /// An end of a query's connection does not report its timeouts.
    pub(crate) fn lacks_timeouts(&self) -> bool {
        let conns = self.queries.iter().flat_map(|client| &client.conns);
        let mut ends = conns.flat_map(|query| [&query.conn.client, &query.conn.server]).flatten();
        ends.any(|info| info.tcp.rto_count.is_none())
    }

    /// Does what is due; returns the time of the next action.
    fn run_due(&mut self, ctx: &mut AppContext<'_>) -> io::Result<Instant> {
        let mut next = Instant::FAR_FUTURE;
        for (i, flow) in self.flows.iter_mut().enumerate() {
            next = next.min(flow.run_due(ConnRole::Flow(i), ctx)?);
        }
        for (i, client) in self.queries.iter_mut().enumerate() {
            next = next.min(client.run_due(i, ctx)?);
        }
        Ok(next)
    }

    fn handle(&mut self, event: SocketEvent, ctx: &mut AppContext<'_>) -> io::Result<()> {
        match event {
            SocketEvent::Accepted(conn, peer) => self.accepted(conn, peer, ctx),
            SocketEvent::Ready(conn) => match ctx.role(conn) {
                Some(ConnRole::Flow(i)) => {
                    self.flows[i].serve(ctx);
                    Ok(())
                }
                Some(ConnRole::Query { client, index }) => self.queries[client].serve(index, ctx),
                Some(ConnRole::Server(i)) => self.incoming[i].serve(ctx),
                None => Ok(()),
            },
        }
    }

    fn accepted(
        &mut self,
        conn: Conn,
        peer: SocketAddrV4,
        ctx: &mut AppContext<'_>,
    ) -> io::Result<()> {
        ctx.set_role(conn, ConnRole::Server(self.incoming.len()));
        let mut server = ServerConn::new(conn, peer);
        let served = server.serve(ctx);
        self.incoming.push(server);
        served
    }

    fn sample(&mut self, now: Instant, run_state: &RunState) -> io::Result<()> {
        let mut sample = |conn: &mut ClientConn| {
            if let Some(info) = conn.sample(run_state)? {
                self.samples.push(SenderSample { at: now, connection: conn.number, info });
            }
            io::Result::Ok(())
        };
        for flow in &mut self.flows {
            // Nothing changes after the last acknowledgement.
            if !flow.is_acknowledged() {
                sample(&mut flow.conn)?;
            }
        }
        let queries = self.queries.iter_mut().flat_map(|client| &mut client.conns);
        queries.map(|query| &mut query.conn).try_for_each(sample)
    }
}
