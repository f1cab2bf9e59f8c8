//! The time of an occurrence, to the event: with shards, two may act in the same picosecond.

use lowtide_sim::Entity;
use lowtide_units::Instant;

/// An event, as needed for ordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventKey {
    pub(crate) at: Instant,
    pub(crate) entity: Entity,
}

impl EventKey {
    /// Before all events.
    pub(crate) const START: Self = Self { at: Instant::ZERO, entity: Entity::new(0, 0) };
}
