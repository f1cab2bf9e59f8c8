//! Index of the SACKed, lost and overtaken segments, so that finding them needs no walk over all
//! segments in flight. Created with the first such segment, dropped with the last.
//!
//! The ranges may contain stale segments (acknowledged, SACKed or retransmitted since); the flags
//! of a segment decide. The first search that meets a stale range drops it.

use alloc::boxed::Box;

use super::overdue::SendOrderIndex;
use super::ranges::Ranges;
use super::{LOST, RETRANSMITTED, SACKED, Scoreboard, TxSegment};

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Exactly the SACKed segments.
    pub(super) sacked: Ranges,
    /// All lost segments that await retransmission, and possibly others.
    pub(super) to_retransmit: Ranges,
    /// The order of transmission; used by RACK only.
    pub(super) times: Option<SendOrderIndex>,
}

impl Index {
    /// Memory including this struct, bytes.
    pub(super) fn heap(&self) -> usize {
        let times = self.times.as_ref().map_or(0, SendOrderIndex::heap);
        size_of::<Self>() + self.sacked.heap() + self.to_retransmit.heap() + times
    }
}

impl TxSegment {
    /// Returns whether the segment is lost and was not retransmitted since.
    pub(super) const fn needs_retransmit(&self) -> bool {
        self.flags & (LOST | RETRANSMITTED | SACKED) == LOST
    }
}

impl Scoreboard {
    pub(super) fn index(&mut self) -> &mut Index {
        self.index.get_or_insert_with(Box::default)
    }

    /// Returns the position of the first segment after the SACKed run that contains `sent`.
    pub(super) fn after_sacked_run(&self, position: usize, sent: &TxSegment) -> usize {
        let end = self.index.as_ref().and_then(|index| index.sacked.end_at(sent.start));
        // Every SACKed segment is in the index.
        end.map_or(position + 1, |end| self.sent.partition_point(|s| s.start < end))
    }

    /// Drops the index if it is empty.
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
