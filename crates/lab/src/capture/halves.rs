//! Both directions of a connection, each only once something is known of it: most connections of a
//! large capture are short, and a flood of SYNs must not cost more memory than its packets.

use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

use super::half::{Half, Settings};

/// A direction without packets.
static NOTHING: LazyLock<Half> =
    LazyLock::new(|| Half::new(Settings { gain: 1.0, rto_min: 0, traced: false }));

/// By the end that sends the data.
#[derive(Clone, Debug)]
pub(super) struct Halves {
    settings: Settings,
    of: [Option<Box<Half>>; 2],
}

impl Halves {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, of: [None, None] }
    }

    /// Those of which something is known.
    pub(super) fn known_mut(&mut self) -> impl Iterator<Item = &mut Half> {
        self.of.iter_mut().flatten().map(Box::as_mut)
    }
}

impl Index<usize> for Halves {
    type Output = Half;

    fn index(&self, end: usize) -> &Half {
        self.of.get(end).and_then(Option::as_deref).unwrap_or(&NOTHING)
    }
}

impl IndexMut<usize> for Halves {
    fn index_mut(&mut self, end: usize) -> &mut Half {
        let settings = self.settings;
        self.of[end & 1].get_or_insert_with(|| Box::new(Half::new(settings)))
    }
}
