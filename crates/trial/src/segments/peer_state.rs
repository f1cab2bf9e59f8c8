//! An on-path peer's knowledge of a connection: the numbers in its segments.

use lowtide_wire::{Flags, Segment, SeqNum};

#[derive(Clone, Copy, Debug)]
pub(super) struct PeerState {
    /// The peer's own initial sequence number.
    pub(super) irs: SeqNum,
    /// The connection's.
    pub(super) isn: SeqNum,
    /// One past the highest sequence number that it used.
    pub(super) snd_max: SeqNum,
    /// Its last acknowledgement and window field.
    pub(super) rcv_nxt: SeqNum,
    pub(super) window: u16,
    /// Its last TSval and TSecr.
    pub(super) ts_value: u32,
    pub(super) ts_echo: u32,
    /// Whether it uses timestamps.
    pub(super) timestamps: bool,
    /// Whether it negotiated Accurate ECN.
    pub(super) accecn: bool,
}

impl PeerState {
    pub(super) const fn new(irs: SeqNum) -> Self {
        Self {
            irs,
            isn: SeqNum::new(0),
            snd_max: SeqNum::new(0),
            rcv_nxt: irs,
            window: 0,
            ts_value: 0,
            ts_echo: 0,
            timestamps: false,
            accecn: false,
        }
    }

    pub(super) fn on_segment(&mut self, seg: &Segment) {
        // A RST has the numbers of the segment that it answers.
        if seg.flags.contains(Flags::RST) {
            return;
        }
        if seg.flags.contains(Flags::SYN) {
            self.isn = seg.seq;
            self.snd_max = seg.seq_end();
        } else if self.snd_max.before(seg.seq_end()) {
            self.snd_max = seg.seq_end();
        }
        if seg.flags.contains(Flags::ACK) {
            self.rcv_nxt = seg.ack;
            self.window = seg.window;
        }
        self.timestamps = seg.options.timestamps.is_some();
        if let Some(stamps) = seg.options.timestamps {
            self.ts_value = stamps.value;
            self.ts_echo = stamps.echo;
        }
    }
}
