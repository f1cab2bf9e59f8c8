//! What a part of a run does for connections whose other end is in another part, and how it finds what events
//! name by numbers of the whole ([`crate::apart`]). A world that is the whole run does none of it.

use lowtide_tcp::ConnId;

use crate::apart::{Asked, Claim, Cost};
use crate::app::Side;
use crate::exchange::Request;
use crate::moment::Moment;
use crate::query::Suffered;
use crate::world::World;

impl World<'_> {
    /// Where the connection of that number is.
    #[inline]
    pub(crate) fn flow_place(&self, number: u32) -> u32 {
        match &self.apart {
            None => number,
            Some(apart) => apart.numbers.binary_search(&number).map_or(u32::MAX / 2, |i| i as u32),
        }
    }

    /// Where the host of that number is.
    #[inline]
    pub(crate) fn host_place(&self, number: u32) -> u32 {
        match &self.apart {
            None => number,
            Some(apart) => apart.common.places.get(number as usize).copied().unwrap_or(u32::MAX),
        }
    }

    /// The event that is being handled, where that is known.
    pub(crate) fn moment(&self) -> Moment {
        self.apart.as_ref().map_or(Moment::START, |apart| apart.moment)
    }

    /// The part of the other end of a connection, if it is another.
    fn other_part(&self, side: Side) -> Option<u16> {
        let apart = self.apart.as_ref()?;
        let progress = self.flows.get(side.flow())?;
        let peer = if side.is_client() { progress.server } else { progress.client };
        Some(apart.common.part(peer)).filter(|part| *part != apart.part)
    }

    /// The flow of this side, or an asker, has nothing more to wait for.
    #[cold]
    pub(crate) fn one_of_a_part_is_over(&mut self, side: Option<Side>) {
        let between = side.filter(|side| self.other_part(*side).is_some());
        let number = between.and_then(|side| self.flows.get(side.flow())).map(|p| p.number);
        let Some(apart) = &mut self.apart else { return };
        if let Some(side) = between {
            apart.ends.push((side.flow() as u32, apart.moment));
        }
        apart.over += usize::from(number.is_none_or(|number| apart.common.is_first(number)));
    }

    /// A request of `query` leaves: a server in another part must know which one it is.
    pub(crate) fn tell_server(&mut self, side: Side, query: u32) {
        let Some(part) = self.other_part(side) else { return };
        let Some(place) = self.flows.get(side.flow()).map(|p| p.there) else { return };
        if let Some(apart) = &mut self.apart {
            apart.asked.push((part.into(), Asked { place, query }));
        }
    }

    /// A request was answered, or never will be: what the server's end went through for it is found later, if
    /// that is in another part.
    pub(crate) fn claim_cost(&mut self, side: Side, asker: u32, request: Request) {
        if self.other_part(side).is_none() {
            return;
        }
        let Some(connection) = self.flows.get(side.flow()).map(|p| p.number) else { return };
        if let Some(apart) = &mut self.apart {
            let (from, to) = (request.asked, apart.moment);
            apart.claims.push(Claim { connection, asker, query: request.query, from, to });
        }
    }

    /// A side of an asker's connection has had its turn: what the server's has gone through is written down, if
    /// the client is in another part.
    pub(crate) fn note_cost(&mut self, side: Side, id: ConnId) {
        if side.is_client() || self.other_part(side).is_none() {
            return;
        }
        let mut sum = Suffered::default();
        if let Some(conn) = self.conn(side, id) {
            sum.count(conn.counters());
        }
        let Some(connection) = self.flows.get(side.flow()).map(|p| p.number) else { return };
        let Some(exchange) = self.askers.exchange(side.flow()) else { return };
        if exchange.noted == sum {
            return;
        }
        exchange.noted = sum;
        if let Some(apart) = &mut self.apart {
            apart.costs.push(Cost { connection, when: apart.moment, sum });
        }
    }
}
