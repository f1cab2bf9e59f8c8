//! Who listens, and who waits to be accepted.

use std::collections::VecDeque;

use super::{Key, Wait};

/// A listener.
#[derive(Debug)]
pub(super) struct Listener {
    /// Established connections to accept, oldest first.
    pub(super) ready: VecDeque<Key>,
    /// The most of them; further ones are reset.
    pub(super) most: usize,
    pub(super) wait: Wait,
}
