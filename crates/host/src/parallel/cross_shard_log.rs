//! What the parts of a run wrote down for its end, and what follows from it.

use std::mem;

use lowtide_sim::Scheduler;
use lowtide_tcp::CloseReason;

use crate::app::{ConnProgress, ConnSide};
use crate::event_key::EventKey;
use crate::query::QueryCost;
use crate::shard::{CostClaim, CostSample, Shard};
use crate::world::World;

/// What all parts wrote down.
pub(super) struct CrossShardLog {
    /// Knows the order of all events.
    order: Scheduler,
    /// Sides that have seen their flow to its end, and when; by side.
    ends: Vec<(u32, EventKey)>,
    /// By connection, of each in order.
    costs: Vec<CostSample>,
    cost_claims: Vec<CostClaim>,
}

impl CrossShardLog {
    pub(super) const fn new(order: Scheduler) -> Self {
        Self { order, ends: Vec::new(), costs: Vec::new(), cost_claims: Vec::new() }
    }

    /// Takes over the notes of a part.
    pub(super) fn take(&mut self, apart: &mut Shard, flows: &[ConnProgress]) {
        for (place, when) in mem::take(&mut apart.flow_ends) {
            let Some(progress) = flows.get(place as usize) else { continue };
            let client = apart.map.shard_of(progress.client) == apart.id;
            let side = ConnSide::client(progress.number);
            self.ends.push((if client { side } else { side.peer() }.index(), when));
        }
        self.costs.append(&mut apart.costs);
        self.cost_claims.append(&mut apart.claims);
    }

    /// To be called when all notes are there.
    pub(super) fn sort(&mut self) {
        self.ends.sort_unstable_by_key(|(side, _)| *side);
        // Those of one connection are of one part, in order already.
        self.costs.sort_by_key(|cost| cost.connection);
    }

    fn order_key(&self, moment: EventKey) -> u128 {
        self.order.order_key(moment.at, moment.entity)
    }

    /// When this side has seen its flow to its end.
    fn end(&self, side: ConnSide) -> Option<u128> {
        let found = self.ends.binary_search_by_key(&side.index(), |(side, _)| *side).ok()?;
        self.ends.get(found).map(|(_, when)| self.order_key(*when))
    }

    /// Why a flow between two parts failed, of which each end knows its own: whatever came first counts, and
    /// nothing after the last byte was delivered.
    pub(super) fn failure(
        &self,
        client: &ConnProgress,
        server: &ConnProgress,
    ) -> Option<CloseReason> {
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

    /// What the server's end of a connection had gone through before an event.
    fn cost_before(&self, connection: u32, moment: EventKey) -> QueryCost {
        let place = self.order_key(moment);
        let is_before =
            |cost: &CostSample| (cost.connection, self.order_key(cost.when)) < (connection, place);
        let after = self.costs.partition_point(is_before);
        let last = after.checked_sub(1).and_then(|i| self.costs.get(i));
        last.filter(|cost| cost.connection == connection).map_or(QueryCost::NONE, |cost| cost.sum)
    }

    /// Gives each query what the other ends of its connections went through for it.
    pub(super) fn attribute_costs(&self, whole: &mut World<'_>) {
        for claim in &self.cost_claims {
            let cost = self
                .cost_before(claim.connection, claim.to)
                .since(self.cost_before(claim.connection, claim.from));
            let asking = whole.query_clients.list.get_mut(claim.query_client as usize);
            if let Some(query) = asking.and_then(|a| a.queries.get_mut(claim.query as usize)) {
                query.add_cost(cost);
            }
        }
        for connection in whole.query_clients.connections() {
            let Some(exchange) = whole.query_clients.exchange(connection) else { continue };
            for request in &mut exchange.outstanding {
                let other = self.cost_before(connection as u32, request.sent_at);
                request.cost_before = request.cost_before.and(other);
            }
        }
    }
}
