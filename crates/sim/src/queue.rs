//! The set of pending events: a radix heap with 4096 slots per level.
//!
//! The time of an event, seen as six digits of twelve bits, is compared with the time of the event
//! taken out last: the highest digit in which they differ is the event's level, that digit its slot.
//! Slots of a level are in order of time and every event of a level is before all of the levels above,
//! so the next event is in the first slot of the lowest level that has any; bitmaps find it. When it
//! is alone there, as it mostly is, it is taken out. Otherwise the others move to lower levels. The
//! digits fit a network in picoseconds: a slot of the second level lasts 4 ns and the level 17 us,
//! so a packet's event is mostly put once and taken once; a slot of the third level lasts 17 us and
//! the level 69 ms, for timers. Nothing needs tuning, and any time is right on any level.
//!
//! Events at the time of the last one wait in a binary heap by the rest of their keys, so the order
//! is that of the keys, exactly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

const DIGIT_BITS: u32 = 12;
const SLOTS: usize = 1 << DIGIT_BITS;
const WORDS: usize = SLOTS / 64;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// No node.
const NIL: u32 = u32::MAX;

/// An event: time, then the key among events of that time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) time: u64,
    pub(crate) tie: u64,
}

/// An event in the list of a slot.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    next: u32,
}

/// Pending events, taken out in ascending order of their keys.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// The time of the event taken out last: no event is before it.
    last: u64,
    len: usize,
    /// Bit `l`: level `l` has events.
    levels: u32,
    /// Bit `w` of level `l`: word `w` of the level's slots is not zero.
    words: [u64; LEVELS],
    /// A bit per slot that has events, level by level.
    slots: Vec<u64>,
    /// First node of the list of each slot, level by level; meaningless where the bit is not set.
    first: Vec<u32>,
    nodes: Vec<Node>,
    /// List of the nodes that hold no event.
    free: u32,
    /// Keys of the events at `last`.
    ties: BinaryHeap<Reverse<u64>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            last: 0,
            len: 0,
            levels: 0,
            words: [0; LEVELS],
            slots: vec![0; LEVELS * WORDS],
            first: vec![NIL; LEVELS * SLOTS],
            nodes: Vec::new(),
            free: NIL,
            ties: BinaryHeap::new(),
        }
    }
}

impl Queue {
    /// Adds an event; its time must not be before that of the event taken out last.
    #[inline]
    pub(crate) fn push(&mut self, key: Key) {
        debug_assert!(key.time >= self.last);
        self.len += 1;
        if key.time == self.last {
            self.ties.push(Reverse(key.tie));
            return;
        }
        let node = self.free;
        if let Some(free) = self.nodes.get(node as usize) {
            self.free = free.next;
            self.link(node, key);
        } else {
            let node = self.nodes.len() as u32;
            self.nodes.push(Node { key, next: NIL });
            self.link(node, key);
        }
    }
    /// Puts `node` with `key`, which is after `last`, into its slot.
    #[inline]
    fn link(&mut self, node: u32, key: Key) {
        let level = ((key.time ^ self.last).ilog2() / DIGIT_BITS) as usize;
        let digit = (key.time >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        let slot = level * SLOTS + digit;
        let (word, bit) = (&mut self.slots[slot / 64], 1 << (slot % 64));
        let first = &mut self.first[slot];
        let next = if *word & bit == 0 { NIL } else { *first };
        self.nodes[node as usize] = Node { key, next };
        *first = node;
        *word |= bit;
        self.words[level] |= 1 << (digit / 64);
        self.levels |= 1 << level;
    }
    /// Takes out the least key if its time is before `limit`.
    #[inline]
    pub(crate) fn pop_before(&mut self, limit: u64) -> Option<Key> {
        if let Some(&Reverse(tie)) = self.ties.peek() {
            if self.last >= limit {
                return None;
            }
            self.ties.pop();
            self.len -= 1;
            return Some(Key { time: self.last, tie });
        }
        let slot = self.first_slot()?;
        let first = self.first[slot];
        let node = self.nodes[first as usize];
        if node.next == NIL {
            if node.key.time >= limit {
                return None;
            }
            self.release(first);
            self.clear(slot);
            self.last = node.key.time;
            self.len -= 1;
            return Some(node.key);
        }
        self.spread(slot, limit)
    }
    /// Takes out the least of several keys in one slot and moves the others to lower levels.
    fn spread(&mut self, slot: usize, limit: u64) -> Option<Key> {
        let first = self.first[slot];
        let least = self.least(first)?;
        if least.time >= limit {
            return None;
        }
        self.clear(slot);
        self.last = least.time;
        let mut at = first;
        while let Some(&Node { key, next }) = self.nodes.get(at as usize) {
            if key.time > least.time {
                self.link(at, key);
            } else {
                self.release(at);
                self.ties.push(Reverse(key.tie));
            }
            at = next;
        }
        let Reverse(tie) = self.ties.pop()?;
        self.len -= 1;
        Some(Key { time: least.time, tie })
    }
    /// The time of the next event.
    pub(crate) fn peek_time(&self) -> Option<u64> {
        if !self.ties.is_empty() {
            return Some(self.last);
        }
        let slot = self.first_slot()?;
        self.least(self.first[slot]).map(|key| key.time)
    }
    pub(crate) const fn len(&self) -> usize {
        self.len
    }
    /// The slot that holds the next event.
    #[inline]
    fn first_slot(&self) -> Option<usize> {
        let level = self.levels.trailing_zeros() as usize;
        let word = level * WORDS + self.words.get(level)?.trailing_zeros() as usize;
        Some(word * 64 + self.slots[word].trailing_zeros() as usize)
    }
    /// Marks a slot as empty.
    #[inline]
    fn clear(&mut self, slot: usize) {
        let word = &mut self.slots[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            let level = slot / SLOTS;
            self.words[level] &= !(1 << (slot / 64 % WORDS));
            if self.words[level] == 0 {
                self.levels &= !(1 << level);
            }
        }
    }
    #[inline]
    fn release(&mut self, node: u32) {
        self.nodes[node as usize].next = self.free;
        self.free = node;
    }
    /// The least key of the list that starts at `first`.
    fn least(&self, first: u32) -> Option<Key> {
        let next = |node: &&Node| self.nodes.get(node.next as usize);
        std::iter::successors(self.nodes.get(first as usize), next).map(|node| node.key).min()
    }
}
