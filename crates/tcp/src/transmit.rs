//! Output of a connection to its driver: one or more segments over a range of the stream.

use core::ops::Range;

use lowtide_wire::{DelayStamps, Flags, Segment};

/// Identifies a [`Transmit`] in [`crate::Connection::on_transmitted`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransmitId(pub u64);

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

    /// Stream offsets of the `i`-th segment's payload.
    pub fn stream_of(&self, i: u32) -> Range<u64> {
        let start = self.stream.start + u64::from(i) * u64::from(self.mss);
        let end = (start + u64::from(self.mss)).min(self.stream.end);
        if self.segments <= 1 { self.stream.clone() } else { start.min(end)..end }
    }
}
