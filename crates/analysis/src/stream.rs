//! Sequence tracking of one end's data: new data, retransmissions, reordering, and the delay of
//! ACKs.
//!
//! Contract: stream offsets count payload bytes from the SYN, or from the first sequence number
//! seen. Memory is bounded: beyond the limits the oldest state is dropped, never guessed.

use std::collections::VecDeque;

use lowtide_units::LogHistogram;
use lowtide_wire::{Flags, Segment, SeqNum};

/// Segments in flight that are remembered.
const MAX_OUTSTANDING: usize = 8192;
/// Lead of the payload of most packets.
const MIN_LEAD: u64 = 4;
/// Holes that are remembered.
const MAX_HOLES: usize = 256;
/// Flags of segments that are no keep-alives.
const ENDS: u16 = Flags::FIN.bits() | Flags::RST.bits();
/// Largest delay taken for reordering while no round trip is known.
const REORDERING_WINDOW_NS: u64 = 3_000_000;

#[derive(Clone, Copy, Debug)]
struct InFlightSegment {
    start: u64,
    end: u64,
    time: u64,
    /// Time of the last transmission.
    latest: u64,
    retransmitted: bool,
}

/// Unseen bytes below bytes that were seen.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: u64,
    end: u64,
    time: u64,
    /// Data packets seen before the hole was found.
    packets: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SequenceTracker {
    origin: Option<SeqNum>,
    /// Whether the SYN was seen.
    pub(super) from_syn: bool,
    pub(super) fin: bool,
    /// Offset after the last byte seen.
    pub(super) highest: u64,
    /// Acknowledged offset.
    pub(super) acked: u64,
    outstanding: VecDeque<InFlightSegment>,
    holes: Vec<Hole>,
    latest_tsval: Option<u32>,
    /// Captured packets with payload, and the wire segments in them.
    pub(super) packets: u64,
    pub(super) segments: u64,
    pub(super) bytes: u64,
    pub(super) retransmitted_segments: u64,
    pub(super) retransmitted_bytes: u64,
    /// Retransmitted bytes that were already acknowledged.
    pub(super) spurious_bytes: u64,
    /// Retransmitted segments never seen before: lost before the capture point.
    pub(super) lost_before_capture: u64,
    pub(super) keep_alives: u64,
    pub(super) window_probes: u64,
    /// End of the byte of the last window probe, which the receiver may accept.
    probe_end: u64,
    /// Gaps that SACK reported and the first transmission filled: reordered after the capture.
    pub(super) late_heads: u64,
    pub(super) reordered: u64,
    /// Number of later packets that overtook a reordered one.
    pub(super) reordering_extent: LogHistogram,
    /// Acknowledged bytes that are not in the capture.
    pub(super) unseen_bytes: u64,
    /// Packets of several segments, and the longest payload.
    pub(super) large: u64,
    pub(super) largest: u32,
    /// The payload that most packets have, if one has the majority, and its lead (Boyer and Moore).
    usual: (u32, u64),
}

/// Classification of a packet with payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PayloadKind {
    New,
    /// Bytes that were sent before; `head` if they begin with the first unacknowledged byte.
    Retransmission {
        head: bool,
        tail: bool,
    },
    Reordered,
    /// A probe of a closed window: no byte, or one.
    WindowProbe,
    /// No payload, a keep-alive, or data from before the capture.
    NoData,
}

/// Data that an ACK covers. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct AckCoverage {
    /// Acknowledged offset.
    pub(super) ack: u64,
    /// Acknowledged offset before this ACK.
    pub(super) prior_ack: u64,
    /// Bytes in flight before this ACK.
    pub(super) flight: u64,
    /// Age of the newest byte covered, if it was sent once.
    pub(super) rtt: Option<u64>,
    /// Age of the oldest byte covered.
    pub(super) oldest_age: u64,
    /// The ACK is older than one that was seen.
    pub(super) stale: bool,
    /// The captured data has a hole.
    pub(super) has_hole: bool,
}

impl AckCoverage {
    pub(super) const fn newly_acked(&self) -> u64 {
        self.ack - self.prior_ack
    }
}

impl SequenceTracker {
    /// Processes a SYN, which gives the origin.
    pub(super) fn on_syn(&mut self, isn: SeqNum) {
        if self.origin.is_none() {
            self.origin = Some(isn.add(1));
            self.from_syn = true;
        }
    }

    /// Sets the origin from a SYN-ACK; the SYN may be missing. Data begins at `first`.
    pub(super) fn set_origin(&mut self, first: SeqNum) {
        self.origin.get_or_insert(first);
    }

    /// Returns the ISN if the SYN was seen.
    pub(super) fn isn(&self) -> Option<SeqNum> {
        self.origin.filter(|_| self.from_syn).map(|o| o.add(u64::from(u32::MAX)))
    }

    /// Returns the offset of a sequence number near `near`, or `None` below the origin.
    fn offset(&mut self, seq: SeqNum, near: u64) -> Option<u64> {
        let origin = *self.origin.get_or_insert(seq);
        near.checked_add_signed(i64::from(seq.diff(origin.add(near))))
    }

    /// Returns the number of wire segments in `bytes`.
    pub(super) fn count(bytes: u64, mss: u32) -> u64 {
        bytes.div_ceil(u64::from(mss.max(1))).max(1)
    }

    /// Processes a segment; `round_trip` is the minimum of the whole path, `closed` whether the
    /// receive window is zero.
    pub(super) fn on_data(
        &mut self,
        time: u64,
        segment: &Segment,
        mss: u32,
        round_trip: Option<u64>,
        closed: bool,
    ) -> (PayloadKind, u64) {
        let highest = self.highest;
        let Some(start) = self.offset(segment.seq, highest) else {
            return (PayloadKind::NoData, 0);
        };
        self.fin |= segment.flags.contains(Flags::FIN);
        let len = u64::from(segment.payload_len);
        let end = start + len;
        // The window tells both probes apart (RFC 9293 §3.8.4, §3.8.6.1).
        let old_byte = len <= 1 && start + 1 == highest && (self.from_syn || highest > 1);
        if closed && (old_byte || (len == 1 && start + 1 >= self.acked && start <= highest)) {
            self.window_probes += 1;
            self.probe_end = end;
            return (PayloadKind::WindowProbe, start);
        }
        if old_byte && self.acked == highest && segment.flags.bits() & ENDS == 0 {
            self.keep_alives += 1;
            return (PayloadKind::NoData, start);
        }
        if len == 0 {
            // Data before a FIN that was not seen is missing.
            if self.fin && start > highest && segment.flags.contains(Flags::FIN) {
                self.add_hole(time, start, self.packets);
                self.highest = start;
            }
            return (PayloadKind::NoData, start);
        }
        let segments = Self::count(len, mss);
        self.packets += 1;
        self.segments += segments;
        self.bytes += len;
        self.large += u64::from(segments > 1);
        self.largest = self.largest.max(segment.payload_len);
        let (usual, votes) = &mut self.usual;
        match (*usual == segment.payload_len, *votes) {
            (true, _) => *votes += 1,
            (false, 0) => (*usual, *votes) = (segment.payload_len, 1),
            (false, _) => *votes -= 1,
        }
        let tsval = segment.options.timestamps.map(|t| t.value);
        let sent = if start >= highest {
            self.extend(time, start, end);
            PayloadKind::New
        } else {
            self.on_old_data(time, (start, end), segments, tsval, round_trip)
        };
        if let Some(value) = tsval
            && self.latest_tsval.is_none_or(|latest| value.wrapping_sub(latest).cast_signed() > 0)
        {
            self.latest_tsval = Some(value);
        }
        (sent, start)
    }

    fn add_hole(&mut self, time: u64, end: u64, packets: u64) {
        if self.holes.len() >= MAX_HOLES {
            self.holes.remove(0);
        }
        self.holes.push(Hole { start: self.highest, end, time, packets });
    }

    fn extend(&mut self, time: u64, start: u64, end: u64) {
        if start > self.highest {
            self.add_hole(time, start, self.packets - 1);
        }
        self.highest = end;
        if self.outstanding.len() >= MAX_OUTSTANDING {
            self.outstanding.pop_front();
        }
        self.outstanding.push_back(InFlightSegment {
            start,
            end,
            time,
            latest: time,
            retransmitted: false,
        });
    }

    /// Classifies bytes below the highest: in a hole they are reordered or were lost before the
    /// capture point, elsewhere they are retransmitted.
    fn on_old_data(
        &mut self,
        time: u64,
        (start, end): (u64, u64),
        segments: u64,
        tsval: Option<u32>,
        round_trip: Option<u64>,
    ) -> PayloadKind {
        let (head, tail) = (start <= self.acked, end >= self.highest);
        let below = end.min(self.highest);
        let hole = self.holes.iter().copied().find(|h| h.start < below && start < h.end);
        if let Some(hole) = hole {
            self.fill(start, below);
            let at = self.outstanding.partition_point(|out| out.start < start);
            self.outstanding.insert(
                at,
                InFlightSegment { start, end, time, latest: time, retransmitted: true },
            );
            self.highest = self.highest.max(end);
            let older = tsval.zip(self.latest_tsval).map(|(v, l)| v.wrapping_sub(l).cast_signed());
            let soon = time.saturating_sub(hole.time)
                < round_trip.map_or(REORDERING_WINDOW_NS, |rtt| rtt / 10 * 9);
            let reordered = match older {
                Some(..0) => true,
                Some(1..) => false,
                Some(0) | None => soon,
            };
            if reordered {
                self.reordered += 1;
                self.reordering_extent.add(self.packets - 1 - hole.packets);
                return PayloadKind::Reordered;
            }
            self.lost_before_capture += segments;
        } else {
            let first = self.outstanding.partition_point(|out| out.end <= start);
            self.outstanding
                .iter_mut()
                .skip(first)
                .take_while(|out| out.start < end)
                .for_each(|out| (out.retransmitted, out.latest) = (true, time));
            self.spurious_bytes += self.acked.min(end).saturating_sub(start);
            if end > self.highest {
                let from = self.highest;
                self.extend(time, from, end);
            }
        }
        self.retransmitted_segments += segments;
        self.retransmitted_bytes += below - start;
        PayloadKind::Retransmission { head, tail }
    }

    fn fill(&mut self, start: u64, end: u64) {
        let mut left = Vec::with_capacity(self.holes.len() + 1);
        for hole in &self.holes {
            if hole.start < start.min(hole.end) {
                left.push(Hole { end: start.min(hole.end), ..*hole });
            }
            if end.max(hole.start) < hole.end {
                left.push(Hole { start: end.max(hole.start), ..*hole });
            }
        }
        self.holes = left;
    }

    /// Processes an ACK of this data.
    /// `sacked`: an earlier ACK had SACK blocks above the first unacknowledged byte.
    pub(super) fn on_ack(
        &mut self,
        time: u64,
        number: SeqNum,
        sacked: bool,
    ) -> Option<AckCoverage> {
        let near = self.acked;
        let mut ack = self.offset(number, near)?;
        let before = self.acked;
        if ack < before {
            return Some(AckCoverage {
                ack: before,
                prior_ack: before,
                stale: true,
                ..AckCoverage::default()
            });
        }
        if ack == self.highest + 1 && self.fin {
            ack = self.highest;
        }
        if ack == self.highest + 1 && ack == self.probe_end {
            self.highest = ack;
        }
        if ack > self.highest {
            self.unseen_bytes += ack - self.highest;
            self.highest = ack;
        }
        let flight = self.highest - before;
        let gap = !self.holes.is_empty();
        let lost: u64 = self.holes.iter().map(|h| h.end.min(ack).saturating_sub(h.start)).sum();
        if lost > 0 {
            self.unseen_bytes += lost;
            self.fill(0, ack);
        }
        let (mut newest, mut oldest, mut repaired) = (None, None, false);
        let head = self.outstanding.front().filter(|out| out.start <= before && out.end <= ack);
        self.late_heads += u64::from(sacked && head.is_some_and(|out| !out.retransmitted));
        while let Some(out) = self.outstanding.front().filter(|out| out.end <= ack).copied() {
            repaired |= out.retransmitted;
            newest = Some(out.time);
            oldest.get_or_insert(out.time);
            self.outstanding.pop_front();
        }
        let rtt = newest.filter(|_| !repaired && lost == 0).map(|sent| time.saturating_sub(sent));
        let owed = oldest.map_or(0, |sent| time.saturating_sub(sent));
        self.acked = ack.max(before);
        Some(AckCoverage {
            ack,
            prior_ack: before,
            flight,
            rtt,
            oldest_age: owed,
            stale: false,
            has_hole: gap,
        })
    }

    /// Returns the bytes sent and not acknowledged.
    pub(super) fn flight(&self) -> u64 {
        self.highest - self.acked
    }

    /// Returns the payload of most packets.
    pub(super) fn usual_payload(&self) -> Option<u32> {
        let (usual, lead) = self.usual;
        (lead >= MIN_LEAD && self.packets < lead * 4).then_some(usual)
    }

    /// Returns the bytes that were in flight when the last segment was sent.
    pub(super) fn unacked_before_last(&self) -> u64 {
        self.outstanding.back().map_or(0, |last| last.start.saturating_sub(self.acked))
    }

    /// Returns the time at which the first unacknowledged byte was last sent, if that was seen.
    pub(super) fn head_sent(&self) -> Option<u64> {
        self.outstanding.front().filter(|out| out.start <= self.acked).map(|out| out.latest)
    }

    /// Returns the offset of a SACK edge, a number near the acknowledged one.
    pub(super) fn sack_offset(&self, number: SeqNum) -> Option<u64> {
        let origin = self.origin?;
        self.acked.checked_add_signed(i64::from(number.diff(origin.add(self.acked))))
    }
}

#[cfg(test)]
mod tests {
    use lowtide_wire::Timestamps;

    use super::*;

    const MSS: u32 = 1000;

    struct Sender(SequenceTracker);

    impl Sender {
        /// Creates a sender whose SYN had number 99.
        fn new() -> Self {
            let mut stream = SequenceTracker::default();
            stream.on_syn(SeqNum::new(99));
            Self(stream)
        }
        fn data(&mut self, time: u64, offset: u32, len: u32, tsval: Option<u32>) -> PayloadKind {
            let mut segment = Segment {
                seq: SeqNum::new(100 + offset),
                flags: Flags::ACK,
                payload_len: len,
                ..Segment::default()
            };
            segment.options.timestamps = tsval.map(|value| Timestamps { value, echo: 0 });
            self.0.on_data(time, &segment, MSS, Some(100), false).0
        }
        fn ack(&mut self, time: u64, offset: u32) -> AckCoverage {
            self.0.on_ack(time, SeqNum::new(100 + offset), false).expect("in range")
        }
    }

    #[test]
    fn retransmissions_and_offloaded_segments_are_counted() {
        let mut s = Sender::new();
        assert_eq!(s.data(0, 0, 3500, None), PayloadKind::New);
        assert_eq!((s.0.packets, s.0.segments, s.0.large), (1, 4, 1));
        assert_eq!(
            s.data(5, 1000, 1000, None),
            PayloadKind::Retransmission { head: false, tail: false }
        );
        assert_eq!(s.ack(10, 1000).rtt, None, "the packet was retransmitted in part");
        assert_eq!(
            s.data(20, 1000, 2500, None),
            PayloadKind::Retransmission { head: true, tail: true }
        );
        assert_eq!(
            (s.0.retransmitted_segments, s.0.retransmitted_bytes, s.0.spurious_bytes),
            (4, 3500, 0)
        );
        assert_eq!(
            s.data(30, 0, 1000, None),
            PayloadKind::Retransmission { head: true, tail: false }
        );
        assert_eq!(s.0.spurious_bytes, 1000);
    }

    #[test]
    fn reordered_packets_differ_from_retransmissions() {
        // By timestamps: a late packet was sent before those that overtook it.
        let mut s = Sender::new();
        s.data(0, 0, 1000, Some(5));
        s.data(1, 2000, 1000, Some(6));
        s.data(2, 3000, 1000, Some(7));
        assert_eq!(s.data(500, 1000, 1000, Some(6)), PayloadKind::Reordered);
        assert_eq!(s.0.reordering_extent.max(), 2, "two overtook it");
        s.data(501, 5000, 1000, Some(8));
        assert_eq!(
            s.data(502, 4000, 1000, Some(9)),
            PayloadKind::Retransmission { head: false, tail: false }
        );
        assert_eq!((s.0.reordered, s.0.lost_before_capture, s.0.retransmitted_segments), (1, 1, 1));
        // By time: nothing is retransmitted within a round trip, here 100.
        let mut s = Sender::new();
        s.data(0, 1000, 1000, None);
        assert_eq!(s.data(80, 0, 500, None), PayloadKind::Reordered);
        assert_eq!(
            s.data(95, 500, 500, None),
            PayloadKind::Retransmission { head: false, tail: false }
        );
        assert!(s.0.holes.is_empty());
    }

    #[test]
    fn numbers_wrap_and_fin_is_no_byte() {
        let mut stream = SequenceTracker::default();
        stream.on_syn(SeqNum::new(u32::MAX - 500));
        let mut segment = Segment { payload_len: 1000, flags: Flags::ACK, ..Segment::default() };
        for i in 0..5_u64 {
            segment.seq = SeqNum::new(u32::MAX - 499).add(1000 * i);
            segment.flags = if i == 4 { Flags::ACK | Flags::FIN } else { Flags::ACK };
            assert_eq!(stream.on_data(i, &segment, MSS, None, false).0, PayloadKind::New);
        }
        let covered = stream.on_ack(9, segment.seq.add(1001), false).expect("in range");
        assert_eq!((covered.newly_acked(), covered.rtt, covered.flight), (5000, Some(5), 5000));
        assert_eq!((stream.flight(), stream.unseen_bytes), (0, 0));
        // Data that comes after its FIN was lost before the capture.
        let mut s = Sender::new();
        s.data(0, 0, 1000, None);
        let fin = Segment {
            seq: SeqNum::new(3100),
            flags: Flags::ACK | Flags::FIN,
            ..Segment::default()
        };
        s.0.on_data(5, &fin, MSS, Some(100), false);
        let late = PayloadKind::Retransmission { head: false, tail: false };
        assert_eq!((s.data(500, 1000, 1000, None), s.0.lost_before_capture), (late, 1));
        assert_eq!((s.ack(600, 3001).ack, s.0.unseen_bytes), (3000, 1000));
    }

    #[test]
    fn missed_bytes_are_counted_and_probes_are_no_data() {
        let mut s = Sender::new();
        s.data(0, 0, 1000, None);
        s.data(1, 2000, 1000, None);
        assert!(s.ack(5, 1000).has_hole);
        assert_eq!(s.ack(9, 3000).rtt, None);
        assert_eq!(s.0.unseen_bytes, 1000);
        assert_eq!(s.ack(10, 4000).newly_acked(), 1000);
        assert_eq!(s.0.unseen_bytes, 2000);
        assert_eq!(s.data(11, 3999, 1, None), PayloadKind::NoData);
        assert_eq!((s.0.keep_alives, s.0.retransmitted_segments), (1, 0));
        assert!(s.ack(12, 2000).stale);
    }
}
