//! ECN counters of a flow's packets, as seen on the wire by its two hosts.
//!
//! Contract: raw header bits after the warm-up, independent of sender and receiver logic. With
//! Accurate ECN the flags are a counter and have another meaning.

use lowtide_wire::{Ecn, Flags, Segment};

/// Counters of one flow: segments on the wire, after segmentation offload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounters {
    /// Data segments that left the sender.
    pub data_segments: u64,
    /// Of these, segments with an ECN-capable codepoint.
    pub ect_segments: u64,
    /// Of these, segments with the CWR flag.
    pub cwr_segments: u64,
    /// Data segments that reached the receiver.
    pub arrived_segments: u64,
    /// Of these, segments with CE.
    pub ce_segments: u64,
    /// ACKs that reached the sender.
    pub acks: u64,
    /// Of these, ACKs with the ECE flag.
    pub ece_acks: u64,
}

impl EcnCounters {
    /// Returns the sum.
    pub(crate) const fn and(&self, more: &Self) -> Self {
        Self {
            data_segments: self.data_segments + more.data_segments,
            ect_segments: self.ect_segments + more.ect_segments,
            cwr_segments: self.cwr_segments + more.cwr_segments,
            arrived_segments: self.arrived_segments + more.arrived_segments,
            ce_segments: self.ce_segments + more.ce_segments,
            acks: self.acks + more.acks,
            ece_acks: self.ece_acks + more.ece_acks,
        }
    }

    /// Counts a `segment` that the sender sends.
    pub(crate) fn on_data_sent(&mut self, segment: &Segment) {
        if segment.payload_len > 0 {
            self.data_segments += 1;
            self.ect_segments += u64::from(segment.ecn.is_capable());
            self.cwr_segments += u64::from(segment.flags.contains(Flags::CWR));
        }
    }

    /// Counts a `segment` that reaches the receiver.
    pub(crate) fn on_data_received(&mut self, segment: &Segment) {
        if segment.payload_len > 0 {
            self.arrived_segments += 1;
            self.ce_segments += u64::from(segment.ecn == Ecn::Ce);
        }
    }

    /// Counts a `segment` that reaches the sender. A SYN-ACK is excluded: its flags negotiate.
    pub(crate) fn on_ack_received(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::SYN) {
            self.acks += 1;
            self.ece_acks += u64::from(segment.flags.contains(Flags::ECE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_acks_are_counted_where_they_are_seen() {
        let ack = Segment { flags: Flags::ACK | Flags::ECE, ..Segment::default() };
        let syn_ack = Segment { flags: Flags::SYN | Flags::ACK | Flags::ECE, ..ack };
        let data = Segment {
            flags: Flags::ACK | Flags::CWR,
            ecn: Ecn::Ect0,
            payload_len: 1448,
            ..Segment::default()
        };
        let (bare, plain) =
            (Segment { payload_len: 0, ..data }, Segment { flags: Flags::ACK, ..data });
        let mut seen = EcnCounters::default();
        for segment in [syn_ack, ack, ack, Segment { flags: Flags::ACK, ..ack }] {
            seen.on_ack_received(&segment);
        }
        for segment in [data, bare, plain, Segment { ecn: Ecn::NotEct, ..plain }] {
            seen.on_data_sent(&segment);
            seen.on_data_received(&segment);
        }
        seen.on_data_received(&Segment { ecn: Ecn::Ce, ..data });
        let expected = EcnCounters {
            data_segments: 3,
            ect_segments: 2,
            cwr_segments: 1,
            arrived_segments: 4,
            ce_segments: 1,
            acks: 3,
            ece_acks: 2,
        };
        assert_eq!(seen, expected);
    }
}
