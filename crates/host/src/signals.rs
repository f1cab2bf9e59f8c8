//! What the packets of a flow show of its ECN, as its two hosts see them on the wire.
//!
//! Contract: raw bits of headers, counted over the whole life of a flow, whatever sender and receiver
//! make of them. Where Accurate ECN was agreed the flags are a counter and mean something else.

use lowtide_wire::{Flags, Segment};

/// Counts of one flow. Segments after segmentation offload and before receive aggregation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals {
    /// Data segments that left the sender with an ECN-capable codepoint.
    pub ect_segments: u64,
    /// Data segments that left the sender with the CWR flag.
    pub cwr_segments: u64,
    /// ACKs that reached the sender, the SYN-ACK not among them.
    pub acks: u64,
    /// Of these, ACKs with the ECE flag.
    pub ece_acks: u64,
}

impl Signals {
    /// The sender sends `segment`.
    pub(crate) fn sent(&mut self, segment: &Segment) {
        if segment.payload_len > 0 {
            self.ect_segments += u64::from(segment.ecn.is_capable());
            self.cwr_segments += u64::from(segment.flags.contains(Flags::CWR));
        }
    }

    /// `segment` reaches the sender.
    pub(crate) fn heard(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::SYN) {
            self.acks += 1;
            self.ece_acks += u64::from(segment.flags.contains(Flags::ECE));
        }
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::Ecn;

    use super::*;

    #[test]
    fn only_data_that_leaves_and_acks_that_come_count() {
        let ack = Segment { flags: Flags::ACK | Flags::ECE, ..Segment::default() };
        let syn_ack = Segment { flags: Flags::SYN | Flags::ACK | Flags::ECE, ..ack };
        let data = Segment {
            flags: Flags::ACK | Flags::CWR,
            ecn: Ecn::Ect0,
            payload_len: 1448,
            ..Segment::default()
        };
        let mut seen = Signals::default();
        for segment in [syn_ack, ack, ack, Segment { flags: Flags::ACK, ..ack }] {
            seen.heard(&segment);
        }
        for segment in
            [data, Segment { payload_len: 0, ..data }, Segment { flags: Flags::ACK, ..data }]
        {
            seen.sent(&segment);
        }
        assert_eq!(seen, Signals { ect_segments: 2, cwr_segments: 1, acks: 3, ece_acks: 2 });
    }
}
