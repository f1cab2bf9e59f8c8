//! Who an event is for.

use core::fmt;

/// Whoever can have an event pending: a port, a connection, a host. A kind and an index.
///
/// The [`World`](crate::World) gives the sixteen kinds their meaning. An entity has at most one
/// event that matters at any one instant; what it is, the entity knows itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entity(u32);

impl Entity {
    /// How many kinds there are.
    pub const KINDS: u8 = 16;
    /// The greatest index.
    pub const MAX_INDEX: u32 = (1 << 28) - 1;

    /// The entity `index` of `kind`; `kind < 16`, `index <= MAX_INDEX`, higher bits are cut off.
    pub const fn new(kind: u8, index: u32) -> Self {
        debug_assert!(kind < Self::KINDS && index <= Self::MAX_INDEX);
        Self(((kind as u32) << 28) | (index & Self::MAX_INDEX))
    }
    /// The kind, 0 to 15.
    pub const fn kind(self) -> u8 {
        (self.0 >> 28) as u8
    }
    /// The index within the kind.
    pub const fn index(self) -> u32 {
        self.0 & Self::MAX_INDEX
    }
    /// Kind and index in one number, kind first.
    pub(crate) const fn raw(self) -> u32 {
        self.0
    }
    /// The entity of which `raw` is the number.
    pub(crate) const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for Entity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.index())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_and_index_come_back() {
        for (kind, index) in [(0, 0), (15, Entity::MAX_INDEX), (3, 77), (8, 1 << 27)] {
            let e = Entity::new(kind, index);
            assert_eq!((e.kind(), e.index()), (kind, index));
            assert_eq!(Entity::from_raw(e.raw()), e);
        }
        assert!(Entity::new(1, 0) > Entity::new(0, Entity::MAX_INDEX));
    }
}
