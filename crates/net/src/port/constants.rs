//! Constants that ports with equal lines and limits share.

use std::collections::HashSet;
use std::sync::Arc;

use lowtide_units::Duration;

use super::ForwardLimit;
use crate::line::Line;

/// The constants that a hop needs. Ports with equal constants share them, so that in a large
/// network they stay in the first-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PortConstants {
    pub(super) line: Line,
    /// Propagation delay.
    pub(super) delay: Duration,
    pub(super) forward_limit: ForwardLimit,
    /// See [`crate::PortSpec::count_in_service`].
    pub(super) count_in_service: bool,
}

/// The constants of all ports of a network or shard, each once.
#[derive(Debug, Default)]
pub(crate) struct SharedConstants(HashSet<Arc<PortConstants>>);

impl SharedConstants {
    /// Returns the shared copy of `constants`.
    pub(super) fn share(&mut self, constants: PortConstants) -> Arc<PortConstants> {
        if let Some(shared) = self.0.get(&constants) {
            return Arc::clone(shared);
        }
        let shared = Arc::new(constants);
        self.0.insert(Arc::clone(&shared));
        shared
    }
}
