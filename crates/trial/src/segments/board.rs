//! Outstanding segments of a sender, and which of them its peer SACKed. A plain list checks that
//! segments that arrived are not retransmitted. The fault test of `tcp` uses this file too.

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct SentSegment {
    start: u64,
    end: u64,
    sacked: bool,
}

/// Segments as first sent; offsets count payload from zero, and a FIN counts as one.
#[derive(Debug, Default)]
pub(crate) struct ReferenceScoreboard {
    sent: VecDeque<SentSegment>,
    acked: u64,
    timeouts: u64,
}

impl ReferenceScoreboard {
    /// The peer has all data below `upto`.
    pub(crate) fn acknowledge(&mut self, upto: u64) {
        self.acked = self.acked.max(upto);
        while self.sent.front().is_some_and(|s| s.end <= upto) {
            self.sent.pop_front();
        }
        // The rest of a partly acknowledged segment counts as a segment.
        if let Some(front) = self.sent.front_mut() {
            front.start = front.start.max(upto);
        }
    }

    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    /// One past the last offset sent, except window probes.
    pub(crate) fn end(&self) -> u64 {
        self.sent.back().map_or(self.acked, |s| s.end)
    }

    /// Applies a SACK block. Partly covered segments do not count, as the sender marks only whole
    /// ones.
    pub(crate) fn sack(&mut self, start: u64, end: u64) {
        for s in self.sent.iter_mut().filter(|s| start <= s.start && s.end <= end) {
            s.sacked = true;
        }
    }

    /// Sets the number of timeouts so far. A timeout may reveal that the peer reneged (RFC 2018
    /// §8): the first segment is then one that it SACKed.
    pub(crate) fn on_timeouts(&mut self, n: u64) {
        let reneged = self.sent.front().is_some_and(|s| s.sacked);
        if n != std::mem::replace(&mut self.timeouts, n) && reneged {
            for s in &mut self.sent {
                s.sacked = false;
            }
        }
    }

    /// The sender transmits `[start, end)` in segments of `mss`.
    pub(crate) fn transmit(&mut self, start: u64, end: u64, mss: u32) {
        let resent = self.sent.iter().find(|s| s.sacked && s.start <= start && end <= s.end);
        assert!(resent.is_none(), "retransmits {start}..{end}, but {resent:?} has arrived");
        let mut at = self.end().max(start);
        while at < end {
            let stop = end.min(at + u64::from(mss.max(1)));
            self.sent.push_back(SentSegment { start: at, end: stop, sacked: false });
            at = stop;
        }
    }
}
