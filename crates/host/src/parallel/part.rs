//! A part of a run as the threads see it.

use lowtide_net::Crossing;
use lowtide_sim::partition::Region;
use lowtide_sim::{Entity, Scheduler};
use lowtide_units::Instant;

use super::outlast::Outlast;
use crate::apart::Asked;
use crate::moment::Moment;
use crate::world::World;

/// Some racks and their hosts.
pub(super) struct Part<'a> {
    pub(super) world: World<'a>,
    pub(super) outlast: Outlast,
}

/// What comes from another part.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are packets, and none is to be allocated"
)]
pub(super) enum Mail {
    Packet(Crossing),
    /// A packet says that there is a request, this which one. It is here before the packet.
    Asked(Asked),
}

impl lowtide_sim::World for Part<'_> {
    fn handle(&mut self, now: Instant, entity: Entity, sched: &mut Scheduler) {
        if let Some(apart) = &mut self.world.apart {
            apart.moment = Moment { at: now, entity };
        }
        self.world.handle(now, entity, sched);
    }

    fn foresees(&self) -> bool {
        self.world.foresees()
    }

    fn foresee(&self, coming: impl Iterator<Item = Entity>) {
        self.world.foresee(coming);
    }

    fn finished(&self) -> bool {
        false
    }
}

impl Region for Part<'_> {
    type Mail = Mail;

    fn hand_over(&mut self, until: Instant, post: &mut dyn FnMut(usize, Mail)) -> Option<Instant> {
        if let Some(apart) = &mut self.world.apart {
            for (part, asked) in apart.asked.drain(..) {
                post(part, Mail::Asked(asked));
            }
        }
        self.world.net.hand_over(until, &mut |part, crossing| post(part, Mail::Packet(crossing)))
    }

    fn waits(&self) -> bool {
        self.world.net.waits_to_hand_over()
    }

    fn take_in(&mut self, mail: Mail, sched: &mut Scheduler) {
        match mail {
            Mail::Packet(crossing) => self.world.net.hand_in(&crossing, sched),
            Mail::Asked(Asked { place, query }) => {
                if let Some(exchange) = self.world.askers.exchange(place as usize) {
                    exchange.hear(query);
                }
            }
        }
    }

    fn over(&self) -> usize {
        self.world.apart.as_ref().map_or(0, |apart| apart.over)
    }

    fn outlasts(&mut self, until: Instant) -> bool {
        self.outlast.outlasts(&mut self.world, until)
    }
}
