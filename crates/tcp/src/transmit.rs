//! Output of a connection to its driver: one or more segments over a range of the stream.

use core::hint::cold_path;
use core::ops::Range;

use lowtide_wire::{DelayStamps, Flags, Segment};

/// Identifies a [`Transmit`] in [`crate::Connection::on_transmitted`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmitId(pub u64);

/// The segments of a [`Transmit`] that are not cut off yet ([`Transmit::cut_next`]).
#[doc(hidden)]
#[derive(Debug)]
pub struct SegmentCut {
    /// Segments, the present one included.
    left: u32,
    /// Their payload bytes.
    bytes: u32,
    /// Flags of the whole.
    flags: Flags,
}

/// Segments to put on the wire. The driver copies the payload from its buffer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Transmit {
    /// Identifier for [`crate::Connection::on_transmitted`].
    pub id: TransmitId,
    /// The header; `payload_len` is the total of all segments. With the delay option negotiated, it
    /// reserves space for the departure time, which the driver fills in for each segment
    /// ([`Segment::stamp_departure`]).
    pub header: Segment,
    /// Stream offsets of the payload.
    pub stream: Range<u64>,
    /// Payload bytes of each segment except the last.
    pub mss: u32,
    /// Number of segments: one, or more for segmentation offload.
    pub segments: u32,
    /// AE, CWR and ECE are a counter, identical on each segment (RFC 9768 §3.3.4).
    pub accecn: bool,
    /// The delayed-ACK timer released this acknowledgement. Not on the wire; simulators may pass it
    /// to the peer ([`lowtide_wire::RxMeta::delack_timeout`]).
    #[doc(hidden)]
    pub delack_timeout: bool,
}

impl Transmit {
    /// The `i`-th segment on the wire, `i < segments`, as a NIC with segmentation offload builds
    /// it. CWR (RFC 3168 §6.1.2), unless part of a counter, and the delay echo are on the first
    /// only; FIN and PSH on the last only.
    #[inline]
    pub fn segment(&self, i: u32) -> Segment {
        let mut seg = self.header;
        if self.segments > 1 {
            self.fill_segment(i, &mut seg);
        }
        seg
    }

    /// Turns the header into that of the `i`-th segment.
    #[inline(never)]
    fn fill_segment(&self, i: u32, seg: &mut Segment) {
        let at = u64::from(i) * u64::from(self.mss);
        seg.seq = seg.seq.add(at);
        let left = u64::from(self.header.payload_len).saturating_sub(at);
        seg.payload_len = left.min(u64::from(self.mss)) as u32;
        if i > 0 {
            if !self.accecn {
                seg.flags = seg.flags.without(Flags::CWR);
            }
            if seg.options.delay().is_some() {
                seg.options.set_delay(DelayStamps::default());
            }
        }
        if i + 1 < self.segments {
            seg.flags = seg.flags.without(Flags::FIN | Flags::PSH);
        }
    }

    /// Turns the header into that of the first segment; [`Self::cut_next`] follows. A driver that
    /// sends each segment at once needs no copies.
    #[doc(hidden)]
    #[inline]
    pub fn cut_first(&mut self) -> SegmentCut {
        let header = &mut self.header;
        let cut =
            SegmentCut { left: self.segments, bytes: header.payload_len, flags: header.flags };
        if self.segments > 1 {
            header.payload_len = self.mss;
            header.flags = header.flags.without(Flags::FIN | Flags::PSH);
        }
        cut
    }

    /// Turns the header into that of the next segment, as [`Self::segment`] returns it. False after
    /// the last one.
    #[doc(hidden)]
    #[inline]
    pub fn cut_next(&mut self, cut: &mut SegmentCut) -> bool {
        if cut.left <= 1 {
            return false;
        }
        cut.left -= 1;
        cut.bytes = cut.bytes.saturating_sub(self.mss);
        let header = &mut self.header;
        header.seq = header.seq.add(u64::from(self.mss));
        header.payload_len = cut.bytes.min(self.mss);
        let dropped = if self.accecn { Flags::NONE } else { Flags::CWR };
        header.flags = header.flags.without(dropped);
        if cut.left == 1 {
            header.flags |= cut.flags.without(dropped);
        }
        if header.options.delay().is_some() {
            cold_path();
            header.options.set_delay(DelayStamps::default());
        }
        true
    }

    /// Stream offsets of the `i`-th segment's payload.
    pub fn stream_of(&self, i: u32) -> Range<u64> {
        let start = self.stream.start + u64::from(i) * u64::from(self.mss);
        let end = (start + u64::from(self.mss)).min(self.stream.end);
        if self.segments <= 1 { self.stream.clone() } else { start.min(end)..end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_in_place_gives_the_same_segments_as_copies() {
        let flags = Flags::ACK | Flags::CWR | Flags::ECE | Flags::PSH | Flags::FIN;
        for (segments, payload_len, accecn, delay) in [
            (1, 700, false, false),
            (1, 0, true, false),
            (2, 1001, false, true),
            (3, 3000, true, false),
            (7, 6500, false, false),
        ] {
            let mut header = Segment { flags, payload_len, ..Segment::default() };
            if delay {
                header.options.set_delay(DelayStamps { left: 7, ..DelayStamps::default() });
            }
            let whole = Transmit { header, mss: 1000, segments, accecn, ..Transmit::default() };
            let (mut cut, mut i) = (whole.clone(), 0);
            let mut rest = cut.cut_first();
            loop {
                assert_eq!(cut.header, whole.segment(i), "segment {i} of {segments}");
                i += 1;
                if !cut.cut_next(&mut rest) {
                    break;
                }
            }
            assert_eq!(i, segments);
        }
    }
}
