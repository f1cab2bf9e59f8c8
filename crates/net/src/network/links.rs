//! Link failures, in whole or in part, and repairs.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::{Instant, Rate};

use super::Network;
use crate::Failure;
use crate::aqm::AqmVerdict;
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::failure::Stage;
use crate::packet_pool::PacketId;
use crate::port::FarEnd;

impl Network {
    /// The kind of entities whose events go to [`Network::on_link_event`].
    pub const LINK_KIND: u8 = Entity::KINDS - 1;

    /// Schedules the link failures. Call it once, before the run.
    pub fn prime(&self, sched: &mut Scheduler) {
        let steps = self.failures.iter().flat_map(|f| &f.steps);
        for ((at, _), i) in steps.zip(0..) {
            sched.at(*at, Entity::new(Self::LINK_KIND, i));
        }
    }

    /// Handles link event number `index`: links go down or up, or the routes follow.
    pub fn on_link_event(&mut self, now: Instant, index: u32) {
        let Some(mut failures) = self.failures.take() else { return };
        let mut moved = false;
        for (failure, stage) in failures.take_step(index) {
            if matches!(stage, Stage::Detected | Stage::Recovered) {
                failures.notify_routes(&failure, stage == Stage::Detected);
                moved = true;
            } else {
                self.change_lines(now, &failure, stage == Stage::Down, &failures.rates);
            }
        }
        if moved && let Some(routes) = failures.routes() {
            let mut routes = self.local_routes(routes);
            routes.continue_flowlets(&mut self.routes);
            self.routes = routes;
        }
        self.failures = Some(failures);
        self.prune_exports();
    }

    /// Returns the packets dropped for lack of a route since the end of the warm-up.
    pub fn no_route_drops(&self) -> u64 {
        self.failures.as_ref().map_or(0, |f| f.no_route_drops)
    }

    /// The failed lines go down or up, or change to the rate that is left or back to theirs of
    /// `rates`.
    fn change_lines(&mut self, now: Instant, failure: &Failure, fails: bool, rates: &[u64]) {
        let Some(here) = self.local_link(failure.link) else { return };
        for number in failure.ports() {
            let port = 2 * here + number % 2;
            // Packets imported from another shard had already left the line.
            if self.is_inlet(port) {
                continue;
            }
            match (failure.rate, fails) {
                (None, true) => self.line_down(now, port),
                (None, false) => self.ports[port].link_up(),
                (Some(left), _) => {
                    let own = Rate::from_bps(rates[number]).unwrap_or(left);
                    self.set_rate(now, port, if fails { left } else { own });
                }
            }
        }
    }

    /// Takes a line down; its packets are lost.
    fn line_down(&mut self, now: Instant, port: usize) {
        let Some(found) = self.queue_at(now, port as u32) else { return };
        let this = &mut self.ports[port];
        let (tracer, line, pool) = (&mut self.port_tracer, *this.line(), this.pool());
        this.link_down(now, &mut self.pool, |id, size| {
            if let Some(tracer) = tracer {
                let entered = (EnqueueOutcome::Dropped(DropReason::Lost), now);
                let service = line.serialization(size);
                tracer.on_enqueue((now, port as u32), (id, size), found, entered, service);
            }
        });
        if let Some(pool) = pool {
            self.charge(port as u32, pool);
        }
    }

    /// Changes the rate of a line.
    fn set_rate(&mut self, now: Instant, port: usize, rate: Rate) {
        if self.queue_at(now, port as u32).is_none() {
            return;
        }
        let (this, tracer) = (&mut self.ports[port], &mut self.port_tracer);
        let last = this.set_rate(rate, &mut self.pool, |id, [start, end]| {
            if let Some(tracer) = tracer {
                tracer.on_dequeue(id, start, end, AqmVerdict::Forward);
            }
        });
        // Later packets are not delivered before these.
        if let (FarEnd::Host(host), Some(last)) = (this.far_end(), last)
            && let Some(lateness) = self.lateness.get_mut(host.0 as usize)
        {
            lateness.last = last;
        }
    }

    /// Drops a packet for which a switch has no route.
    #[cold]
    pub(super) fn no_route(&mut self, now: Instant, switch: u32, id: PacketId) {
        if let Some(failures) = &mut self.failures {
            if let Some(digest) = failures.digests.get_mut(switch as usize) {
                digest.update(now.as_ps());
                digest.update(self.pool.descriptor(id).identity);
            }
            failures.no_route_drops += u64::from(now >= self.warmup);
        }
        self.pool.discard(id);
    }
}
