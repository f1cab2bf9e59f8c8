//! The records that shards keep for the end of the run, and their evaluation.

use std::mem;

use lowtide_sim::Scheduler;
use lowtide_tcp::CloseReason;

use super::shard::{CostClaim, CostSample, Shard};
use crate::app::{ConnProgress, ConnSide};
use crate::applications::query::QueryCost;
use crate::event_key::EventKey;
use crate::tables::Table;
use crate::world::World;

/// The records of all shards.
pub(super) struct CrossShardLog {
    /// Knows the global event order.
    order: Scheduler,
    /// Sides that have completed their flow, with the time; by side.
    ends: Vec<(u32, EventKey)>,
    /// By connection, then in order.
    costs: Vec<CostSample>,
    cost_claims: Vec<CostClaim>,
}

impl CrossShardLog {
    pub(super) const fn new(order: Scheduler) -> Self {
        Self { order, ends: Vec::new(), costs: Vec::new(), cost_claims: Vec::new() }
    }

    /// Takes the records of a shard.
    pub(super) fn take(&mut self, shard: &mut Shard, flows: &[ConnProgress]) {
        for (index, when) in mem::take(&mut shard.flow_ends) {
            let progress = flows.row(index as usize);
            let client = shard.map.shard_of(progress.client) == shard.id;
            let side = ConnSide::client(progress.number);
            self.ends.push((if client { side } else { side.peer() }.index(), when));
        }
        self.costs.append(&mut shard.costs);
        self.cost_claims.append(&mut shard.claims);
    }

    /// Sorts the records; call it when all are there.
    pub(super) fn sort(&mut self) {
        self.ends.sort_unstable_by_key(|(side, _)| *side);
        // Those of one connection come from one shard, already in order.
        self.costs.sort_by_key(|cost| cost.connection);
    }

    fn order_key(&self, key: EventKey) -> u128 {
        self.order.order_key(key.at, key.entity)
    }

    /// Returns the time when this side completed its flow, if it has.
    fn end(&self, side: ConnSide) -> Option<u128> {
        let found = self.ends.binary_search_by_key(&side.index(), |(side, _)| *side).ok()?;
        Some(self.order_key(self.ends[found].1))
    }

    /// Returns the failure of a flow across shards. Each end knows its own; the first one counts,
    /// unless the last byte was delivered before.
    pub(super) fn failure(
        &self,
        client: &ConnProgress,
        server: &ConnProgress,
    ) -> Option<CloseReason> {
        // Only the server's end may have failed.
        let Some(own) = client.failed else { return server.failed };
        if server.failed.is_none() && server.delivered_at.is_none() {
            return Some(own);
        }
        let side = ConnSide::client(client.number);
        match (self.end(side), self.end(side.peer())) {
            (Some(client), Some(other)) if other < client => server.failed,
            _ => Some(own),
        }
    }

    /// Returns the cost at the server's end of a connection before an event.
    fn cost_before(&self, connection: u32, key: EventKey) -> QueryCost {
        let limit = self.order_key(key);
        let is_before =
            |cost: &CostSample| (cost.connection, self.order_key(cost.when)) < (connection, limit);
        let after = self.costs.partition_point(is_before);
        // The first event of a connection has none before.
        let last = after.checked_sub(1).map(|i| &self.costs[i]);
        last.filter(|cost| cost.connection == connection).map_or(QueryCost::NONE, |cost| cost.sum)
    }

    /// Attributes to each query the cost at the remote ends of its connections.
    pub(super) fn attribute_costs(&self, whole: &mut World<'_>) {
        for claim in &self.cost_claims {
            let cost = self
                .cost_before(claim.connection, claim.to)
                .since(self.cost_before(claim.connection, claim.from));
            let query_client = whole.query_clients.list.row_mut(claim.query_client);
            query_client.queries.row_mut(claim.query).add_cost(cost);
        }
        for connection in whole.query_clients.connections() {
            for request in &mut whole.query_clients.exchange(connection).outstanding {
                let other = self.cost_before(connection as u32, request.sent_at);
                request.cost_before = request.cost_before.and(other);
            }
        }
    }
}
