//! Handling of connections whose other end is in another shard, and translation of global numbers
//! in events ([`crate::sharding::shard`]). Unused if there is one shard.

use lowtide_tcp::ConnId;

use super::shard::{CostClaim, CostSample, RemoteRequest};
use crate::app::ConnSide;
use crate::applications::exchange::Request;
use crate::applications::query::QueryCost;
use crate::event_key::EventKey;
use crate::world::World;

impl World<'_> {
    /// Returns the local index of the connection with that number.
    #[inline]
    pub(crate) fn local_flow(&self, number: u32) -> u32 {
        match &self.shard {
            None => number,
            Some(shard) => shard.numbers.binary_search(&number).map_or(u32::MAX / 2, |i| i as u32),
        }
    }

    /// Returns the local index of the host with that number.
    #[inline]
    pub(crate) fn local_host(&self, number: u32) -> u32 {
        match &self.shard {
            None => number,
            Some(shard) => shard.map.local_hosts.get(number as usize).copied().unwrap_or(u32::MAX),
        }
    }

    /// Returns the event being handled, if known.
    pub(crate) fn current_event(&self) -> EventKey {
        self.shard.as_ref().map_or(EventKey::START, |shard| shard.current_event)
    }

    /// Returns the shard of the other end of a connection, if it is another one.
    fn peer_shard(&self, side: ConnSide) -> Option<u16> {
        let shard = self.shard.as_ref()?;
        let progress = self.flows.get(side.flow())?;
        let peer = if side.is_client() { progress.server } else { progress.client };
        Some(shard.map.shard_of(peer)).filter(|peer_shard| *peer_shard != shard.id)
    }

    /// Records that the flow of this side, or a query client, has nothing left to wait for.
    #[cold]
    pub(crate) fn on_shard_completed(&mut self, side: Option<ConnSide>) {
        let cross_shard = side.filter(|side| self.peer_shard(*side).is_some());
        let number = cross_shard.and_then(|side| self.flows.get(side.flow())).map(|p| p.number);
        let Some(shard) = &mut self.shard else { return };
        if let Some(side) = cross_shard {
            shard.flow_ends.push((side.flow() as u32, shard.current_event));
        }
        shard.completed += usize::from(number.is_none_or(|number| shard.map.complete(number)));
    }

    /// Announces a request of `query` to a server in another shard.
    pub(crate) fn notify_server(&mut self, side: ConnSide, query: u32) {
        let Some(peer_shard) = self.peer_shard(side) else { return };
        let Some(index) = self.flows.get(side.flow()).map(|p| p.peer_index) else { return };
        if let Some(shard) = &mut self.shard {
            shard
                .remote_requests
                .push((peer_shard.into(), RemoteRequest { connection: index, query }));
        }
    }

    /// Records that a request was answered or failed. If the server is in another shard, the cost
    /// at its end is found after the run.
    pub(crate) fn attribute_cost(&mut self, side: ConnSide, query_client: u32, request: Request) {
        if self.peer_shard(side).is_none() {
            return;
        }
        let Some(connection) = self.flows.get(side.flow()).map(|p| p.number) else { return };
        if let Some(shard) = &mut self.shard {
            let (from, to) = (request.sent_at, shard.current_event);
            shard.claims.push(CostClaim {
                connection,
                query_client,
                query: request.query,
                from,
                to,
            });
        }
    }

    /// Records the cost at the server side of a query connection, if the client is in another
    /// shard.
    pub(crate) fn record_cost(&mut self, side: ConnSide, id: ConnId) {
        if side.is_client() || self.peer_shard(side).is_none() {
            return;
        }
        let mut sum = QueryCost::default();
        if let Some(conn) = self.conn(side, id) {
            sum.count(conn.counters());
        }
        let Some(connection) = self.flows.get(side.flow()).map(|p| p.number) else { return };
        let Some(exchange) = self.query_clients.exchange(side.flow()) else { return };
        if exchange.recorded_cost == sum {
            return;
        }
        exchange.recorded_cost = sum;
        if let Some(shard) = &mut self.shard {
            shard.costs.push(CostSample { connection, when: shard.current_event, sum });
        }
    }
}
