//! A pending event and its key in the total order ([`crate::Scheduler`]).

use lowtide_units::Instant;

use crate::Entity;

/// The time and the entity of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    pub(crate) time: Instant,
    pub(crate) entity: Entity,
}

impl Pending {
    /// Returns true if this event precedes `other`. The hash is computed only on a tie, which is
    /// rare.
    #[inline]
    pub(crate) fn is_before(self, other: Self, salt: u64) -> bool {
        if self.time == other.time { self.wins(other, salt) } else { self.time < other.time }
    }
    #[cold]
    fn wins(self, other: Self, salt: u64) -> bool {
        self.order_key(salt) < other.order_key(salt)
    }
    /// Returns time, hash and entity as one number that sorts in event order.
    pub(crate) fn order_key(self, salt: u64) -> u128 {
        let (time, entity) = (self.time.as_ps(), u64::from(self.entity.raw()));
        let x = (salt ^ time).wrapping_add(entity << 32);
        let x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let hash = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) & 0xffff_ffff_0000_0000;
        (u128::from(time) << 64) | u128::from(hash | entity)
    }
    /// Returns the event with the order key `key`.
    pub(crate) fn from_key(key: u128) -> Self {
        Self { time: time_of(key), entity: Entity::from_raw(key as u32) }
    }
}

/// Returns the time of the event with the order key `key`.
pub(crate) fn time_of(key: u128) -> Instant {
    Instant::from_ps((key >> 64) as u64)
}
