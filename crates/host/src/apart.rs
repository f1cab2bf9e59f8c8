//! What a world knows that is only a part of a run, cut so that threads do its parts side by side
//! (`parallel/`).
//!
//! Contract: a world that is the whole run has none of this, and asks for it only where few events come by.
//! Connections and hosts are counted anew in each part, in their order; events, digests and results have their
//! numbers. Of a connection between two parts each has what belongs to its own end. What one end would have to
//! know of the other at once, and no packet tells, is for results only: it is written down here with the moment,
//! and put together when the run is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lowtide_sim::Entity;
use lowtide_tcp::ConnId;
use lowtide_units::Instant;

use crate::app::Side;
use crate::exchange::Request;
use crate::query::Suffered;
use crate::world::World;

/// An event, as far as others need to be put before or behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) entity: Entity,
}

impl Moment {
    /// Before everything.
    pub(crate) const START: Self = Self { at: Instant::ZERO, entity: Entity::new(0, 0) };
}

/// The server's end of a connection between two parts has gone through more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Number of the connection.
    pub(crate) connection: u32,
    pub(crate) when: Moment,
    /// All that it has gone through up to and with this event.
    pub(crate) sum: Suffered,
}

/// What the server's end went through from one moment to the other counts for this query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) connection: u32,
    pub(crate) asker: u32,
    pub(crate) query: u32,
    pub(crate) from: Moment,
    pub(crate) to: Moment,
}

/// A request is on its way to a server in another part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The connection, as the server's part counts.
    pub(crate) place: u32,
    pub(crate) query: u32,
}

/// What all parts know.
#[derive(Debug)]
pub(crate) struct Common {
    /// The part of each host, by number.
    pub(crate) parts: Vec<u16>,
    /// The place of each host in its part.
    pub(crate) places: Vec<u32>,
    /// A bit for each connection between two parts that one of its ends has seen to its end.
    pub(crate) over: Vec<AtomicU64>,
}

/// What one part knows.
#[derive(Debug)]
pub(crate) struct Apart {
    pub(crate) common: Arc<Common>,
    /// Number of this part.
    pub(crate) part: u16,
    /// Numbers of its connections, ascending.
    pub(crate) numbers: Vec<u32>,
    /// The event that is being handled.
    pub(crate) moment: Moment,
    /// Flows and askers that are over here.
    pub(crate) over: usize,
    /// Flows between two parts that this end has seen to their end: place, and when.
    pub(crate) ends: Vec<(u32, Moment)>,
    pub(crate) costs: Vec<Cost>,
    pub(crate) claims: Vec<Claim>,
    /// For which part.
    pub(crate) asked: Vec<(usize, Asked)>,
}

impl Common {
    /// One end of this connection has seen it to its end; whether it is the first.
    fn is_first(&self, number: u32) -> bool {
        let bit = 1 << (number % u64::BITS);
        let word = self.over.get((number / u64::BITS) as usize);
        word.is_none_or(|word| word.fetch_or(bit, Ordering::Relaxed) & bit == 0)
    }
    /// Whether either end of this connection has seen it to its end.
    pub(crate) fn is_over(&self, number: u32) -> bool {
        let word = self.over.get((number / u64::BITS) as usize);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % u64::BITS) & 1 == 1)
    }
    /// The part of a host.
    pub(crate) fn part(&self, host: u32) -> u16 {
        self.parts.get(host as usize).copied().unwrap_or_default()
    }
}

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
