//! What the parts of a run wrote down for its end, and what follows from it.

use std::mem;

use lowtide_sim::Scheduler;
use lowtide_tcp::CloseReason;

use crate::apart::{Apart, Claim, Cost};
use crate::app::{Progress, Side};
use crate::moment::Moment;
use crate::query::Suffered;
use crate::world::World;

/// What all parts wrote down.
pub(super) struct Notes {
    /// Knows the order of all events.
    order: Scheduler,
    /// Sides that have seen their flow to its end, and when; by side.
    ends: Vec<(u32, Moment)>,
    /// By connection, of each in order.
    costs: Vec<Cost>,
    claims: Vec<Claim>,
}

impl Notes {
    pub(super) const fn new(order: Scheduler) -> Self {
        Self { order, ends: Vec::new(), costs: Vec::new(), claims: Vec::new() }
    }

    /// Takes over the notes of a part.
    pub(super) fn take(&mut self, apart: &mut Apart, flows: &[Progress]) {
        for (place, when) in mem::take(&mut apart.ends) {
            let Some(progress) = flows.get(place as usize) else { continue };
            let client = apart.common.part(progress.client) == apart.part;
            let side = Side::client(progress.number);
            self.ends.push((if client { side } else { side.peer() }.index(), when));
        }
        self.costs.append(&mut apart.costs);
        self.claims.append(&mut apart.claims);
    }

    /// To be called when all notes are there.
    pub(super) fn sort(&mut self) {
        self.ends.sort_unstable_by_key(|(side, _)| *side);
        // Those of one connection are of one part, in order already.
        self.costs.sort_by_key(|cost| cost.connection);
    }

    fn place(&self, moment: Moment) -> u128 {
        self.order.place(moment.at, moment.entity)
    }

    /// When this side has seen its flow to its end.
    fn end(&self, side: Side) -> Option<u128> {
        let found = self.ends.binary_search_by_key(&side.index(), |(side, _)| *side).ok()?;
        self.ends.get(found).map(|(_, when)| self.place(*when))
    }

    /// Why a flow between two parts failed, of which each end knows its own: whatever came first counts, and
    /// nothing after the last byte was delivered.
    pub(super) fn failure(&self, client: &Progress, server: &Progress) -> Option<CloseReason> {
        let Some(own) = client.failed else { return server.failed };
        if server.failed.is_none() && server.delivered_at.is_none() {
            return Some(own);
        }
        let side = Side::client(client.number);
        match (self.end(side), self.end(side.peer())) {
            (Some(client), Some(other)) if other < client => server.failed,
            _ => Some(own),
        }
    }

    /// What the server's end of a connection had gone through before an event.
    fn before(&self, connection: u32, moment: Moment) -> Suffered {
        let place = self.place(moment);
        let is_before =
            |cost: &Cost| (cost.connection, self.place(cost.when)) < (connection, place);
        let after = self.costs.partition_point(is_before);
        let last = after.checked_sub(1).and_then(|i| self.costs.get(i));
        last.filter(|cost| cost.connection == connection).map_or(Suffered::NONE, |cost| cost.sum)
    }

    /// Gives each query what the other ends of its connections went through for it.
    pub(super) fn settle(&self, whole: &mut World<'_>) {
        for claim in &self.claims {
            let cost = self
                .before(claim.connection, claim.to)
                .since(self.before(claim.connection, claim.from));
            let asking = whole.askers.list.get_mut(claim.asker as usize);
            if let Some(query) = asking.and_then(|a| a.queries.get_mut(claim.query as usize)) {
                query.suffer(cost);
            }
        }
        for connection in whole.askers.connections() {
            let Some(exchange) = whole.askers.exchange(connection) else { continue };
            for request in &mut exchange.waiting {
                let other = self.before(connection as u32, request.asked);
                request.before = request.before.and(other);
            }
        }
    }
}
