//! The ranks of collectives: each runs its lanes of steps ([`lowtide_traffic::CollectiveSpec`]).
//!
//! Contract: a rank knows only the bytes delivered to its own host, so ranks of different shards
//! share nothing. If a connection fails, the ranks that wait for it stay in their iteration.

use lowtide_sim::{Entity, Scheduler};
use lowtide_traffic::Message;
use lowtide_units::Instant;

use super::ranks::{Incoming, Lane};
use crate::tables::Table;
use crate::world::{COLLECTIVE, World};

impl World<'_> {
    /// Passes new data of a flow to the rank that receives it, if the flow is of a collective.
    pub(crate) fn on_collective_data(&mut self, now: Instant, flow: u32, sched: &mut Scheduler) {
        if let Some(Incoming { rank, .. }) = self.collectives.incoming.get(&flow) {
            self.run_rank(now, *rank, sched);
        }
    }

    /// Runs all steps of a rank that are due.
    pub(crate) fn run_rank(&mut self, now: Instant, index: u32, sched: &mut Scheduler) {
        loop {
            for lane in 0..self.collectives.ranks.row(index).lanes.len() {
                self.run_lane(now, index, lane, sched);
            }
            if !self.collectives.ranks.row_mut(index).end_iteration(now, self.setup) {
                return;
            }
        }
    }

    fn run_lane(&mut self, now: Instant, index: u32, lane: usize, sched: &mut Scheduler) {
        loop {
            let rank = self.collectives.ranks.row(index);
            let (collective, spec) = rank.spec(self.setup);
            let Lane { next, due } = rank.lanes[lane];
            let Some(step) = spec.lanes[lane].get(next) else { return };
            let begins = lane == 0 && next == 0;
            let due = match due {
                Some(due) => due,
                None if !step.receive.iter().all(|message| self.has_received(message)) => return,
                None => {
                    for message in &step.receive {
                        if let Some(incoming) = self.collectives.incoming.get_mut(&message.flow) {
                            incoming.consumed += message.bytes;
                        }
                    }
                    let rank = self.collectives.ranks.row_mut(index);
                    let mut due = now + step.compute;
                    if begins {
                        due += rank.jitter.duration_below(collective.jitter);
                    }
                    rank.lanes[lane].due = Some(due);
                    if due > now {
                        sched.at(due, Entity::new(COLLECTIVE, index));
                    }
                    due
                }
            };
            if due > now {
                return;
            }
            let rank = self.collectives.ranks.row_mut(index);
            rank.lanes[lane] = Lane { next: next + 1, due: None };
            if begins {
                rank.times.push((now, None));
            }
            for message in &step.send {
                let flow = self.local_flow(message.flow);
                if let Some(writer) = self.writers.row_mut(flow) {
                    writer.grant(message.bytes);
                }
                self.write(now, flow, sched);
            }
        }
    }

    /// Returns true if the next bytes of a flow, which this message is, have arrived.
    fn has_received(&self, message: &Message) -> bool {
        let delivered = self.flows.row(self.local_flow(message.flow) as usize).delivered;
        let incoming = self.collectives.incoming.get(&message.flow);
        incoming.is_some_and(|incoming| delivered >= incoming.consumed + message.bytes)
    }
}
