//! Entries that other crates add to a registry of this one.
//!
//! Contract: an append-only list in order of registration, filled before anything runs. It is the
//! only state per process instead of per connection; the packet path does not read it.

use alloc::boxed::Box;
use core::fmt;

use once_cell::race::OnceBox;

/// The name is already registered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is registered already; choose another name", self.0)
    }
}

impl core::error::Error for NameTaken {}

/// Append-only list of the entries added to one registry.
pub(crate) struct AppendList<T: 'static>(OnceBox<Node<T>>);

struct Node<T: 'static> {
    entry: &'static T,
    next: AppendList<T>,
}

impl<T> AppendList<T> {
    /// An empty list.
    pub(crate) const fn new() -> Self {
        Self(OnceBox::new())
    }

    /// The added entries in order of registration.
    pub(crate) fn iter(&'static self) -> impl Iterator<Item = &'static T> {
        let mut at = self;
        core::iter::from_fn(move || {
            let node = at.0.get()?;
            at = &node.next;
            Some(node.entry)
        })
    }

    /// Adds `entry` at the end, unless one of `name` is among `built_in` or was added before.
    pub(crate) fn add(
        &'static self,
        built_in: &[&'static T],
        entry: &'static T,
        name: fn(&T) -> &'static str,
    ) -> Result<(), NameTaken> {
        let taken = |other: &T| name(other) == name(entry);
        if built_in.iter().any(|e| taken(e)) {
            return Err(NameTaken(name(entry)));
        }
        let mut at = self;
        loop {
            if let Some(node) = at.0.get() {
                if taken(node.entry) {
                    return Err(NameTaken(name(entry)));
                }
                at = &node.next;
            } else if at.0.set(Box::new(Node { entry, next: Self::new() })).is_ok() {
                return Ok(());
            }
            // Another thread appended first: continue from its entry.
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    struct Entry(&'static str);

    static BUILT_IN: &[&Entry] = &[&Entry("newreno")];

    fn add(list: &'static AppendList<Entry>, entry: &'static Entry) -> Result<(), NameTaken> {
        list.add(BUILT_IN, entry, |e| e.0)
    }

    #[test]
    fn entries_keep_their_order_and_a_name_is_taken_once() {
        static LIST: AppendList<Entry> = AppendList::new();
        assert_eq!(LIST.iter().count(), 0);
        assert_eq!(add(&LIST, &Entry("b")), Ok(()));
        assert_eq!(add(&LIST, &Entry("a")), Ok(()));
        assert_eq!(add(&LIST, &Entry("b")), Err(NameTaken("b")));
        assert_eq!(add(&LIST, &Entry("newreno")), Err(NameTaken("newreno")));
        assert_eq!(LIST.iter().map(|e| e.0).collect::<Vec<_>>(), ["b", "a"]);
    }
}
