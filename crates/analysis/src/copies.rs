//! Detection of packets that were captured more than once.
//!
//! Contract: a packet is a copy if the file shows that it was not retransmitted:
//! 1. At another point ([`crate::capture::CapturePoint`]) all header fields that routers do not
//!    change were seen before, and this point has shown them less often than that one.
//! 2. At the same point they were seen before. Evidence is another TTL or hop limit (a router in
//!    between), the same IPv4 identification within 5 ms, a SYN within 1 ms, or a TSval older than
//!    the sender's newest: a retransmission has a current one (RFC 7323 §3.3).
//!
//! At most [`MAX_PACKETS`] packets of the last second are remembered.

use std::collections::{BTreeMap, VecDeque};

use super::capture::CapturedPacket;
use lowtide_wire::{Flags, Segment};

/// Longest time between a packet and its copy.
const MAX_COPY_AGE_NS: u64 = 1_000_000_000;
/// Limit for copies of one point and hop limit that only the identification shows.
const COPY_NS: u64 = 5_000_000;
/// Limit for SYNs without identification, which are not retransmitted that soon.
const SYN_COPY_NS: u64 = 1_000_000;
/// Packets remembered per connection.
const MAX_PACKETS: usize = 512;
/// Capture points that are distinguished.
pub(super) const MAX_POINTS: usize = 8;

/// FNV-1a, 64 bits, of the fields that routers do not change: sender, identification, sequence
/// numbers, payload length, flags, window, TSval and TSecr. Two of a few hundred packets collide
/// once in 10^14 captures.
type Fingerprint = u64;

fn fingerprint(from: usize, id: u16, s: &Segment) -> Fingerprint {
    let stamps = s.options.timestamps.map_or([0; 3], |t| [1, t.value, t.echo]);
    let ends = (from as u32) << 16 | u32::from(id);
    let flags = u32::from(s.flags.bits()) << 16 | u32::from(s.window);
    let numbers = [ends, s.seq.raw(), s.ack.raw(), s.payload_len, flags];
    numbers
        .into_iter()
        .chain(stamps)
        .flat_map(u32::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[derive(Clone, Copy, Debug)]
struct SeenPacket {
    time: u64,
    hop_limit: u8,
    /// Number of times seen at each point.
    at: [u8; MAX_POINTS],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    known: BTreeMap<Fingerprint, SeenPacket>,
    order: VecDeque<(u64, Fingerprint)>,
    /// The newest TSval of each end.
    newest: [Option<u32>; 2],
}

impl Copies {
    /// Returns whether the packet at point `point` was captured before, and remembers it.
    pub(super) fn is_copy(
        &mut self,
        time: u64,
        from: usize,
        point: usize,
        seen: &CapturedPacket,
    ) -> bool {
        let s = &seen.segment;
        let stamps = s.options.timestamps.map(|t| t.value);
        let id = seen.identification.unwrap_or(0);
        let print = fingerprint(from, id, s);
        self.forget(time);
        let newest = self.newest[from];
        let ahead = |value: u32| newest.map(|n| value.wrapping_sub(n).cast_signed());
        let stale = stamps.is_some_and(|value| ahead(value).is_some_and(|d| d < 0));
        if let Some(value) = stamps
            && ahead(value).is_none_or(|d| d > 0)
        {
            self.newest[from] = Some(value);
        }
        let point = point.min(MAX_POINTS - 1);
        self.order.push_back((time, print));
        let Some(known) = self.known.get_mut(&print) else {
            let mut at = [0; MAX_POINTS];
            at[point] = 1;
            self.known.insert(print, SeenPacket { time, hop_limit: seen.hop_limit, at });
            return false;
        };
        let age = time.saturating_sub(known.time);
        let here = known.at[point];
        let most = known.at.iter().copied().max().unwrap_or(0);
        known.at[point] = here.saturating_add(1);
        let copy = if here < most {
            true
        } else {
            known.hop_limit != seen.hop_limit
                || stale
                || (id != 0 && age < COPY_NS)
                || (id == 0 && s.flags.contains(Flags::SYN) && age < SYN_COPY_NS)
        };
        if copy && here >= most {
            // Another capture of that transmission, not another transmission.
            known.at[point] = here;
        }
        if !copy {
            (known.time, known.hop_limit) = (time, seen.hop_limit);
        }
        copy
    }

    fn forget(&mut self, time: u64) {
        while let Some((at, print)) = self.order.front().copied() {
            if self.order.len() < MAX_PACKETS && time.saturating_sub(at) < MAX_COPY_AGE_NS {
                return;
            }
            self.order.pop_front();
            if self.known.get(&print).is_some_and(|seen| seen.time <= at) {
                self.known.remove(&print);
            }
        }
    }

    /// Returns the approximate size in bytes.
    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        self.known.len() * 2 * size_of::<(Fingerprint, SeenPacket)>()
            + self.order.capacity() * size_of::<(u64, Fingerprint)>()
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use lowtide_wire::{Addresses, SeqNum, Timestamps};

    use super::*;

    fn packet(seq: u32, id: u16, hop_limit: u8, tsval: Option<u32>) -> CapturedPacket {
        let addresses = Addresses::V4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST };
        let mut segment = Segment { seq: SeqNum::new(seq), payload_len: 100, ..Segment::default() };
        segment.options.timestamps = tsval.map(|value| Timestamps { value, echo: 7 });
        CapturedPacket {
            addresses,
            segment,
            identification: Some(id),
            hop_limit,
            options_incomplete: false,
        }
    }

    #[test]
    fn each_transmission_counts_once_at_any_number_of_points() {
        let mut c = Copies::default();
        let p = packet(1, 0, 64, None);
        let mut at = |time, point| c.is_copy(time, 0, point, &p);
        assert!(!at(0, 0) && at(40_000_000, 1) && at(40_000_001, 2));
        assert!(!at(50_000_000, 0), "retransmitted");
        assert!(at(90_000_000, 1) && at(90_000_000, 2));
        assert!(!at(95_000_000, 1), "a third transmission, on another path");
    }

    #[test]
    fn copies_at_one_point_need_evidence() {
        let mut c = Copies::default();
        assert!(!c.is_copy(0, 0, 0, &packet(1, 0, 64, None)));
        assert!(!c.is_copy(10, 0, 0, &packet(1, 0, 64, None)), "no evidence");
        assert!(c.is_copy(20, 0, 0, &packet(1, 0, 63, None)), "a router in between");
        assert!(!c.is_copy(0, 0, 0, &packet(2, 5, 64, None)));
        assert!(c.is_copy(4_000_000, 0, 0, &packet(2, 5, 64, None)));
        assert!(!c.is_copy(9_000_001, 0, 0, &packet(2, 5, 64, None)), "too late for a mirror");
        assert!(!c.is_copy(0, 0, 0, &packet(3, 0, 64, Some(10))));
        assert!(!c.is_copy(50, 0, 0, &packet(3, 0, 64, Some(10))), "within one tick");
        assert!(!c.is_copy(60, 0, 0, &packet(4, 0, 64, Some(11))));
        assert!(c.is_copy(70, 0, 0, &packet(3, 0, 64, Some(10))), "its TSval is old");
        assert!(!c.is_copy(80, 0, 0, &packet(3, 0, 64, Some(11))), "retransmitted");
    }

    #[test]
    fn memory_is_bounded() {
        let mut c = Copies::default();
        for i in 0..100_000_u32 {
            assert!(!c.is_copy(u64::from(i) * 1_000, 0, 0, &packet(i, i as u16, 64, None)));
        }
        assert!(
            c.order.len() <= MAX_PACKETS && c.known.len() <= MAX_PACKETS && c.footprint() < 200_000
        );
        c.is_copy(3_000_000_000, 0, 0, &packet(0, 0, 64, None));
        assert_eq!((c.order.len(), c.known.len()), (1, 1));
    }
}
