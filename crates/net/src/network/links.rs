//! Links that fail and come back.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::enqueue_outcome::{DropReason, EnqueueOutcome};
use crate::failure::LinkChange;
use crate::packet::PacketId;
use crate::port::Port;

impl Network {
    /// The kind of the entities whose events are for [`Network::on_link_event`].
    pub const LINK_KIND: u8 = Entity::KINDS - 1;

    /// Schedules what the network does by itself: the failures of links. Call it once, before the run.
    pub fn prime(&self, sched: &mut Scheduler) {
        let steps = self.failures.iter().flat_map(|f| &f.steps);
        for ((at, _), i) in steps.zip(0..) {
            sched.at(*at, Entity::new(Self::LINK_KIND, i));
        }
    }

    /// The event number `index` of the links has come: links fail or come back, or the routes follow.
    pub fn on_link_event(&mut self, now: Instant, index: u32) {
        let Some(mut failures) = self.failures.take() else { return };
        let mut moved = false;
        // Each step comes once.
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
            self.routes = self.local_routes(routes);
        }
        self.failures = Some(failures);
        self.prune_exports();
    }

    /// Packets dropped since the end of the warm-up because a switch had no way to their host.
    pub fn no_route_drops(&self) -> u64 {
        self.failures.as_ref().map_or(0, |f| f.no_route_drops)
    }

    /// Both directions of the link at this place are dead: what they hold is lost. What another part has
    /// handed over had come off the line by now.
    fn link_down(&mut self, now: Instant, link: usize) {
        for port in [2 * link, 2 * link + 1] {
            if self.is_inlet(port) {
                continue;
            }
            let Some(found) = self.queue_at(now, port as u32) else { continue };
            let this = &mut self.ports[port];
            let (watch, line, memory) = (&mut self.port_tracer, *this.line(), this.pool());
            this.link_down(now, &mut self.pool, |id, size| {
                if let Some(watch) = watch {
                    let entered = (EnqueueOutcome::Dropped(DropReason::Lost), now);
                    let service = line.serialization(size);
                    watch.on_enqueue((now, port as u32), (id, size), found, entered, service);
                }
            });
            if let Some(memory) = memory {
                self.charge(port as u32, memory);
            }
        }
    }

    /// A packet to whose host a switch has no way is dropped.
    #[cold]
    pub(super) fn no_route(&mut self, now: Instant, switch: u32, id: PacketId) {
        if let Some(failures) = &mut self.failures {
            if let Some(digest) = failures.digests.get_mut(switch as usize) {
                digest.update(now.as_ps());
                digest.update(self.pool.state(id).meta.identity);
            }
            failures.no_route_drops += u64::from(now >= self.warmup);
        }
        self.pool.discard(id);
    }
}
