//! The query client: opens connections, sends requests, receives answers.
//!
//! Contract: a client knows only its own connections. A persistent connection is not reopened after
//! a failure: requests on it fail at once, and their query with them. A query is complete when each
//! of its answers has arrived or failed; the next one of a closed loop follows in either case.

use lowtide_rows::QueryRow;
use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{CloseReason, ConnId, Event};
use lowtide_units::{Duration, Instant};

use super::exchange::Request;
use super::query::{QueryCost, response_size};
use crate::app::ConnSide;
use crate::tables::Table;
use crate::world::{QUERY_CLIENT, World};

impl World<'_> {
    /// Runs the due actions of a query client.
    pub(crate) fn run_query_client(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let spec = self.setup.query_clients.row(index);
        let query_client = self.query_clients.list.row_mut(index);
        let persistent = query_client.persistent_connections(spec);
        if query_client.is_over() {
            persistent.for_each(|connection| self.close_persistent(now, connection, sched));
            return;
        }
        if !query_client.connected {
            query_client.connected = true;
            if let Some(first) = query_client.next.filter(|at| *at > now) {
                sched.at(first, Entity::new(QUERY_CLIENT, index));
            }
            persistent.for_each(|connection| self.open_connection(now, connection, sched));
        }
        loop {
            let query_client = self.query_clients.list.row_mut(index);
            let Some(query) = query_client.begin(now, spec) else { break };
            if let Some(next) = query_client.next.filter(|at| *at > now) {
                sched.at(next, Entity::new(QUERY_CLIENT, index));
            }
            for i in 0..spec.fan_out {
                let query_client = self.query_clients.list.row_mut(index);
                let connection = query_client.connection(query, i);
                if spec.jitter == Duration::ZERO {
                    self.send_request(now, connection, query, sched);
                } else {
                    let at = query_client.delay_request(now, spec.jitter, connection, query);
                    sched.at(at, Entity::new(QUERY_CLIENT, index));
                }
            }
        }
        while let Some((connection, query)) = self.query_clients.list.row_mut(index).take_due(now) {
            self.send_request(now, connection, query, sched);
        }
        if self.query_clients.list.row_mut(index).settles(now) {
            self.on_completed(None);
        }
    }

    /// Opens a connection; if that is impossible, it has failed.
    fn open_connection(&mut self, now: Instant, connection: u32, sched: &mut Scheduler) {
        let side = ConnSide::client(connection);
        let opened = self.open(now, side);
        let progress = self.flows.row_mut(connection as usize);
        progress.start = now;
        if opened.is_none() {
            // Out of ephemeral ports.
            progress.failed = Some(CloseReason::Aborted);
        }
        if let Some(id) = opened {
            self.drive_conn(now, side, id, sched);
        }
    }

    /// Closes a persistent connection.
    fn close_persistent(&mut self, now: Instant, connection: u32, sched: &mut Scheduler) {
        let side = ConnSide::client(connection);
        // The connection may have failed before.
        let Some((id, conn)) = self.open_conn(side) else { return };
        conn.close();
        self.drive_conn(now, side, id, sched);
    }

    /// Sends a request of a query.
    fn send_request(&mut self, now: Instant, connection: u32, query: u32, sched: &mut Scheduler) {
        let side = ConnSide::client(connection);
        let before = self.query_cost(side);
        let asked = self.current_event();
        let exchange = self.query_clients.exchange(connection as usize);
        let spec = self.setup.query_clients.row(exchange.query_client);
        exchange.request(query, response_size(spec, query), before);
        if let Some(request) = exchange.outstanding.back_mut() {
            request.sent_at = asked;
        }
        self.notify_server(side, query);
        if !spec.persistent {
            self.open_connection(now, connection, sched);
        }
        match self.open_conn(side) {
            Some((id, conn)) => {
                conn.send(spec.request.as_u64());
                self.drive_conn(now, side, id, sched);
            }
            None => self.fail_requests(now, side, None, sched),
        }
    }

    /// Handles the events of a query connection. Returns true if it can be released.
    #[inline(never)]
    pub(crate) fn poll_query_events(
        &mut self,
        now: Instant,
        side: ConnSide,
        id: ConnId,
        sched: &mut Scheduler,
    ) -> bool {
        let mut over = false;
        loop {
            let conn = self.conn(side, id);
            let Some(event) = conn.poll_event() else { break };
            match event {
                Event::PeerClosed => conn.close(),
                Event::Closed(reason) => {
                    over = true;
                    if side.is_client() {
                        self.fail_requests(now, side, Some(reason), sched);
                    }
                }
                Event::Readable { upto } if side.is_client() => {
                    conn.read(upto);
                    self.on_response(now, side, upto, sched);
                }
                Event::Readable { upto } => self.on_request(side, id, upto),
                Event::Established if side.is_client() => {
                    self.flows.row_mut(side.flow()).established = Some(now);
                }
                _ => {}
            }
        }
        over
    }

    /// Handles new data at the client: the server's stream up to `upto`.
    fn on_response(&mut self, now: Instant, side: ConnSide, upto: u64, sched: &mut Scheduler) {
        let warm = self.warmup_end;
        self.flows.row_mut(side.flow()).note_delivered(now, upto, warm);
        loop {
            let exchange = self.query_clients.exchange(side.flow());
            let client_index = exchange.query_client;
            let Some(request) = exchange.take_answered(upto) else { break };
            self.complete_request(now, side, client_index, request, None, sched);
        }
    }

    /// Fails the outstanding requests of a connection that ended for that reason or was never
    /// opened.
    fn fail_requests(
        &mut self,
        now: Instant,
        side: ConnSide,
        reason: Option<CloseReason>,
        sched: &mut Scheduler,
    ) {
        let progress = self.flows.row_mut(side.flow());
        let client_index = self.query_clients.exchange(side.flow()).query_client;
        let over = self.query_clients.list.row(client_index).is_over();
        let unanswered = progress.delivered_at.is_none() && !over;
        if let Some(reason) = reason.filter(|r| *r != CloseReason::Normal && unanswered) {
            progress.failed.get_or_insert(reason);
        }
        let why = progress.failed.or(reason).unwrap_or(CloseReason::Aborted);
        loop {
            let exchange = self.query_clients.exchange(side.flow());
            let Some(request) = exchange.take_answered(u64::MAX) else {
                // Of a million connections most are finished.
                exchange.outstanding.shrink_to_fit();
                break;
            };
            self.complete_request(now, side, client_index, request, Some(why), sched);
        }
    }

    /// Records an answer, or its failure with a reason.
    fn complete_request(
        &mut self,
        now: Instant,
        side: ConnSide,
        client_index: u32,
        request: Request,
        lost: Option<CloseReason>,
        sched: &mut Scheduler,
    ) {
        let cost = self.query_cost(side).since(request.cost_before);
        self.attribute_cost(side, client_index, request);
        let spec = self.setup.query_clients.row(client_index);
        let query_client = self.query_clients.list.row_mut(client_index);
        let query = query_client.queries.row_mut(request.query);
        query.add_cost(cost);
        if !query.complete_one(now, lost) {
            return;
        }
        let next = query_client.on_query_completed(now, request.query, spec);
        let settles = query_client.settles(now);
        // A client that is over closes its connections, unless the run ends here.
        if let Some(next) = next.or_else(|| query_client.is_over().then_some(now)) {
            sched.at(next, Entity::new(QUERY_CLIENT, client_index));
        }
        if settles {
            self.on_completed(None);
        }
    }

    /// Returns the cost of the connection of `side`.
    fn query_cost(&mut self, side: ConnSide) -> QueryCost {
        let mut sum = QueryCost::default();
        for side in [side, side.peer()] {
            // Only a side that has opened, here and not in another shard, has a cost.
            if let Some(counters) = self.counters(side) {
                sum.count(&counters);
            }
        }
        sum
    }

    /// Returns whether statistics count the answer on a query connection that opened at `start`;
    /// `None` if the connection stays open between queries.
    pub(crate) fn counts_answer(&mut self, connection: u32, start: Instant) -> Option<bool> {
        let index = self.query_clients.exchange(connection as usize).query_client;
        let spec = self.setup.query_clients.row(index);
        let query = self.query_clients.list.row(index).query_of(connection)?;
        Some(self.setup.counts_query(&spec.schedule, query, start))
    }

    /// Returns the rows of all queries of a run that ended at `ended`.
    pub(crate) fn query_rows(&mut self, ended: Instant) -> Vec<QueryRow> {
        // The cost of outstanding queries so far.
        for connection in self.query_clients.connections() {
            let exchange = self.query_clients.exchange(connection);
            if exchange.outstanding.is_empty() {
                continue;
            }
            let (client_index, waiting) =
                (exchange.query_client, std::mem::take(&mut exchange.outstanding));
            let now = self.query_cost(ConnSide::client(connection as u32));
            let query_client = self.query_clients.list.row_mut(client_index);
            for request in waiting {
                let query = query_client.queries.row_mut(request.query);
                query.add_cost(now.since(request.cost_before));
            }
        }
        let (setup, warm) = (self.setup, self.warmup_end);
        let query_clients = setup.query_clients.iter().zip(&self.query_clients.list).zip(0..);
        let rows = query_clients.flat_map(|((spec, query_client), client_index)| {
            let numbered = query_client.queries.iter().zip(0..);
            numbered.map(move |(query, number)| {
                query.row(setup, spec, client_index, number, warm, ended)
            })
        });
        rows.collect()
    }
}
