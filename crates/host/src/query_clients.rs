//! All askers of a run, and how far each is: when it asks next, whom, and what its connections carry.
//!
//! Contract: the numbers of an asker's connections are known before the run. Where connections stay open
//! there is one per place in [`QueryClient::servers`], in that order; else `fan_out` per query, in the order of
//! queries. What is drawn (servers, jitter) comes from generators of this asker alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lowtide_sim::{Entity, Rng, Seed};
use lowtide_traffic::{QueryClientSpec, QuerySchedule};
use lowtide_units::{Duration, Instant};

use crate::app::ConnProgress;
use crate::error::RunError;
use crate::exchange::Exchange;
use crate::query::{Query, query_count, response_size};
use crate::setup::Setup;

/// All askers of a run.
#[derive(Debug)]
pub(crate) struct QueryClients {
    pub(crate) list: Vec<QueryClient>,
    /// By connection, from the first one of the first asker.
    pub(crate) exchanges: Vec<Exchange>,
    /// The number of that connection.
    pub(crate) first: usize,
}

/// One asker as it goes on.
#[derive(Debug)]
pub(crate) struct QueryClient {
    /// Number of its first connection.
    pub(crate) first: u32,
    persistent: bool,
    fan_out: u32,
    /// When it begins, jitter included.
    start: Instant,
    /// By how much the start jitter moves its queries.
    shift: Duration,
    /// How many queries it makes in all.
    total: usize,
    /// Those that have begun, by number.
    pub(crate) queries: Vec<Query>,
    /// Of these, queries that are not over.
    pub(crate) outstanding: u32,
    /// When the next one begins, where that is known.
    pub(crate) next: Option<Instant>,
    /// Its connections that stay open have been opened.
    pub(crate) connected: bool,
    /// Places in the list of servers, shuffled as far as was drawn; empty where a query goes to all.
    order: Vec<u32>,
    draw: Rng,
    jitter: Rng,
    /// Requests that leave later: when, on which connection, of which query.
    due: BinaryHeap<Reverse<(Instant, u32, u32)>>,
}

impl QueryClients {
    /// The askers of `setup`, whose connections are added to `flows`.
    pub(crate) fn new(setup: &Setup, flows: &mut Vec<ConnProgress>) -> Result<Self, RunError> {
        let mut askers = Self { list: Vec::new(), exchanges: Vec::new(), first: flows.len() };
        for (spec, index) in setup.query_clients.iter().zip(0_u32..) {
            let refuse = |problem| RunError::QueryClient { query_client: index as usize, problem };
            check(spec, setup.hosts.len(), flows.len()).map_err(refuse)?;
            let mut asking = QueryClient::new(setup, spec, index, flows.len() as u32);
            let progress = |place: u32, size| {
                let server = spec.servers.get(place as usize).copied().unwrap_or_default();
                let plain = ConnProgress::new(spec.group, spec.client, server, size);
                ConnProgress { server_sends: true, ..plain }
            };
            if spec.persistent {
                flows.extend((0..spec.servers.len() as u32).map(|place| progress(place, None)));
            } else {
                for query in 0..asking.total as u32 {
                    asking.shuffle();
                    let places = (0..spec.fan_out).map(|i| asking.server_index(i));
                    flows.extend(places.map(|p| progress(p, Some(response_size(spec, query)))));
                }
            }
            let here = flows.len() - askers.first;
            askers.exchanges.resize_with(here, || Exchange::new(index));
            askers.list.push(asking);
        }
        Ok(askers)
    }

    /// Nobody asks.
    pub(crate) const NONE: Self = Self { list: Vec::new(), exchanges: Vec::new(), first: 0 };

    /// Askers with queries to make.
    pub(crate) fn busy(&self) -> usize {
        self.list.iter().filter(|a| !a.is_over()).count()
    }

    /// When each begins.
    pub(crate) fn starts(&self) -> impl Iterator<Item = Instant> {
        self.list.iter().map(|a| a.start)
    }

    /// What a connection carries; `None` for one that belongs to no asker.
    pub(crate) fn exchange(&mut self, connection: usize) -> Option<&mut Exchange> {
        self.exchanges.get_mut(connection.checked_sub(self.first)?)
    }

    /// The numbers of all connections.
    pub(crate) fn connections(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.exchanges.len()
    }
}

impl QueryClient {
    fn new(setup: &Setup, spec: &QueryClientSpec, index: u32, first: u32) -> Self {
        let rng = |purpose| Seed::derive(setup.seed, "asker", u64::from(index), purpose).rng();
        let shift = rng("start jitter").duration_below(setup.disturbance.start_jitter);
        let some = (spec.fan_out as usize) < spec.servers.len();
        let servers = if some { spec.servers.len() as u32 } else { 0 };
        Self {
            first,
            persistent: spec.persistent,
            fan_out: spec.fan_out,
            start: spec.start + shift,
            shift,
            total: query_count(spec),
            queries: Vec::new(),
            outstanding: 0,
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

    /// When query `number` begins, if that depends on no other.
    fn time(&self, spec: &QueryClientSpec, number: usize) -> Option<Instant> {
        match &spec.schedule {
            QuerySchedule::ClosedLoop { .. } => {
                (number == 0 && self.total > 0).then_some(self.start)
            }
            QuerySchedule::OpenLoop(times) => {
                times.get(number).map(|at| (*at + self.shift).max(self.start))
            }
        }
    }

    /// All its queries are over.
    pub(crate) fn is_over(&self) -> bool {
        self.outstanding == 0 && self.queries.len() == self.total
    }

    /// Something is left to do that does not begin before `until`, or not before a pause of `least` after
    /// something else.
    pub(crate) fn cannot_finish_before(
        &self,
        spec: &QueryClientSpec,
        until: Instant,
        least: Duration,
    ) -> bool {
        let more = self.queries.len() < self.total;
        let pauses =
            matches!(spec.schedule, QuerySchedule::ClosedLoop { pause, .. } if pause >= least);
        more && (self.next.is_some_and(|at| at >= until) || (pauses && self.outstanding > 0))
    }

    /// The same with its connections counted from another number on.
    pub(crate) fn with_first(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// One that has nothing to do, in the place of another.
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

    /// Its connections that stay open.
    pub(crate) fn persistent_connections(&self, spec: &QueryClientSpec) -> std::ops::Range<u32> {
        let n = if self.persistent { spec.servers.len() as u32 } else { 0 };
        self.first..self.first + n
    }

    /// Begins a query if one is due; its number.
    pub(crate) fn begin(&mut self, now: Instant, spec: &QueryClientSpec) -> Option<u32> {
        if self.next? > now {
            return None;
        }
        let number = self.queries.len() as u32;
        self.queries.push(Query::new(now, self.fan_out));
        self.outstanding += 1;
        self.next = self.time(spec, self.queries.len());
        if self.persistent {
            self.shuffle();
        }
        Some(number)
    }

    /// A query is over: when the next one begins, if it waited for that.
    pub(crate) fn on_query_completed(
        &mut self,
        now: Instant,
        spec: &QueryClientSpec,
    ) -> Option<Instant> {
        self.outstanding -= 1;
        let QuerySchedule::ClosedLoop { pause, .. } = spec.schedule else { return None };
        self.next = (self.queries.len() < self.total).then(|| now + pause);
        self.next
    }

    /// Draws the servers of a query (Fisher and Yates, as far as needed).
    fn shuffle(&mut self) {
        let n = self.order.len();
        for i in 0..(self.fan_out as usize).min(n) {
            let j = i + self.draw.below((n - i) as u64) as usize;
            self.order.swap(i, j);
        }
    }

    /// The place in the list of servers of the `i`-th one that was drawn.
    fn server_index(&self, i: u32) -> u32 {
        self.order.get(i as usize).copied().unwrap_or(i)
    }

    /// The connection of the `i`-th request of `query`, which was begun last.
    pub(crate) fn connection(&self, query: u32, i: u32) -> u32 {
        self.first + if self.persistent { self.server_index(i) } else { query * self.fan_out + i }
    }

    /// A request will leave within `jitter`; when.
    pub(crate) fn delay_request(
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

    /// Takes a request that leaves now: its connection and its query.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<(u32, u32)> {
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
        (query_count(spec) as u64).saturating_mul(u64::from(spec.fan_out))
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
    } else if matches!(&spec.schedule, QuerySchedule::OpenLoop(times) if falls(times)) {
        Err("the times of its queries must not fall")
    } else if all > u64::from(Entity::MAX_INDEX) {
        Err("a run has at most 134 million connections")
    } else {
        Ok(())
    }
}
