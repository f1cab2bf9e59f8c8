//! Receive aggregation: consecutive segments of a flow are merged (LRO, GRO).
//!
//! Contract: output equals input except for the number of segments: the same bytes in the same
//! order, each delayed by at most `interval`. Segments are merged only if they are exactly
//! consecutive. They must agree in codepoint, flags (except PSH), acknowledgement number, window
//! and options (except timestamps), as in Linux's `tcp_gro_receive`. So an aggregate never spans a
//! change of CE, ECE or CWR, and a segment with CWR, SYN, FIN, RST or URG is never merged. A
//! segment with PSH, or shorter than the first, ends an aggregate; a pure ACK is never held.
//!
//! The aggregate carries the header of its first segment with its timestamp (the mean if segments
//! carry delay stamps, DX §V-A). It also carries the first TSval, which a delayed ACK echoes (RFC
//! 7323 §4.3), and the newest TSecr. Linux merges only equal timestamps, FreeBSD any that increase;
//! so does this.

use lowtide_net::Packet;
use lowtide_units::{Duration, HostStamp, Instant};
use lowtide_wire::{DelayStamps, Ecn, Flags, Segment};

use super::nic::AggregationSpec;

/// Flags that exclude a segment from merging.
const ALONE: Flags = Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::URG).with(Flags::CWR);

/// The aggregate of one flow.
#[derive(Clone, Copy, Debug)]
struct Held {
    packet: Packet,
    /// Latest release time.
    until: Instant,
    /// Payload of its first segment, in bytes.
    mss: u32,
}

/// The held segments of a host. Few flows are held at a time, so a list is searched.
#[derive(Clone, Debug)]
pub(crate) struct Aggregator {
    interval: Duration,
    max_bytes: u64,
    held: Vec<Held>,
    /// Time of the pending event; far future without one.
    armed: Instant,
}

impl Aggregator {
    pub(crate) fn new(spec: &AggregationSpec) -> Self {
        Self {
            interval: spec.interval,
            max_bytes: spec.max_bytes.as_u64(),
            held: Vec::new(),
            armed: Instant::FAR_FUTURE,
        }
    }

    /// Adds a packet. Packets to pass to TCP now are appended to `out`, in order.
    pub(crate) fn push(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        let same = |h: &Held| {
            (h.packet.src, h.packet.dst_conn) == (packet.src, packet.dst_conn)
                && (h.packet.segment.src_port, h.packet.segment.dst_port)
                    == (packet.segment.src_port, packet.segment.dst_port)
        };
        if let Some(i) = self.held.iter().position(same) {
            let held = &mut self.held[i];
            let bytes =
                u64::from(held.packet.segment.payload_len) + u64::from(packet.segment.payload_len);
            let longer = packet.segment.payload_len > held.mss;
            if bytes <= self.max_bytes
                && !longer
                && continues(&held.packet.segment, &packet.segment)
            {
                merge(&mut held.packet, &packet);
                let full = bytes + u64::from(held.mss) > self.max_bytes;
                let last = packet.segment.payload_len < held.mss;
                if full || last || packet.segment.flags.contains(Flags::PSH) {
                    out.push(self.held.remove(i).packet);
                }
                return;
            }
            // Keep the order: the held segment precedes one that cannot be merged.
            out.push(self.held.remove(i).packet);
        }
        let seg = &packet.segment;
        if seg.payload_len == 0 || seg.flags.intersects(ALONE.with(Flags::PSH)) {
            out.push(packet);
            return;
        }
        let (until, mss) = (now + self.interval, seg.payload_len);
        self.held.push(Held { packet, until, mss });
    }

    /// Appends expired aggregates to `out`, the oldest first.
    pub(crate) fn flush(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.armed = Instant::FAR_FUTURE;
        // The list is in arrival order, and each waits equally long.
        let due = self.held.iter().take_while(|h| h.until <= now).count();
        out.extend(self.held.drain(..due).map(|h| h.packet));
    }

    /// Returns the time to flush, if earlier than the pending event.
    pub(crate) fn arm(&mut self) -> Option<Instant> {
        let next = self.held.first()?.until;
        if next >= self.armed {
            return None;
        }
        self.armed = next;
        Some(next)
    }
}

/// Returns true if `next` can be appended to `first`.
fn continues(first: &Segment, next: &Segment) -> bool {
    let bare = |segment: &Segment| {
        let mut options = segment.options;
        options.timestamps = None;
        if options.delay().is_some_and(|stamps| stamps.echo().is_none()) {
            options.extra = None;
        }
        options
    };
    let grows = match (first.options.timestamps, next.options.timestamps) {
        (None, None) => true,
        // In 32-bit wrapping arithmetic (RFC 7323 §5.2).
        (Some(a), Some(b)) => b.value.wrapping_sub(a.value) < 1 << 31,
        _ => false,
    };
    next.payload_len > 0
        && !next.flags.intersects(ALONE)
        && next.seq == first.seq_end()
        && next.ack == first.ack
        && next.ecn == first.ecn
        && next.flags.without(Flags::PSH) == first.flags.without(Flags::PSH)
        && (next.window, next.urgent) == (first.window, first.urgent)
        && grows
        && bare(first) == bare(next)
}

/// Appends `next` to `first`.
fn merge(first: &mut Packet, next: &Packet) {
    let segment = &mut first.segment;
    let count = segment.segments() + next.segment.segments();
    merge_delays(segment, &next.segment);
    segment.payload_len += next.segment.payload_len;
    segment.flags = segment.flags.with(next.segment.flags);
    if let (Some(first), Some(next)) =
        (&mut segment.options.timestamps, next.segment.options.timestamps)
    {
        first.echo = next.echo;
    }
    segment.rx.coalesced = u16::try_from(count).unwrap_or(u16::MAX);
    // All segments have the same codepoint.
    segment.rx.ce_coalesced = if segment.ecn == Ecn::Ce { segment.rx.coalesced } else { 0 };
    first.size = segment.ipv4_len();
}

/// Merges delay stamps. The aggregate gets the newest departure and the mean one-way time of its
/// segments (DX §V-A, "LRO handling"). If it is to be stamped only when TCP receives it, it gets
/// their mean departure, which gives the same mean.
fn merge_delays(first: &mut Segment, next: &Segment) {
    // Most segments do not have the delay option.
    let (Some(a), Some(b)) = (first.options.delay(), next.options.delay()) else { return };
    let (n, of_next) = (i64::from(first.segments()), i64::from(next.segments()));
    let (Some(at), Some(then)) = (first.rx.stamp, next.rx.stamp) else {
        // Modulo 2^32, like the stamps on the wire.
        let later = i64::from(b.left.wrapping_sub(a.left).cast_signed()) * of_next / (n + of_next);
        let left = a.left.wrapping_add_signed(later as i32);
        first.options.set_delay(DelayStamps { left, ..b });
        return;
    };
    // Modulo 2^32, like the stamps on the wire.
    let took = |at: HostStamp, left: u32| (at.0 as u32).wrapping_sub(left);
    let more = i64::from(took(at, a.left).wrapping_sub(took(then, b.left)).cast_signed());
    first.rx.stamp = Some(HostStamp(then.0.saturating_add_signed(more * n / (n + of_next))));
    first.options.extra = next.options.extra;
}

#[cfg(test)]
mod tests {
    use lowtide_net::HostId;
    use lowtide_units::Bytes;
    use lowtide_wire::{SeqNum, Timestamps};

    use super::*;

    const MSS: u32 = 1_000;

    fn us(n: u64) -> Instant {
        Instant::ZERO + Duration::from_us(n)
    }

    fn aggregator() -> Aggregator {
        let (interval, most) = (Duration::from_us(10), Bytes::new(8_000));
        Aggregator::new(&AggregationSpec { interval, max_bytes: most })
    }

    /// Returns segment number `i` of flow `flow`.
    fn segment(flow: u32, i: u32) -> Packet {
        let timestamps = Some(Timestamps { value: 100 + i, echo: 50 + i });
        let mut segment = Segment {
            seq: SeqNum::new(i * MSS),
            ack: SeqNum::new(7),
            flags: Flags::ACK,
            window: 500,
            ecn: Ecn::Ect0,
            payload_len: MSS,
            ..Segment::default()
        };
        segment.options.timestamps = timestamps;
        let size = segment.ipv4_len();
        Packet {
            segment,
            src: HostId(flow),
            dst: HostId(9),
            size,
            src_conn: 2 * flow,
            dst_conn: 2 * flow + 1,
            class: 0,
        }
    }

    /// Returns the output for packets that all arrive at once, followed by a flush.
    fn out(packets: &[Packet]) -> Vec<Packet> {
        let (mut aggregator, mut out) = (aggregator(), Vec::new());
        for packet in packets {
            aggregator.push(us(0), *packet, &mut out);
        }
        aggregator.flush(us(10), &mut out);
        assert!(aggregator.held.is_empty());
        out
    }

    /// Returns the number of segments per aggregate, in output order.
    fn counts(packets: &[Packet]) -> Vec<u32> {
        let out = out(packets);
        let (had, has) = (packets.iter(), out.iter());
        let bytes = |p: &Packet| p.segment.payload_len;
        assert_eq!(had.map(bytes).sum::<u32>(), has.map(bytes).sum::<u32>(), "no byte is lost");
        out.iter().map(|p| p.segment.segments()).collect()
    }

    /// DX §V-A, "LRO handling": one-way times of 10, 20 and 60 us, between clocks 3 s apart.
    #[test]
    fn stamps_of_the_segments_become_their_mean() {
        let stamped = |i: u32, left_us: u64, took_us: u64, echo: (u32, u32)| {
            let mut packet = segment(1, i);
            let (sent, arrived) = echo;
            let left = (left_us * 1_000) as u32;
            packet.segment.options.set_delay(DelayStamps { sent, arrived, left });
            packet.segment.rx.stamp = Some(HostStamp((3_000_000 + left_us + took_us) * 1_000));
            packet
        };
        let none = (0, 0);
        let three =
            [stamped(0, 100, 10, none), stamped(1, 101, 20, none), stamped(2, 102, 60, none)];
        let one = out(&three)[0].segment;
        assert_eq!(one.segments(), 3);
        assert_eq!(one.options.delay().unwrap().left, 102_000);
        assert_eq!(one.rx.stamp, Some(HostStamp((3_000_000 + 102 + 30) * 1_000)));
        // Not yet stamped: their mean departure, so that one stamp for all gives the mean.
        let mut bare = three;
        for p in &mut bare {
            p.segment.rx.stamp = None;
        }
        let one = out(&bare)[0].segment;
        assert_eq!((one.options.delay().unwrap().left, one.rx.stamp), (101_000, None));
        // An echo that is piggybacked on data is not lost.
        let echoes = [stamped(0, 100, 10, (1, 2)), stamped(1, 101, 20, (3, 4))];
        assert_eq!(counts(&echoes), [1, 1]);
    }

    /// Aggregates three segments of a flow, with the second one changed.
    fn changed(change: fn(&mut Segment)) -> Vec<u32> {
        let mut three = [segment(1, 0), segment(1, 1), segment(1, 2)];
        change(&mut three[1].segment);
        counts(&three)
    }

    #[test]
    fn consecutive_segments_become_one_with_the_header_of_the_first() {
        let three = [segment(1, 0), segment(1, 1), segment(1, 2)];
        let out = out(&three);
        assert_eq!(out.len(), 1);
        let seg = &out[0].segment;
        assert_eq!((seg.seq, seg.payload_len), (SeqNum::new(0), 3 * MSS));
        assert_eq!((seg.rx.coalesced, seg.rx.ce_coalesced), (3, 0));
        assert_eq!(seg.options.timestamps, Some(Timestamps { value: 100, echo: 52 }));
        assert_eq!(out[0].size, three[0].size + 2 * MSS);
    }

    #[test]
    fn never_across_a_change_of_ce() {
        assert_eq!(changed(|s| s.ecn = Ecn::Ce), [1, 1, 1]);
        assert_eq!(changed(|s| s.ecn = Ecn::NotEct), [1, 1, 1]);
        let mut marked: Vec<Packet> = (0..5).map(|i| segment(1, i)).collect();
        marked[2..].iter_mut().for_each(|p| p.segment.ecn = Ecn::Ce);
        let out = out(&marked);
        let of = |p: &Packet| (p.segment.ecn, p.segment.rx.coalesced, p.segment.rx.ce_coalesced);
        assert_eq!(out.iter().map(of).collect::<Vec<_>>(), [(Ecn::Ect0, 2, 0), (Ecn::Ce, 3, 3)]);
    }

    #[test]
    fn never_across_a_change_of_flags_acknowledgement_window_or_options() {
        assert_eq!(changed(|_| ()), [3]);
        assert_eq!(changed(|s| s.flags = Flags::ACK.with(Flags::ECE)), [1, 1, 1]);
        assert_eq!(changed(|s| s.flags = Flags::ACK.with(Flags::CWR)), [1, 1, 1]);
        assert_eq!(changed(|s| s.flags = Flags::ACK.with(Flags::FIN)), [1, 1, 1]);
        assert_eq!(changed(|s| s.ack = SeqNum::new(8)), [1, 1, 1]);
        assert_eq!(changed(|s| s.window = 501), [1, 1, 1]);
        assert_eq!(changed(|s| s.options.timestamps = None), [1, 1, 1]);
        let older =
            |s: &mut Segment| s.options.timestamps = Some(Timestamps { value: 99, echo: 0 });
        assert_eq!(changed(older), [1, 2], "the third continues the second");
        assert_eq!(changed(|s| s.seq = SeqNum::new(999)), [1, 1, 1], "not exactly consecutive");
    }

    #[test]
    fn consecutive_segments_with_cwr_are_not_merged() {
        let mut four: Vec<Packet> = (0..4).map(|i| segment(1, i)).collect();
        four[1..3].iter_mut().for_each(|p| p.segment.flags = Flags::ACK.with(Flags::CWR));
        assert_eq!(counts(&four), [1, 1, 1, 1]);
    }

    #[test]
    fn push_a_short_segment_and_the_limit_end_an_aggregate() {
        let ten: Vec<Packet> = (0..10).map(|i| segment(1, i)).collect();
        assert_eq!(counts(&ten), [8, 2], "8000 B at most");
        let push = |s: &mut Segment| s.flags = Flags::ACK.with(Flags::PSH);
        assert_eq!(changed(push), [2, 1]);
        let short = |s: &mut Segment| s.payload_len = 999;
        assert_eq!(changed(short), [2, 1], "the short segment ends the aggregate");
        let long = |s: &mut Segment| s.payload_len = 1_001;
        assert_eq!(changed(long), [1, 1, 1]);
    }

    #[test]
    fn flows_do_not_mix_and_a_pure_ack_comes_after_what_is_held() {
        let mixed = [segment(1, 0), segment(2, 0), segment(1, 1), segment(2, 1)];
        let out = out(&mixed);
        let of = |p: &Packet| (p.src.0, p.segment.rx.coalesced);
        assert_eq!(out.iter().map(of).collect::<Vec<_>>(), [(1, 2), (2, 2)]);
        let mut ack = segment(1, 2);
        ack.segment.payload_len = 0;
        assert_eq!(counts(&[segment(1, 0), segment(1, 1), ack]), [2, 1]);
        assert_eq!(counts(&[ack]), [1]);
    }

    #[test]
    fn nothing_waits_longer_than_the_interval() {
        let (mut aggregator, mut out) = (aggregator(), Vec::new());
        aggregator.push(us(5), segment(1, 0), &mut out);
        assert_eq!(aggregator.arm(), Some(us(15)));
        aggregator.push(us(9), segment(2, 0), &mut out);
        assert_eq!(aggregator.arm(), None, "the pending event is earlier");
        aggregator.push(us(14), segment(1, 1), &mut out);
        aggregator.flush(us(15), &mut out);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].segment.rx.coalesced, 2);
        assert_eq!(aggregator.arm(), Some(us(19)));
        aggregator.flush(us(19), &mut out);
        assert_eq!((out.len(), aggregator.arm()), (2, None));
    }
}
