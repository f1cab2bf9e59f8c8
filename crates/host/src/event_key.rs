//! When something happened, to the event: in a run that is cut, two parts may do things at the same picosecond.

use lowtide_sim::Entity;
use lowtide_units::Instant;

/// An event, as far as others need to be put before or behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventKey {
    pub(crate) at: Instant,
    pub(crate) entity: Entity,
}

impl EventKey {
    /// Before everything.
    pub(crate) const START: Self = Self { at: Instant::ZERO, entity: Entity::new(0, 0) };
}
