//! The target of an event.

use core::fmt;

/// An entity that can have a pending event: a port, a connection, a host. A kind and an index.
///
/// The [`World`](crate::World) defines the sixteen kinds. An entity has at most one relevant event
/// at any instant, and knows itself which one it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entity(u32);

impl Entity {
    /// Number of kinds.
    pub const KINDS: u8 = 16;
    /// The greatest index.
    pub const MAX_INDEX: u32 = (1 << 28) - 1;

    /// Returns entity `index` of `kind`; `kind < 16`, `index <= MAX_INDEX`, higher bits are
    /// dropped.
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
    /// Returns kind and index as one number, kind first.
    pub(crate) const fn raw(self) -> u32 {
        self.0
    }
    /// Returns the entity with the number `raw`.
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
    fn kind_and_index_round_trip() {
        for (kind, index) in [(0, 0), (15, Entity::MAX_INDEX), (3, 77), (8, 1 << 27)] {
            let e = Entity::new(kind, index);
            assert_eq!((e.kind(), e.index()), (kind, index));
            assert_eq!(Entity::from_raw(e.raw()), e);
        }
        assert!(Entity::new(1, 0) > Entity::new(0, Entity::MAX_INDEX));
    }
}
