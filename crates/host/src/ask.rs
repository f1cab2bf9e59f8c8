//! The client of an asker: opens connections, asks, and takes note of answers.
//!
//! Contract: a client knows what its own connections tell it and nothing else. A connection that stays open
//! is not opened again after it has failed: what is asked on it fails at once, and the query with it. A
//! query is over when each of its answers is there or will never be; the next one of a closed loop follows
//! in either case.

use lowtide_sim::{Entity, Scheduler};
use lowtide_tcp::{CloseReason, ConnId, Event};
use lowtide_units::{Duration, Instant};

use crate::app::Side;
use crate::askers::Asking;
use crate::exchange::Request;
use crate::outcome::QueryRecord;
use crate::query::{Suffered, answer};
use crate::world::{ASK, World};

impl World<'_> {
    /// An asker has something to do.
    pub(crate) fn ask(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        let Some(spec) = self.setup.askers.get(index as usize) else { return };
        let Some(asking) = self.askers.list.get_mut(index as usize) else { return };
        let standing = asking.standing(spec);
        if asking.is_over() {
            standing.for_each(|connection| self.hang_up(now, connection, sched));
            return;
        }
        if !asking.called {
            asking.called = true;
            if let Some(first) = asking.next.filter(|at| *at > now) {
                sched.at(first, Entity::new(ASK, index));
            }
            standing.for_each(|connection| self.call(now, connection, sched));
        }
        while let Some(asking) = self.askers.list.get_mut(index as usize) {
            let Some(query) = asking.begin(now, spec) else { break };
            if let Some(next) = asking.next.filter(|at| *at > now) {
                sched.at(next, Entity::new(ASK, index));
            }
            for i in 0..spec.fan_out {
                let Some(asking) = self.askers.list.get_mut(index as usize) else { break };
                let connection = asking.connection(query, i);
                if spec.jitter == Duration::ZERO {
                    self.request(now, connection, query, sched);
                } else {
                    let at = asking.put_off(now, spec.jitter, connection, query);
                    sched.at(at, Entity::new(ASK, index));
                }
            }
        }
        while let Some(asking) = self.askers.list.get_mut(index as usize) {
            let Some((connection, query)) = asking.take_due(now) else { break };
            self.request(now, connection, query, sched);
        }
    }

    /// Opens a connection; one that cannot be opened has failed.
    fn call(&mut self, now: Instant, connection: u32, sched: &mut Scheduler) {
        let side = Side::client(connection);
        let opened = self.open(now, side);
        if let Some(progress) = self.flows.get_mut(connection as usize) {
            progress.start = now;
            if opened.is_none() {
                // Out of ephemeral ports.
                progress.failed = Some(CloseReason::Aborted);
            }
        }
        if let Some(id) = opened {
            self.serve(now, side, id, sched);
        }
    }

    /// Closes a connection that has stayed open.
    fn hang_up(&mut self, now: Instant, connection: u32, sched: &mut Scheduler) {
        let side = Side::client(connection);
        let Some(id) = self.handles.get(side.index() as usize).and_then(|h| h.conn) else { return };
        if let Some(conn) = self.conn(side, id) {
            conn.close();
        }
        self.serve(now, side, id, sched);
    }

    /// A request of a query leaves.
    fn request(&mut self, now: Instant, connection: u32, query: u32, sched: &mut Scheduler) {
        let side = Side::client(connection);
        let before = self.suffered(side);
        let asked = self.moment();
        let Some(exchange) = self.askers.exchange(connection as usize) else { return };
        let Some(spec) = self.setup.askers.get(exchange.asker as usize) else { return };
        exchange.request(query, answer(spec, query), before, asked);
        self.tell_server(side, query);
        if !spec.standing {
            self.call(now, connection, sched);
        }
        let id = self.handles.get(side.index() as usize).and_then(|h| h.conn);
        match id.and_then(|id| self.conn(side, id).map(|conn| (id, conn))) {
            Some((id, conn)) => {
                conn.send(spec.request.as_u64());
                self.serve(now, side, id, sched);
            }
            None => self.give_up(now, side, None, sched),
        }
    }

    /// What a connection of an asker has to tell the application of its end. True when it can be
    /// released.
    #[inline(never)]
    pub(crate) fn converse(
        &mut self,
        now: Instant,
        side: Side,
        id: ConnId,
        sched: &mut Scheduler,
    ) -> bool {
        let mut over = false;
        while let Some(conn) = self.conn(side, id) {
            let Some(event) = conn.poll_event() else { break };
            match event {
                Event::PeerClosed => conn.close(),
                Event::Closed(reason) => {
                    over = true;
                    if side.is_client() {
                        self.give_up(now, side, Some(reason), sched);
                    }
                }
                Event::Readable { upto } if side.is_client() => {
                    conn.read(upto);
                    self.answered(now, side, upto, sched);
                }
                Event::Readable { upto } => self.requested(side, id, upto),
                Event::Established if side.is_client() => {
                    if let Some(progress) = self.flows.get_mut(side.flow()) {
                        progress.established = Some(now);
                    }
                }
                Event::Established | Event::Writable => {}
            }
        }
        over
    }

    /// The client has got its server's stream up to `upto`.
    fn answered(&mut self, now: Instant, side: Side, upto: u64, sched: &mut Scheduler) {
        let warm = self.warm;
        if let Some(progress) = self.flows.get_mut(side.flow()) {
            progress.note_delivered(now, upto, warm);
        }
        while let Some(exchange) = self.askers.exchange(side.flow()) {
            let asker = exchange.asker;
            let Some(request) = exchange.take_answered(upto) else { break };
            self.settle(now, side, asker, request, None, sched);
        }
    }

    /// The connection is over for that reason, or there has been none: what it was to answer is lost.
    fn give_up(
        &mut self,
        now: Instant,
        side: Side,
        reason: Option<CloseReason>,
        sched: &mut Scheduler,
    ) {
        let Some(progress) = self.flows.get_mut(side.flow()) else { return };
        let Some(exchange) = self.askers.exchange(side.flow()) else { return };
        let asker = exchange.asker;
        let over = self.askers.list.get(asker as usize).is_none_or(Asking::is_over);
        let unanswered = progress.delivered_at.is_none() && !over;
        if let Some(reason) = reason.filter(|r| *r != CloseReason::Normal && unanswered) {
            progress.failed.get_or_insert(reason);
        }
        let why = progress.failed.or(reason).unwrap_or(CloseReason::Aborted);
        while let Some(exchange) = self.askers.exchange(side.flow()) {
            let Some(request) = exchange.take_answered(u64::MAX) else { break };
            self.settle(now, side, asker, request, Some(why), sched);
        }
        if let Some(exchange) = self.askers.exchange(side.flow()) {
            // Of a million connections most are over.
            exchange.waiting.shrink_to_fit();
        }
    }

    /// An answer is there, or is lost for a reason.
    fn settle(
        &mut self,
        now: Instant,
        side: Side,
        asker: u32,
        request: Request,
        lost: Option<CloseReason>,
        sched: &mut Scheduler,
    ) {
        let suffered = self.suffered(side).since(request.before);
        self.claim_cost(side, asker, request);
        let Some(spec) = self.setup.askers.get(asker as usize) else { return };
        let Some(asking) = self.askers.list.get_mut(asker as usize) else { return };
        let Some(query) = asking.queries.get_mut(request.query as usize) else { return };
        query.suffer(suffered);
        if !query.settle(now, lost) {
            return;
        }
        let next = asking.follow(now, spec);
        if asking.is_over() {
            // It hangs up, unless the run ends here.
            sched.at(now, Entity::new(ASK, asker));
            self.one_is_over(None);
        } else if let Some(next) = next {
            sched.at(next, Entity::new(ASK, asker));
        }
    }

    /// What the connection of `side` has gone through.
    fn suffered(&mut self, side: Side) -> Suffered {
        let mut sum = Suffered::default();
        for side in [side, side.peer()] {
            if let Some(info) = self.info(side) {
                sum.add(&info);
            }
        }
        sum
    }

    /// The rows of all queries, in a run that ended at `ended`.
    pub(crate) fn query_rows(&mut self, ended: Instant) -> Vec<QueryRecord> {
        // What those under way have cost so far.
        for connection in self.askers.connections() {
            let Some(exchange) = self.askers.exchange(connection) else { continue };
            if exchange.waiting.is_empty() {
                continue;
            }
            let (asker, waiting) = (exchange.asker, std::mem::take(&mut exchange.waiting));
            let now = self.suffered(Side::client(connection as u32));
            let Some(asking) = self.askers.list.get_mut(asker as usize) else { continue };
            for request in waiting {
                if let Some(query) = asking.queries.get_mut(request.query as usize) {
                    query.suffer(now.since(request.before));
                }
            }
        }
        let times = (self.warm, ended);
        let askers = self.setup.askers.iter().zip(&self.askers.list).zip(0..);
        let rows = askers.flat_map(|((spec, asking), asker)| {
            let numbered = asking.queries.iter().zip(0..);
            numbered.map(move |(query, number)| query.record(spec, (asker, number), times))
        });
        rows.collect()
    }
}
