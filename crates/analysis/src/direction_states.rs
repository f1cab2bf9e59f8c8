//! Both directions of a connection, each allocated with its first packet. Most connections of a
//! large capture are short, and a SYN flood must not use more memory than its packets.

use std::ops::{Index, IndexMut};
use std::sync::LazyLock;

use super::direction_state::{AnalysisSettings, DirectionState};

/// A direction without packets.
static EMPTY: LazyLock<DirectionState> = LazyLock::new(|| {
    DirectionState::new(AnalysisSettings { gain: 1.0, rto_min: 0, series: false, traced: false })
});

/// States by the end that sends the data.
#[derive(Clone, Debug)]
pub(super) struct DirectionStates {
    settings: AnalysisSettings,
    by_sender: [Option<Box<DirectionState>>; 2],
}

impl DirectionStates {
    pub(super) fn new(settings: AnalysisSettings) -> Self {
        Self { settings, by_sender: [None, None] }
    }

    /// Iterates over the allocated states.
    pub(super) fn known_mut(&mut self) -> impl Iterator<Item = &mut DirectionState> {
        self.by_sender.iter_mut().flatten().map(Box::as_mut)
    }
}

impl Index<usize> for DirectionStates {
    type Output = DirectionState;

    fn index(&self, end: usize) -> &DirectionState {
        self.by_sender.get(end).and_then(Option::as_deref).unwrap_or(&EMPTY)
    }
}

impl IndexMut<usize> for DirectionStates {
    fn index_mut(&mut self, end: usize) -> &mut DirectionState {
        let settings = self.settings;
        self.by_sender[end & 1].get_or_insert_with(|| Box::new(DirectionState::new(settings)))
    }
}
