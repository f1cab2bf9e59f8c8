//! Link failures and repairs.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::failure::LinkChange;
use crate::packet_pool::PacketId;
use crate::port::Port;

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
        // Each step occurs once.
        let step = failures.steps.get_mut(index as usize);
        for (link, change) in step.map(|s| std::mem::take(&mut s.1)).unwrap_or_default() {
            let here = self.local_link(link);
            match (change, here) {
                (LinkChange::Down, Some(here)) => self.link_down(now, here),
                (LinkChange::Up, Some(here)) => {
                    self.ports[2 * here..=2 * here + 1].iter_mut().for_each(Port::link_up);
                }
                (LinkChange::Down | LinkChange::Up, None) => {}
                (LinkChange::Leave, _) => failures.avoid(link, true),
                (LinkChange::Return, _) => failures.avoid(link, false),
            }
            moved |= matches!(change, LinkChange::Leave | LinkChange::Return);
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

    /// Takes both directions of a link down; their packets are lost. Packets imported from another
    /// shard had already left the line.
    fn link_down(&mut self, now: Instant, link: usize) {
        for port in [2 * link, 2 * link + 1] {
            if self.is_inlet(port) {
                continue;
            }
            let Some(found) = self.queue_at(now, port as u32) else { continue };
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
