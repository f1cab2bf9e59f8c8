//! An event that is pending, and its place in the order of all ([`crate::Scheduler`]).

use lowtide_units::Instant;

use crate::Entity;

/// When something happens, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    pub(crate) time: Instant,
    pub(crate) entity: Entity,
}

impl Pending {
    /// Whether it comes before `other`. Few events meet at one instant, so the hash is taken only for those.
    #[inline]
    pub(crate) fn is_before(self, other: Self, salt: u64) -> bool {
        if self.time == other.time { self.wins(other, salt) } else { self.time < other.time }
    }
    #[cold]
    fn wins(self, other: Self, salt: u64) -> bool {
        self.order_key(salt) < other.order_key(salt)
    }
    /// Time, hash and entity in one number that sorts as the events do.
    pub(crate) fn order_key(self, salt: u64) -> u128 {
        let (time, entity) = (self.time.as_ps(), u64::from(self.entity.raw()));
        let x = (salt ^ time).wrapping_add(entity << 32);
        let x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let hash = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) & 0xffff_ffff_0000_0000;
        (u128::from(time) << 64) | u128::from(hash | entity)
    }
    /// The event of that place.
    pub(crate) fn from_key(place: u128) -> Self {
        Self { time: time_of(place), entity: Entity::from_raw(place as u32) }
    }
}

/// When the event of a place comes.
pub(crate) fn time_of(place: u128) -> Instant {
    Instant::from_ps((place >> 64) as u64)
}
