//! A middlebox that manipulates acknowledgements and windows, but never lies: its output was true
//! at some time. The connection may become slow, but must not break.

use lowtide_units::Instant;
use lowtide_wire::{Flags, SackBlocks, Segment, SeqNum};

use crate::draw::Draw;
use crate::tally::Tally;

/// Probabilities are per mille and per segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Middlebox {
    /// End of its activity, so that every connection can complete.
    until: Instant,
    /// Reduces the window, down to zero.
    shrink: u32,
    /// Splits one acknowledgement into several partial ones (ACK division).
    divide: u32,
    /// Repeats an acknowledgement, so that delivered data seems lost (duplicate ACK spoofing).
    repeat: u32,
    /// Removes SACK blocks, or parts of them.
    trim: u32,
}

impl Middlebox {
    pub(crate) fn draw(d: &mut Draw) -> Self {
        let mut chance = |most| if d.flip() { d.range(1, most) as u32 } else { 0 };
        Self {
            shrink: chance(500),
            divide: chance(500),
            repeat: chance(200),
            trim: chance(700),
            until: Instant::ZERO + d.micros(1_000, 10_000_000),
        }
    }

    /// The packets sent instead of `seg`, which acknowledges at least `acked`.
    pub(crate) fn process(
        &self,
        d: &mut Draw,
        now: Instant,
        seg: &Segment,
        last_ack: Option<SeqNum>,
        tally: &mut Tally,
    ) -> Vec<Segment> {
        let mut first = *seg;
        let synchronised =
            seg.flags.contains(Flags::ACK) && !seg.flags.intersects(Flags::SYN | Flags::RST);
        if now >= self.until || !synchronised {
            return vec![first];
        }
        if d.permille(self.shrink) {
            tally.windows_shrunk += 1;
            first.window = match d.below(4) {
                0 => 0,
                1 => first.window.min(1),
                2 => first.window / 2,
                _ => d.below(u64::from(first.window) + 1) as u16,
            };
        }
        if !first.options.sack.is_empty() && d.permille(self.trim) {
            tally.sacks_trimmed += 1;
            first.options.sack = trimmed(d, &first.options.sack);
        }
        let pure = first.payload_len == 0 && !first.flags.contains(Flags::FIN);
        if !pure {
            return vec![first];
        }
        let mut out = Vec::new();
        let news = last_ack.map_or(0, |last| first.ack.diff(last).max(0));
        if news > 1 && d.permille(self.divide) {
            tally.acks_divided += 1;
            let mut cuts: Vec<u64> =
                (0..d.range(1, 4)).map(|_| d.range(1, news as u64 - 1)).collect();
            cuts.sort_unstable();
            let base = first.ack.add(u64::from(news.unsigned_abs()).wrapping_neg());
            out.extend(cuts.into_iter().map(|cut| Segment { ack: base.add(cut), ..first }));
        }
        let copies = if d.permille(self.repeat) {
            tally.acks_repeated += 1;
            d.range(2, 6)
        } else {
            1
        };
        out.extend((0..copies).map(|_| first));
        out
    }
}

/// Removes and shortens blocks. The first one keeps its place: it may be a DSACK.
fn trimmed(d: &mut Draw, blocks: &SackBlocks) -> SackBlocks {
    let mut out = SackBlocks::EMPTY;
    for &(start, end) in blocks.as_slice() {
        let len = u64::from(end.diff(start).max(0).unsigned_abs());
        match d.below(4) {
            0 => {}
            1 if len > 1 => {
                let from = d.below(len);
                let to = d.range(from + 1, len);
                out.push(start.add(from), start.add(to));
            }
            _ => {
                out.push(start, end);
            }
        }
    }
    out
}
