//! The set of pending events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pending keys, taken out in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(BinaryHeap<Reverse<u128>>);

impl Queue {
    pub(crate) fn push(&mut self, key: u128) {
        self.0.push(Reverse(key));
    }
    /// Takes out the least key if it is less than `limit`.
    pub(crate) fn pop_below(&mut self, limit: u128) -> Option<u128> {
        let top = self.0.peek_mut()?;
        if top.0 >= limit {
            return None;
        }
        Some(std::collections::binary_heap::PeekMut::pop(top).0)
    }
    pub(crate) fn peek(&self) -> Option<u128> {
        self.0.peek().map(|k| k.0)
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
