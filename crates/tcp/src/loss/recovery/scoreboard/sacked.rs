//! Processing of SACK blocks, and loss detection from them (RFC 6675 §3, §4).
//!
//! Work: a block visits the segments that it newly covers, and one segment for each SACKed run
//! between them. IsLost visits three runs and the newly lost segments; NextSeg visits a run and a
//! segment. Each adds binary searches.

use alloc::boxed::Box;

use super::visits::count_visit;
use super::{AMBIGUOUS, Acked, LOST, Lost, RETRANSMITTED, SACKED, Scoreboard, TxSegment};

impl Scoreboard {
    /// Marks `[start, end)` beyond SND.UNA as SACKed. Returns whether any segment was newly SACKed.
    pub(crate) fn sack(&mut self, start: u64, end: u64, out: &mut Acked) -> bool {
        let mut at = self.sent.partition_point(|s| s.start < start);
        let Some(from) = self.sent.get(at).map(|s| s.start) else { return false };
        let (mut upto, mut newly_sacked) = (from, false);
        while let Some(sent) = self.sent.get(at).filter(|s| s.end() <= end) {
            count_visit();
            upto = sent.end();
            if sent.has(SACKED) {
                at = self.after_sacked_run(at, sent);
                continue;
            }
            let len = u64::from(sent.len);
            if sent.has(LOST) {
                self.lost_bytes -= len;
            }
            if sent.has(RETRANSMITTED) {
                self.retransmitted_bytes -= len;
                out.resent_at = Some(out.resent_at.map_or(sent.at, |at| at.min(sent.at)));
            }
            if !sent.has(AMBIGUOUS) {
                out.first_sacked = Some(out.first_sacked.map_or(sent.at, |at| at.min(sent.at)));
            }
            out.deliver(sent);
            self.sacked_bytes += len;
            self.sacked_segments += 1;
            out.sacked_bytes += len;
            out.sacked_segments += 1;
            self.high_sacked = self.high_sacked.max(upto);
            let flags = (sent.flags | SACKED) & !(LOST | RETRANSMITTED);
            self.sent[at].flags = flags;
            at += 1;
            newly_sacked = true;
        }
        if newly_sacked {
            self.index.get_or_insert_with(Box::default).sacked.insert(from, upto);
        }
        newly_sacked
    }

    /// Marks the segments lost for which RFC 6675 IsLost holds: those below `dup_thresh` separate
    /// SACKed runs, or below more than `dup_thresh - 1` segments' worth of SACKed bytes.
    pub(crate) fn detect_losses(&mut self, mss: u32, dup_thresh: u32) -> Lost {
        let most = u64::from(dup_thresh.saturating_sub(1)) * u64::from(mss);
        let Some(index) = &self.index else { return Lost::NONE };
        let (mut bytes, mut runs, mut edge) = (0, 0, None);
        for (start, end) in index.sacked.descending() {
            count_visit();
            bytes += end - start;
            runs += 1;
            if runs >= dup_thresh || bytes > most {
                edge = Some(start);
                break;
            }
        }
        let una = self.sent.front().map_or(u64::MAX, |s| s.start);
        // The segment below the run ends at the start of the run.
        let Some(end) = edge.filter(|end| *end > una && *end > self.loss_edge) else {
            return Lost::NONE;
        };
        let from = self.sent.partition_point(|s| s.end() <= self.loss_edge);
        let to = self.sent.partition_point(|s| s.end() <= end);
        self.loss_edge = end;
        self.mark_lost(from, to)
    }

    /// Returns a hole below the highest SACK that is not marked lost (NextSeg rule 3).
    pub(crate) fn next_hole(&self) -> Option<TxSegment> {
        let mut at = self.sent.partition_point(|s| s.start < self.high_rxt);
        while let Some(sent) = self.sent.get(at).filter(|s| s.end() <= self.high_sacked) {
            count_visit();
            if sent.has(SACKED) {
                at = self.after_sacked_run(at, sent);
            } else if sent.flags & (RETRANSMITTED | LOST) == 0 {
                return Some(*sent);
            } else {
                at += 1;
            }
        }
        None
    }

    /// Returns the highest segment that was not SACKed, unless it was retransmitted (NextSeg rule
    /// 4).
    pub(crate) fn last_unsacked(&self) -> Option<TxSegment> {
        let mut last = self.sent.back()?;
        if last.has(SACKED) {
            let (run, _) = self.index.as_ref()?.sacked.descending().next()?;
            let below = self.sent.partition_point(|s| s.start < run).checked_sub(1)?;
            last = self.sent.get(below)?;
        }
        (!last.has(RETRANSMITTED)).then_some(*last)
    }
}
