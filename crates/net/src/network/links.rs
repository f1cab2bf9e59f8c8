//! Links that fail and come back.

use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::Network;
use crate::entered::{Entered, Refusal};
use crate::failure::Change;
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
            let here = self.link_place(link);
            match (change, here) {
                (Change::Down, Some(here)) => self.cut(now, here),
                (Change::Up, Some(here)) => {
                    self.ports[2 * here..=2 * here + 1].iter_mut().for_each(Port::mend);
                }
                (Change::Down | Change::Up, None) => {}
                (Change::Leave, _) => failures.avoid(link, true),
                (Change::Return, _) => failures.avoid(link, false),
            }
            moved |= matches!(change, Change::Leave | Change::Return);
        }
        if moved && let Some(routes) = failures.routes() {
            self.routes = self.own_routes(routes);
        }
        self.failures = Some(failures);
        self.forget_lost();
    }

    /// Packets dropped since the end of the warm-up because a switch had no way to their host.
    pub fn unrouted(&self) -> u64 {
        self.failures.as_ref().map_or(0, |f| f.unrouted)
    }

    /// Both directions of the link at this place are dead: what they hold is lost. What another part has
    /// handed over had come off the line by now.
    fn cut(&mut self, now: Instant, link: usize) {
        for port in [2 * link, 2 * link + 1] {
            if self.is_inlet(port) {
                continue;
            }
            let Some(found) = self.look(now, port as u32) else { continue };
            let this = &mut self.ports[port];
            let (watch, line, memory) = (&mut self.watch, *this.line(), this.memory());
            this.cut(now, &mut self.pool, |id, size| {
                if let Some(watch) = watch {
                    let entered = (Entered::Dropped(Refusal::Lost), now);
                    let service = line.serialization(size);
                    watch.passes((now, port as u32), (id, size), found, entered, service);
                }
            });
            if let Some(memory) = memory {
                self.charge(port as u32, memory);
            }
        }
    }

    /// A packet to whose host a switch has no way is dropped.
    #[cold]
    pub(super) fn no_way(&mut self, now: Instant, switch: u32, id: PacketId) {
        if let Some(failures) = &mut self.failures {
            if let Some(digest) = failures.digests.get_mut(switch as usize) {
                digest.update(now.as_ps());
                digest.update(self.pool.head(id).moving.identity);
            }
            failures.unrouted += u64::from(now >= self.warmup);
        }
        self.pool.discard(id);
    }
}
