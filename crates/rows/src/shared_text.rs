//! Texts that many rows of a run have in common: names of hosts, groups and transports.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Number of texts that a thread remembers. All names of a run with 8192 hosts fit.
const REMEMBERED: usize = 1 << 14;

thread_local! {
    static KNOWN: RefCell<BTreeSet<SharedText>> = const { RefCell::new(BTreeSet::new()) };
}

/// A text in one pointer. Recent equal texts of a thread share their memory, so each of a million
/// rows has a pointer and not a copy of the name of its host.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedText(Arc<Box<str>>);

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        KNOWN.with_borrow_mut(|known| {
            if let Some(shared) = known.get(text) {
                return shared.clone();
            }
            // Rows keep their texts; only later equal texts are stored once more.
            if known.len() >= REMEMBERED {
                known.clear();
            }
            let shared = Self(Arc::new(text.into()));
            known.insert(shared.clone());
            shared
        })
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<SharedText> for String {
    fn from(text: SharedText) -> Self {
        (*text).to_owned()
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_their_memory() {
        let [a, b] = ["host 1", "host 1"].map(SharedText::from);
        assert!(Arc::ptr_eq(&a.0, &b.0));
        assert_eq!(size_of::<Option<SharedText>>(), 8);
        assert_eq!((a.clone(), String::from(b)), ("host 1".into(), "host 1".to_owned()));
        assert_ne!(a, "host 2");
    }

    #[test]
    fn a_thread_remembers_a_bounded_number_of_texts() {
        let first = SharedText::from("0");
        for n in 0..=REMEMBERED {
            assert_eq!(*SharedText::from(n.to_string()), n.to_string());
        }
        assert!(KNOWN.with_borrow(BTreeSet::len) <= REMEMBERED);
        assert_eq!(first, SharedText::from("0"));
    }
}
