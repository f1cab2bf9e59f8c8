//! Resegmentation of data in flight after the path MTU shrank.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::{LOST, RETRANSMITTED, SACKED, Scoreboard, TxSegment};

impl Scoreboard {
    /// Cuts segments longer than `mss` bytes, the maximum that the path accepts, and marks the
    /// pieces lost that have not arrived. Returns whether any was marked lost. Returns `None` and
    /// changes nothing if there would be more than `max_segments` segments. Each piece keeps the
    /// send time and state of its segment.
    #[cold]
    pub(crate) fn resegment(&mut self, mss: u32, max_segments: usize) -> Option<bool> {
        let mss = mss.max(1);
        let fits = |sent: &TxSegment| sent.len <= mss;
        if self.sent.iter().all(fits) {
            return Some(false);
        }
        let pieces: usize = self.sent.iter().map(|sent| sent.len.div_ceil(mss) as usize).sum();
        if pieces > max_segments {
            return None;
        }
        let mut lost = false;
        let index = self.index.get_or_insert_with(Box::default);
        // The pieces have other ends.
        index.times = None;
        let mut cut = VecDeque::with_capacity(pieces);
        for sent in core::mem::take(&mut self.sent) {
            if fits(&sent) {
                cut.push_back(sent);
                continue;
            }
            if sent.has(SACKED) {
                self.sacked_segments -= 1;
            }
            let mut at = sent.start;
            while at < sent.end() {
                let len = (sent.end() - at).min(u64::from(mss)) as u32;
                let mut piece = TxSegment { start: at, len, ..sent };
                if piece.has(SACKED) {
                    self.sacked_segments += 1;
                } else {
                    lost = true;
                    if piece.has(RETRANSMITTED) {
                        self.retransmitted_bytes -= u64::from(len);
                    }
                    if !piece.has(LOST) {
                        self.lost_bytes += u64::from(len);
                    }
                    piece.flags = piece.flags & !RETRANSMITTED | LOST;
                    index.to_retransmit.insert(at, piece.end());
                }
                cut.push_back(piece);
                at += u64::from(len);
            }
        }
        self.sent = cut;
        Some(lost)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use lowtide_units::Instant;

    use super::super::Acked;
    use super::*;

    #[test]
    fn longer_segments_are_cut_and_lost_and_the_others_stay() {
        let mut board = Scoreboard::default();
        for (start, len) in [(0, 1000), (1000, 1000), (2000, 400)] {
            board.push(start, len, Instant::ZERO);
        }
        assert!(board.sack(1000, 2000, &mut Acked::default()));
        assert_eq!(board.pipe(), 1400);
        assert_eq!(board.resegment(600, 4), None, "five pieces");
        assert_eq!((board.pipe(), board.flight_size()), (1400, 2400));
        assert_eq!(board.resegment(600, 5), Some(true));
        assert_eq!(board.pipe(), 400, "the first is not in the network, the second has arrived");
        assert_eq!((board.flight_size(), board.sacked(), board.sacked_segments()), (2400, 1000, 2));
        let mut again = Vec::new();
        while let Some(lost) = board.next_lost() {
            board.on_retransmit(lost.start, lost.end(), Instant::ZERO);
            again.push((lost.start, lost.len));
        }
        assert_eq!(again, [(0, 600), (600, 400)]);
        assert_eq!(board.pipe(), 1400);
        board.ack(2400, &mut Acked::default());
        assert_eq!((board.flight_size(), board.pipe()), (0, 0));
        assert_eq!(board.resegment(1, 0), Some(false));
    }
}
