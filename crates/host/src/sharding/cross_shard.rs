//! Handling of connections whose other end is in another shard, and translation of global numbers
//! in events ([`crate::sharding::shard`]). Unused if there is one shard.

use lowtide_tcp::ConnId;

use super::shard::{CostClaim, CostSample, RemoteRequest, Shard};
use crate::app::ConnSide;
use crate::applications::exchange::Request;
use crate::applications::query::QueryCost;
use crate::event_key::EventKey;
use crate::tables::{Table, missing};
use crate::world::World;

impl World<'_> {
    /// Returns the shard that this world is; the run must be split.
    #[track_caller]
    pub(crate) fn own_shard(&self) -> &Shard {
        self.shard.as_deref().expect("the run is split")
    }

    /// Returns the shard that this world is; the run must be split.
    #[track_caller]
    pub(crate) fn own_shard_mut(&mut self) -> &mut Shard {
        self.shard.as_deref_mut().expect("the run is split")
    }

    /// Returns the local index of the connection with that number, which must be here.
    #[inline]
    #[track_caller]
    pub(crate) fn local_flow(&self, number: u32) -> u32 {
        let Some(index) = self.find_flow(number) else { missing("connections of a shard", number) };
        index
    }

    /// Returns the local index of the connection with that number; `None` if it is not here.
    #[inline]
    pub(crate) fn find_flow(&self, number: u32) -> Option<u32> {
        match &self.shard {
            None => Some(number),
            Some(shard) => shard.numbers.binary_search(&number).ok().map(|i| i as u32),
        }
    }

    /// Returns the local index of the host with that number.
    #[inline]
    pub(crate) fn local_host(&self, number: u32) -> u32 {
        match &self.shard {
            None => number,
            Some(shard) => shard.map.local_host(number),
        }
    }

    /// Returns the event being handled, if known.
    pub(crate) fn current_event(&self) -> EventKey {
        self.shard.as_ref().map_or(EventKey::START, |shard| shard.current_event)
    }

    /// Returns the shard of the other end of a connection, if it is another one.
    fn peer_shard(&self, side: ConnSide) -> Option<u16> {
        let shard = self.shard.as_ref()?;
        let progress = self.flows.row(side.flow());
        let peer = if side.is_client() { progress.server } else { progress.client };
        Some(shard.map.shard_of(peer)).filter(|peer_shard| *peer_shard != shard.id)
    }

    /// Records that the flow of this side, or a query client, has nothing left to wait for.
    #[cold]
    pub(crate) fn on_shard_completed(&mut self, side: Option<ConnSide>) {
        let cross_shard = side.filter(|side| self.peer_shard(*side).is_some());
        let number = cross_shard.map(|side| self.flows.row(side.flow()).number);
        let shard = self.own_shard_mut();
        if let Some(side) = cross_shard {
            shard.flow_ends.push((side.flow() as u32, shard.current_event));
        }
        shard.completed += usize::from(number.is_none_or(|number| shard.map.complete(number)));
    }

    /// Announces a request of `query` to a server in another shard.
    pub(crate) fn notify_server(&mut self, side: ConnSide, query: u32) {
        // A server in the same shard needs no announcement.
        let Some(peer_shard) = self.peer_shard(side) else { return };
        let connection = self.flows.row(side.flow()).peer_index;
        let announced = (peer_shard.into(), RemoteRequest { connection, query });
        self.own_shard_mut().remote_requests.push(announced);
    }

    /// Records that a request was answered or failed. If the server is in another shard, the cost
    /// at its end is found after the run.
    pub(crate) fn attribute_cost(&mut self, side: ConnSide, query_client: u32, request: Request) {
        if self.peer_shard(side).is_none() {
            return;
        }
        let connection = self.flows.row(side.flow()).number;
        let shard = self.own_shard_mut();
        let (from, to) = (request.sent_at, shard.current_event);
        shard.claims.push(CostClaim { connection, query_client, query: request.query, from, to });
    }

    /// Records the cost at the server side of a query connection, if the client is in another
    /// shard.
    pub(crate) fn record_cost(&mut self, side: ConnSide, id: ConnId) {
        if side.is_client() || self.peer_shard(side).is_none() {
            return;
        }
        let mut sum = QueryCost::default();
        sum.count(self.conn(side, id).counters());
        let connection = self.flows.row(side.flow()).number;
        let exchange = self.query_clients.exchange(side.flow());
        if exchange.recorded_cost == sum {
            return;
        }
        exchange.recorded_cost = sum;
        let shard = self.own_shard_mut();
        shard.costs.push(CostSample { connection, when: shard.current_event, sum });
    }
}
