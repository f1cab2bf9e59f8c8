//! Queries in progress, and their rows.

use lowtide_rows::{FlowStatus, QueryRow};
use lowtide_tcp::{CloseReason, Counters};
use lowtide_traffic::QueryClientSpec;
use lowtide_units::{Bytes, Instant};

use crate::setup::Setup;
use crate::tables::Row;

/// The cost of a connection, both sides together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueryCost {
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Retransmitted payload bytes.
    pub retx_bytes: u64,
}

impl QueryCost {
    /// No cost.
    pub const NONE: Self = Self { timeouts: 0, retx_bytes: 0 };

    /// Returns the sum.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self {
            timeouts: self.timeouts + more.timeouts,
            retx_bytes: self.retx_bytes + more.retx_bytes,
        }
    }

    /// Adds the counters of one side.
    pub(crate) const fn count(&mut self, counters: &Counters) {
        self.timeouts += counters.rto_count;
        self.retx_bytes += counters.bytes_retrans;
    }

    /// Returns the cost since `before`.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            retx_bytes: self.retx_bytes.saturating_sub(before.retx_bytes),
        }
    }
}

/// One query in progress.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    start: Instant,
    end: Option<Instant>,
    /// Outstanding answers.
    missing: u32,
    cost: QueryCost,
    failed: Option<CloseReason>,
}

impl Row for Query {
    const TABLE: &'static str = "queries of a client";
    type Key = u32;

    fn index(number: u32) -> usize {
        number as usize
    }
}

impl Query {
    pub(crate) fn new(start: Instant, fan_out: u32) -> Self {
        let cost = QueryCost::default();
        Self { start, end: None, missing: fan_out, cost, failed: None }
    }

    /// Returns its start.
    pub(crate) const fn start(&self) -> Instant {
        self.start
    }

    /// Adds the cost of one of its requests so far.
    pub const fn add_cost(&mut self, more: QueryCost) {
        self.cost = self.cost.and(more);
    }

    /// Records an answer at `now`, or its failure with a reason. Returns true if it was the last
    /// one.
    pub fn complete_one(&mut self, now: Instant, lost: Option<CloseReason>) -> bool {
        self.failed = self.failed.or(lost);
        self.missing = self.missing.saturating_sub(1);
        let over = self.missing == 0;
        if over && self.failed.is_none() {
            self.end = Some(now);
        }
        over
    }

    /// Returns its row, given the end of the warm-up and the end of the run.
    pub fn row(
        &self,
        setup: &Setup,
        spec: &QueryClientSpec,
        query_client: u32,
        number: u32,
        warm: Instant,
        ended: Instant,
    ) -> QueryRow {
        let deadline_met = spec.deadline.and_then(|deadline| match self.end {
            Some(end) => Some(end.saturating_since(self.start) <= deadline),
            None if self.failed.is_some() => Some(false),
            None => (ended.saturating_since(self.start) > deadline).then_some(false),
        });
        let status = match (self.end, self.failed) {
            (Some(_), _) => FlowStatus::Complete,
            (None, Some(_)) => FlowStatus::Failed,
            (None, None) => FlowStatus::Unfinished,
        };
        QueryRow {
            group: setup.group_name(spec.group),
            query_client,
            query: number,
            client: setup.host_name(spec.client),
            fan_out: spec.fan_out,
            start_ps: self.start.as_ps(),
            end_ps: self.end.map(Instant::as_ps),
            qct_ps: self.end.map(|end| end.saturating_since(self.start).as_ps()),
            answer_bytes: response_size(spec, number).as_u64() * u64::from(spec.fan_out),
            deadline_met,
            timeouts: self.cost.timeouts,
            bytes_retrans: self.cost.retx_bytes,
            in_warmup: self.start < warm,
            counted: Some(setup.counts_query(&spec.schedule, number, self.start)),
            status,
            error: self.failed.map(|reason| reason.name().to_owned()),
        }
    }
}

/// Returns the bytes of each answer of that query.
pub fn response_size(spec: &QueryClientSpec, query: u32) -> Bytes {
    spec.response_sizes[query as usize % spec.response_sizes.len()]
}
