//! Where a scoreboard with SACKed, lost or overtaken segments finds them without a walk over all that is
//! in flight. Made when the first such segment appears, dropped when there is none.
//!
//! The ranges may hold more than they say (segments that were acknowledged, SACKed or sent again since);
//! the flags of a segment decide. Such remains are dropped by the search that meets them, once.

use alloc::boxed::Box;

use super::overdue::SendOrderIndex;
use super::ranges::Ranges;
use super::{LOST, RETRANSMITTED, SACKED, Scoreboard, TxSegment};

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// SACKed segments, exactly.
    pub(super) sacked: Ranges,
    /// All segments that are lost and wait for their retransmission, and maybe others.
    pub(super) to_retransmit: Ranges,
    /// The order of sending; only where loss is judged by time.
    pub(super) times: Option<SendOrderIndex>,
}

impl Index {
    /// Bytes held, this struct included.
    pub(super) fn heap(&self) -> usize {
        let times = self.times.as_ref().map_or(0, SendOrderIndex::heap);
        size_of::<Self>() + self.sacked.heap() + self.to_retransmit.heap() + times
    }
}

impl TxSegment {
    /// Lost, and not sent again since.
    pub(super) const fn needs_retransmit(&self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }
}

impl Scoreboard {
    pub(super) fn index(&mut self) -> &mut Index {
        self.index.get_or_insert_with(Box::default)
    }

    /// The position of the first segment behind the SACKed run that begins at or before `sent`.
    pub(super) fn after_sacked_run(&self, position: usize, sent: &TxSegment) -> usize {
        let end = self.index.as_ref().and_then(|index| index.sacked.end_at(sent.start));
        // Every SACKed segment is in the index.
        end.map_or(position + 1, |end| self.sent.partition_point(|s| s.start < end))
    }

    /// Drops the index when there is nothing to find in it.
    pub(super) fn release_index(&mut self) {
        let una = self.sent.front().map_or(u64::MAX, |s| s.start);
        if !self.is_plain(una) {
            return;
        }
        let done = |index: &Index| index.times.as_ref().is_none_or(SendOrderIndex::is_done);
        if self.index.as_deref().is_some_and(done) {
            self.index = None;
        }
    }
}
