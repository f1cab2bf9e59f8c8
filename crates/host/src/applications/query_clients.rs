//! All query clients of a run and their state: next query, servers, connections.
//!
//! Contract: the connection numbers of a client are known before the run. With persistent
//! connections there is one per entry of [`QueryClientSpec::servers`], in that order; otherwise
//! `fan_out` per query, in query order. Random draws (servers, jitter) come from generators of this
//! client alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lowtide_sim::{Entity, Rng, Seed};
use lowtide_traffic::{QueryClientSpec, QuerySchedule};
use lowtide_units::{Bytes, Duration, Instant};

use super::exchange::Exchange;
use super::query::{Query, response_size};
use crate::app::ConnProgress;
use crate::error::RunError;
use crate::setup::Setup;
use crate::tables::{Row, Table, missing};

/// All query clients of a run.
#[derive(Debug)]
pub(crate) struct QueryClients {
    pub(crate) list: Vec<QueryClient>,
    /// By connection, from the first one of the first client.
    pub(crate) exchanges: Vec<Exchange>,
    /// The number of that connection.
    pub(crate) first: usize,
}

/// A connection of a query client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueryConnection {
    /// Number of the query client.
    pub query_client: u32,
    /// The server's host.
    pub server: u32,
    /// Bytes of its only answer; `None` if it stays open between queries.
    pub size: Option<Bytes>,
}

/// The state of one query client.
#[derive(Debug)]
pub struct QueryClient {
    /// Number of its first connection.
    pub first: u32,
    persistent: bool,
    fan_out: u32,
    /// Start time, jitter included.
    pub start: Instant,
    /// Shift of its queries by the start jitter.
    shift: Duration,
    /// Total number of its queries.
    total: usize,
    /// Started queries, by number.
    pub queries: Vec<Query>,
    /// Of these, incomplete queries.
    pub(crate) outstanding: u32,
    /// Of these, queries that the end of the run waits for.
    awaited: u32,
    /// Number of queries that may be awaited, the first ones.
    countable: usize,
    /// Earliest start of an awaited query; zero without an open loop.
    counted_from: Instant,
    /// Start from which on queries are not awaited; far future without an open loop.
    counted_until: Instant,
    /// There is nothing left to wait for.
    settled: bool,
    /// Start of the next query, if known.
    pub(crate) next: Option<Instant>,
    /// Its persistent connections are open.
    pub connected: bool,
    /// Server indices, shuffled as far as drawn; empty if a query goes to all.
    order: Vec<u32>,
    draw: Rng,
    jitter: Rng,
    /// Delayed requests: time, connection, query.
    due: BinaryHeap<Reverse<(Instant, u32, u32)>>,
}

impl Row for QueryClient {
    const TABLE: &'static str = "query clients";
    type Key = u32;

    fn index(number: u32) -> usize {
        number as usize
    }
}

impl Row for QueryClientSpec {
    const TABLE: &'static str = "specified query clients";
    type Key = u32;

    fn index(number: u32) -> usize {
        number as usize
    }
}

impl QueryClients {
    /// Returns the query clients of `setup`; adds their connections to `flows`.
    pub(crate) fn new(setup: &Setup, flows: &mut Vec<ConnProgress>) -> Result<Self, RunError> {
        let (first, mut exchanges) = (flows.len(), Vec::new());
        let list = QueryClient::all(setup, |connection| {
            let QueryConnection { query_client, server, size } = connection;
            let spec = setup.query_clients.row(query_client);
            let plain = ConnProgress::new(spec.group, spec.client, server, size);
            flows.push(ConnProgress { server_sends: true, ..plain });
            exchanges.push(Exchange::new(query_client));
        })?;
        Ok(Self { list, exchanges, first })
    }

    /// No query clients.
    pub(crate) const NONE: Self = Self { list: Vec::new(), exchanges: Vec::new(), first: 0 };

    /// Returns the number of clients with awaited queries left.
    pub(crate) fn busy(&self) -> usize {
        self.list.iter().filter(|a| !a.settled).count()
    }

    /// Returns the time of each client's first action: its first query, or the opening of its
    /// persistent connections before it. `flows` are all connections of the run.
    pub(crate) fn first_actions(
        &self,
        setup: &Setup,
        flows: &[ConnProgress],
    ) -> impl Iterator<Item = Instant> {
        self.list.iter().map(|client| match flows.get(client.first as usize) {
            Some(flow) if client.persistent => {
                setup.opening(flow.group, flow.ordinal, client.start)
            }
            _ => client.start,
        })
    }

    /// Returns the exchange of a connection, which must be a query connection.
    #[track_caller]
    pub(crate) fn exchange(&mut self, connection: usize) -> &mut Exchange {
        let index = connection.checked_sub(self.first);
        let Some(exchange) = index.and_then(|index| self.exchanges.get_mut(index)) else {
            missing("exchanges", connection)
        };
        exchange
    }

    /// Returns the numbers of all query connections.
    pub(crate) fn connections(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.exchanges.len()
    }
}

impl QueryClient {
    /// Returns the query clients of `setup`, and passes each of their connections on, in the order
    /// of their numbers. These follow those of the flows.
    ///
    /// # Errors
    /// A client that cannot run.
    pub fn all(
        setup: &Setup,
        mut connection: impl FnMut(QueryConnection),
    ) -> Result<Vec<Self>, RunError> {
        let mut first = setup.flows.len();
        let client = |(spec, query_client): (&QueryClientSpec, u32)| {
            let refuse =
                |problem| RunError::QueryClient { query_client: query_client as usize, problem };
            check(spec, setup.hosts.len(), first).map_err(refuse)?;
            let mut client = Self::new(setup, spec, query_client, first as u32);
            let mut add = |index: u32, size| {
                let server = spec.servers[index as usize];
                connection(QueryConnection { query_client, server, size });
                first += 1;
            };
            if spec.persistent {
                (0..spec.servers.len() as u32).for_each(|index| add(index, None));
            } else {
                for query in 0..client.total as u32 {
                    client.shuffle();
                    let size = Some(response_size(spec, query));
                    (0..spec.fan_out).for_each(|i| add(client.server_index(i), size));
                }
            }
            Ok(client)
        };
        setup.query_clients.iter().zip(0..).map(client).collect()
    }

    fn new(setup: &Setup, spec: &QueryClientSpec, index: u32, first: u32) -> Self {
        let rng = |purpose| Seed::derive(setup.seed, "asker", u64::from(index), purpose).rng();
        let shift = rng("start jitter").duration_below(setup.disturbance.start_jitter);
        let some = (spec.fan_out as usize) < spec.servers.len();
        let servers = if some { spec.servers.len() as u32 } else { 0 };
        let open_loop = setup.counting.open_loop;
        Self {
            first,
            persistent: spec.persistent,
            fan_out: spec.fan_out,
            start: spec.start + shift,
            shift,
            total: spec.schedule.queries(),
            queries: Vec::new(),
            outstanding: 0,
            awaited: 0,
            countable: spec.schedule.countable(),
            counted_from: open_loop.map_or(Instant::ZERO, |_| Instant::ZERO + setup.warmup),
            counted_until: open_loop
                .map_or(Instant::FAR_FUTURE, |o| Instant::ZERO + o.counted_until),
            settled: spec.schedule.countable() == 0,
            next: Some(Instant::ZERO),
            connected: false,
            order: (0..servers).collect(),
            draw: rng("servers"),
            jitter: rng("jitter"),
            due: BinaryHeap::new(),
        }
        .planned(spec)
    }

    fn planned(mut self, spec: &QueryClientSpec) -> Self {
        self.next = self.time(spec, 0);
        self
    }

    /// Returns the start of query `number`, if it depends on no other query.
    fn time(&self, spec: &QueryClientSpec, number: usize) -> Option<Instant> {
        match &spec.schedule {
            QuerySchedule::ClosedLoop { .. } => {
                (number == 0 && self.total > 0).then_some(self.start)
            }
            QuerySchedule::OpenLoop(arrivals) => {
                // There is no query after the last one.
                arrivals.times.get(number).map(|at| (*at + self.shift).max(self.start))
            }
        }
    }

    /// Returns true if all its queries are complete.
    pub fn is_over(&self) -> bool {
        self.outstanding == 0 && self.queries.len() == self.total
    }

    /// Returns true once: if no awaited query is left.
    pub fn settles(&mut self, now: Instant) -> bool {
        let all_begun = self.queries.len() >= self.countable || now >= self.counted_until;
        let settles = !self.settled && all_begun && self.awaited == 0;
        self.settled |= settles;
        settles
    }

    /// Returns true if the end of the run waits for a query that begins at `start`.
    fn is_awaited(&self, number: usize, start: Instant) -> bool {
        number < self.countable && (self.counted_from..self.counted_until).contains(&start)
    }

    /// Returns true if an awaited query remains that does not start before `until`, or not within
    /// `least` after the completion of another.
    pub(crate) fn cannot_finish_before(
        &self,
        spec: &QueryClientSpec,
        until: Instant,
        least: Duration,
    ) -> bool {
        // Later the client may settle at any completion.
        let more = self.queries.len() < self.countable && until <= self.counted_until;
        let pauses =
            matches!(spec.schedule, QuerySchedule::ClosedLoop { pause, .. } if pause >= least);
        more && (self.next.is_some_and(|at| at >= until) || (pauses && self.outstanding > 0))
    }

    /// Returns a copy whose connections are numbered from `first`.
    pub(crate) fn with_first(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// Returns a client without queries, as a placeholder.
    pub(crate) fn idle_copy(&self) -> Self {
        Self {
            total: 0,
            queries: Vec::new(),
            next: None,
            order: Vec::new(),
            due: BinaryHeap::new(),
            draw: self.draw.clone(),
            jitter: self.jitter.clone(),
            ..*self
        }
    }

    /// Returns the numbers of its persistent connections.
    pub fn persistent_connections(&self, spec: &QueryClientSpec) -> std::ops::Range<u32> {
        let n = if self.persistent { spec.servers.len() as u32 } else { 0 };
        self.first..self.first + n
    }

    /// Starts a query if one is due. Returns its number.
    pub fn begin(&mut self, now: Instant, spec: &QueryClientSpec) -> Option<u32> {
        if self.next? > now {
            return None;
        }
        let number = self.queries.len() as u32;
        self.awaited += u32::from(self.is_awaited(self.queries.len(), now));
        self.queries.push(Query::new(now, self.fan_out));
        self.outstanding += 1;
        self.next = self.time(spec, self.queries.len());
        if self.persistent {
            self.shuffle();
        }
        Some(number)
    }

    /// Records that query `number` is complete. Returns the start of the next one, if it waited for
    /// that.
    pub fn on_query_completed(
        &mut self,
        now: Instant,
        number: u32,
        spec: &QueryClientSpec,
    ) -> Option<Instant> {
        self.outstanding -= 1;
        let start = self.queries[number as usize].start();
        self.awaited -= u32::from(self.is_awaited(number as usize, start));
        // In an open loop no query waits for another.
        let QuerySchedule::ClosedLoop { pause, .. } = spec.schedule else { return None };
        self.next = (self.queries.len() < self.total).then(|| now + pause);
        self.next
    }

    /// Draws the servers of a query (Fisher-Yates, as far as needed).
    fn shuffle(&mut self) {
        let n = self.order.len();
        for i in 0..(self.fan_out as usize).min(n) {
            let j = i + self.draw.below((n - i) as u64) as usize;
            self.order.swap(i, j);
        }
    }

    /// Returns the index of the `i`-th drawn server.
    fn server_index(&self, i: u32) -> u32 {
        // Without an order a query goes to all servers.
        self.order.get(i as usize).copied().unwrap_or(i)
    }

    /// Returns the connection of the `i`-th request of `query`, the query started last.
    pub fn connection(&self, query: u32, i: u32) -> u32 {
        self.first + if self.persistent { self.server_index(i) } else { query * self.fan_out + i }
    }

    /// Returns the query of a connection; `None` if it stays open between queries.
    pub fn query_of(&self, connection: u32) -> Option<u32> {
        (!self.persistent).then(|| (connection - self.first) / self.fan_out)
    }

    /// Delays a request by up to `jitter`. Returns its time.
    pub fn delay_request(
        &mut self,
        now: Instant,
        jitter: Duration,
        connection: u32,
        query: u32,
    ) -> Instant {
        let at = now + self.jitter.duration_below(jitter);
        self.due.push(Reverse((at, connection, query)));
        at
    }

    /// Returns the time of its next query or delayed request, if known.
    pub fn next_action(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        self.next.into_iter().chain(due).min()
    }

    /// Removes a request that is due: its connection and its query.
    pub fn take_due(&mut self, now: Instant) -> Option<(u32, u32)> {
        let Reverse((at, connection, query)) = *self.due.peek()?;
        if at > now {
            return None;
        }
        self.due.pop();
        Some((connection, query))
    }
}

fn check(spec: &QueryClientSpec, hosts: usize, connections: usize) -> Result<(), &'static str> {
    let exists = |host: &u32| (*host as usize) < hosts;
    let servers = spec.servers.len();
    let more = if spec.persistent {
        servers as u64
    } else {
        spec.queries().saturating_mul(u64::from(spec.fan_out))
    };
    let all = more.saturating_add(connections as u64).saturating_mul(2);
    let falls = |times: &Vec<Instant>| times.windows(2).any(|w| w[0] > w[1]);
    if !exists(&spec.client) || !spec.servers.iter().all(exists) {
        Err("its client and its servers must be hosts of the network")
    } else if spec.servers.contains(&spec.client) {
        Err("its client cannot be among its servers")
    } else if spec.fan_out == 0 || spec.fan_out as usize > servers {
        Err("a query must go to at least one of its servers and at most to all")
    } else if spec.request.as_u64() == 0 {
        Err("a request must have at least one byte")
    } else if spec.response_sizes.is_empty() || spec.response_sizes.iter().any(|a| a.as_u64() == 0)
    {
        Err("every answer must have at least one byte, and there must be one")
    } else if matches!(&spec.schedule, QuerySchedule::OpenLoop(of) if falls(&of.times)) {
        Err("the times of its queries must not fall")
    } else if all > u64::from(Entity::MAX_INDEX) {
        Err("a run has at most 134 million connections")
    } else {
        Ok(())
    }
}
