//! What a part of a run does for connections whose other end is in another part, and how it finds what events
//! name by numbers of the whole ([`crate::apart`]). A world that is the whole run does none of it.

use lowtide_tcp::ConnId;

use crate::app::ConnSide;
use crate::event_key::EventKey;
use crate::exchange::Request;
use crate::query::QueryCost;
use crate::shard::{CostClaim, CostSample, RemoteRequest};
use crate::world::World;

impl World<'_> {
    /// Where the connection of that number is.
    #[inline]
    pub(crate) fn local_flow(&self, number: u32) -> u32 {
        match &self.shard {
            None => number,
            Some(apart) => apart.numbers.binary_search(&number).map_or(u32::MAX / 2, |i| i as u32),
        }
    }

    /// Where the host of that number is.
    #[inline]
    pub(crate) fn local_host(&self, number: u32) -> u32 {
        match &self.shard {
            None => number,
            Some(apart) => apart.map.local_hosts.get(number as usize).copied().unwrap_or(u32::MAX),
        }
    }

    /// The event that is being handled, where that is known.
    pub(crate) fn current_event(&self) -> EventKey {
        self.shard.as_ref().map_or(EventKey::START, |apart| apart.current_event)
    }

    /// The part of the other end of a connection, if it is another.
    fn peer_shard(&self, side: ConnSide) -> Option<u16> {
        let apart = self.shard.as_ref()?;
        let progress = self.flows.get(side.flow())?;
        let peer = if side.is_client() { progress.server } else { progress.client };
        Some(apart.map.shard_of(peer)).filter(|part| *part != apart.id)
    }

    /// The flow of this side, or an asker, has nothing more to wait for.
    #[cold]
    pub(crate) fn on_shard_completed(&mut self, side: Option<ConnSide>) {
        let between = side.filter(|side| self.peer_shard(*side).is_some());
        let number = between.and_then(|side| self.flows.get(side.flow())).map(|p| p.number);
        let Some(apart) = &mut self.shard else { return };
        if let Some(side) = between {
            apart.flow_ends.push((side.flow() as u32, apart.current_event));
        }
        apart.completed += usize::from(number.is_none_or(|number| apart.map.complete(number)));
    }

    /// A request of `query` leaves: a server in another part must know which one it is.
    pub(crate) fn notify_server(&mut self, side: ConnSide, query: u32) {
        let Some(part) = self.peer_shard(side) else { return };
        let Some(place) = self.flows.get(side.flow()).map(|p| p.peer_index) else { return };
        if let Some(apart) = &mut self.shard {
            apart.remote_requests.push((part.into(), RemoteRequest { connection: place, query }));
        }
    }

    /// A request was answered, or never will be: what the server's end went through for it is found later, if
    /// that is in another part.
    pub(crate) fn attribute_cost(&mut self, side: ConnSide, asker: u32, request: Request) {
        if self.peer_shard(side).is_none() {
            return;
        }
        let Some(connection) = self.flows.get(side.flow()).map(|p| p.number) else { return };
        if let Some(apart) = &mut self.shard {
            let (from, to) = (request.sent_at, apart.current_event);
            apart.claims.push(CostClaim {
                connection,
                query_client: asker,
                query: request.query,
                from,
                to,
            });
        }
    }

    /// A side of an asker's connection has had its turn: what the server's has gone through is written down, if
    /// the client is in another part.
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
        if let Some(apart) = &mut self.shard {
            apart.costs.push(CostSample { connection, when: apart.current_event, sum });
        }
    }
}
