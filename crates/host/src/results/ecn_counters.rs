//! ECN counters of a flow's packets, as seen on the wire by its two hosts.
//!
//! Contract: raw header bits after the warm-up, independent of sender and receiver logic. With
//! Accurate ECN the flags are a counter and have another meaning.

use lowtide_rows::EcnCounters;
use lowtide_wire::{Ecn, Flags, Segment};

/// Counts segments on the wire, after segmentation offload.
pub(crate) trait CountSegments {
    /// Counts a `segment` that the sender sends.
    fn on_data_sent(&mut self, segment: &Segment);

    /// Counts a `segment` that reaches the receiver.
    fn on_data_received(&mut self, segment: &Segment);

    /// Counts a `segment` that reaches the sender. A SYN-ACK is excluded: its flags negotiate.
    fn on_ack_received(&mut self, segment: &Segment);
}

impl CountSegments for EcnCounters {
    #[inline]
    fn on_data_sent(&mut self, segment: &Segment) {
        if segment.payload_len > 0 {
            self.data_segs_out_after_warmup += 1;
            self.ect_segs_out_after_warmup += u64::from(segment.ecn.is_capable());
            self.cwr_segs_out_after_warmup += u64::from(segment.flags.contains(Flags::CWR));
        }
    }

    #[inline]
    fn on_data_received(&mut self, segment: &Segment) {
        if segment.payload_len > 0 {
            self.data_segs_in_after_warmup += 1;
            self.ce_segs_in_after_warmup += u64::from(segment.ecn == Ecn::Ce);
        }
    }

    #[inline]
    fn on_ack_received(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::SYN) {
            self.acks_in_after_warmup += 1;
            self.ece_acks_in_after_warmup += u64::from(segment.flags.contains(Flags::ECE));
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
            data_segs_out_after_warmup: 3,
            ect_segs_out_after_warmup: 2,
            cwr_segs_out_after_warmup: 1,
            data_segs_in_after_warmup: 4,
            ce_segs_in_after_warmup: 1,
            acks_in_after_warmup: 3,
            ece_acks_in_after_warmup: 2,
        };
        assert_eq!(seen, expected);
    }
}
