//! SACK options that the receiver sends (RFC 2018, RFC 2883).

use lowtide_wire::{SackBlocks, Segment, SeqNum};

use super::Receiver;

impl Receiver {
    /// Records a segment without new data, for a DSACK (RFC 2883 §4).
    #[cold]
    #[inline(never)]
    pub(crate) fn note_duplicate(&mut self, seg: &Segment) {
        let start = self.offset(seg.seq).max(0) as u64;
        let end = (self.offset(seg.seq) + i64::from(seg.payload_len)).max(0) as u64;
        if self.dsack_on && start < end && end <= self.nxt {
            self.dsack = Some((start, end));
        }
    }

    /// Start of the DSACK block of the next ACK.
    pub(crate) fn pending_dsack(&self) -> Option<SeqNum> {
        self.dsack.map(|(start, _)| self.seq(start))
    }

    /// Returns whether there is a SACK block to send.
    pub(crate) fn has_blocks(&self) -> bool {
        self.dsack.is_some() || self.reassembly.has_gap()
    }

    /// SACK blocks for the next ACK: a DSACK first, then the held ranges (RFC 2018 §4, RFC 2883
    /// §4).
    pub(crate) fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::EMPTY;
        let room = room.min(SackBlocks::MAX);
        if room == 0 || !self.has_blocks() {
            return blocks;
        }
        let mut left = room;
        if let Some((start, end)) = self.dsack.take() {
            blocks.push(self.seq(start), self.seq(end));
            left -= 1;
            // A duplicate inside a held range is followed by that range (RFC 2883 §4.1.2).
            if let Some((a, b)) = self.reassembly.covering(start)
                && left > 0
            {
                blocks.push(self.seq(a), self.seq(b));
                left -= 1;
                self.reassembly.blocks(left + 1, |s, e| {
                    if s != a && left > 0 {
                        blocks.push(self.irs.add(1).add(s), self.irs.add(1).add(e));
                        left -= 1;
                    }
                });
                return blocks;
            }
        }
        self.reassembly.blocks(left, |s, e| {
            blocks.push(self.irs.add(1).add(s), self.irs.add(1).add(e));
        });
        blocks
    }
}
