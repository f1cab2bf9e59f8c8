//! A port of the kernel's bottleneck: its settings, and the counters of `kernel/bottleneck.bpf.c`.

use std::net::Ipv4Addr;

use lowtide_units::{Duration, QueueLength, Rate};

/// The longest queue in packets (`LT_PLACES - 1`).
pub const MAX_PACKETS: u32 = PLACES as u32 - 1;

/// Layout of `struct lt_port`.
#[cfg(any(feature = "objects", test))]
mod layout {
    use super::PLACES;

    pub(super) const HEAD: usize = 72;
    pub(super) const SINCE: usize = 104;
    pub(super) const LOST: usize = 112;
    pub(super) const LEVELS: usize = 176;
    pub(super) const PLACES_AT: usize = LEVELS + 16 * PLACES;
    pub(super) const LATE: usize = PLACES_AT + 16 * PLACES;
    pub(super) const LATE_BINS: usize = 1024;
    pub(super) const SIZE: usize = LATE + 8 * LATE_BINS;
    /// Fractions of a nanosecond (bits) in `byte_time`.
    pub(super) const FRACTION: u32 = 20;
}
const PLACES: usize = 4096;
/// Width of a bin of lateness, ns (`LT_LATE_SHIFT`).
const LATE_BIN_NS: u64 = 1 << 12;

/// The qdisc that holds packets behind the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shaper {
    /// `tbf`: a token bucket of the same rate. It releases a packet when the packet begins on the
    /// line, `lead` before an ideal line would.
    TokenBucket {
        /// Size of the bucket beyond one packet, as time on the line.
        lead: Duration,
        /// Time of one packet on the line.
        packet: Duration,
    },
    /// `fq`: holds each packet until its departure time.
    DepartureTimes {
        /// Propagation delay, added to the departure time.
        delay: Duration,
    },
}

/// Settings of an output port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortSettings {
    /// Address of the port's host.
    pub address: Ipv4Addr,
    /// Rate of the line.
    pub rate: Rate,
    /// Bytes of framing per packet.
    pub overhead: u32,
    /// Threshold of step marking; `None`: no marking.
    pub k: Option<QueueLength>,
    /// Capacity of the queue; `None`: [`MAX_PACKETS`].
    pub buffer: Option<QueueLength>,
    /// K and the buffer include the packet on the line.
    pub count_in_service: bool,
    /// Above K, packets that are not ECN-capable are dropped.
    pub drop_not_ect: bool,
    /// The qdisc behind the port.
    pub shaper: Shaper,
}

#[cfg(any(feature = "objects", test))]
impl PortSettings {
    /// Returns a `struct lt_port` with these settings, idle at `now`, ns of CLOCK_MONOTONIC.
    pub(crate) fn encode(&self, now: u64) -> Vec<u8> {
        let limit = |limit: Option<QueueLength>| match limit {
            Some(QueueLength::Packets(n)) => (u32::try_from(n).unwrap_or(u32::MAX), u64::MAX),
            Some(QueueLength::Bytes(n)) => (u32::MAX, n.as_u64()),
            None => (u32::MAX, u64::MAX),
        };
        let ((k_packets, k_bytes), (buffer_packets, buffer_bytes)) =
            (limit(self.k), limit(self.buffer));
        let (departure_times, lead, early, delay) = match self.shaper {
            Shaper::TokenBucket { lead, packet } => (0, lead, packet, Duration::ZERO),
            Shaper::DepartureTimes { delay } => (4, Duration::ZERO, Duration::ZERO, delay),
        };
        let flags =
            u32::from(self.count_in_service) | u32::from(self.drop_not_ect) << 1 | departure_times;
        let bps = u128::from(self.rate.as_bps());
        let byte_time = ((8_000_000_000_u128 << layout::FRACTION) + bps / 2) / bps;
        let mut out = vec![0; layout::SIZE];
        let words = [0, flags, self.overhead, k_packets, buffer_packets, 0];
        let longs =
            [k_bytes, buffer_bytes, byte_time as u64, lead.as_ns(), early.as_ns(), delay.as_ns()];
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
        let bytes = bytes.chain(longs.iter().flat_map(|long| long.to_ne_bytes()));
        out.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = byte);
        out[layout::SINCE..layout::SINCE + 8].copy_from_slice(&now.to_ne_bytes());
        // `LT_NEVER`: the queue is empty.
        let never = (1_u64 << 63).to_ne_bytes();
        out[layout::PLACES_AT..layout::PLACES_AT + 8].copy_from_slice(&never);
        out
    }
}

/// Counters of a port since its start, or between two readings ([`Self::since`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortCounts {
    /// Packets that departed.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped for want of buffer.
    pub overflow_drops: u64,
    /// Packets dropped above K, because they were not ECN-capable.
    pub aqm_drops: u64,
    /// Maximum length since the start in bytes, as the port counts it.
    pub max_bytes: u64,
    /// Packets of several segments: a host has segmentation offload on.
    pub unsplit: u64,
    /// Time on the line that the shaper lost, because its timers were late, ns. A packet that was
    /// late on its way is counted here until one comes too early.
    pub lost_ns: i64,
    /// Packets by lateness.
    late: Vec<u64>,
    /// Time in ns and arrivals, by packets in the system.
    pub levels: Vec<(u64, u64)>,
}

impl PortCounts {
    /// Decodes `struct lt_port` and counts on until `now`, ns of CLOCK_MONOTONIC; `None` if it is
    /// too short.
    #[cfg(any(feature = "objects", test))]
    pub(crate) fn decode(port: &[u8], now: u64) -> Option<Self> {
        use layout::{HEAD, LATE, LATE_BINS, LEVELS, LOST, PLACES_AT, SINCE};
        let bytes = |at: usize| port.get(at..at + 8)?.try_into().ok();
        let long = |at: usize| bytes(at).map(u64::from_ne_bytes);
        let (head, tail) = (long(HEAD)? as u32, (long(HEAD)? >> 32) as u32);
        let (mut held, mut since) = (long(80)?, long(SINCE)?);
        let (lost, entered_bytes) = (long(LOST)?, long(LOST + 8)?);
        let of_level = |i: usize| Some((long(LEVELS + 16 * i)?, long(LEVELS + 16 * i + 8)?));
        let mut levels: Vec<(u64, u64)> = (0..PLACES).map(of_level).collect::<Option<_>>()?;
        let at_since = tail.wrapping_sub(head) as usize % PLACES;
        let mut queue = at_since;
        for number in 0..at_since {
            let place = PLACES_AT + 16 * ((head as usize).wrapping_add(number) % PLACES);
            let departs = long(place)?.wrapping_add(lost).max(since);
            if departs > now {
                break;
            }
            levels[queue].0 += departs - since;
            let bytes = long(place + 8)? & u64::from(u32::MAX);
            (since, held, queue) = (departs, held - bytes, queue - 1);
        }
        levels[queue].0 += now.saturating_sub(since);
        let late = (0..LATE_BINS).map(|i| long(LATE + 8 * i)).collect::<Option<_>>()?;
        Some(Self {
            packets: u64::from(tail) - queue as u64,
            bytes: entered_bytes - held,
            lost_ns: lost as i64,
            marks: long(128)?,
            overflow_drops: long(136)?,
            aqm_drops: long(144)?,
            max_bytes: long(152)?,
            unsplit: long(160)?,
            late,
            levels,
        })
    }

    /// Returns the counts after `earlier`, a reading of the same port; `max_bytes` remains.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let of_late = |i: usize| earlier.late.get(i).copied().unwrap_or(0);
        let of_level = |i: usize| earlier.levels.get(i).copied().unwrap_or_default();
        let late = self.late.iter().enumerate().map(|(i, n)| n - of_late(i));
        let levels = self.levels.iter().enumerate();
        let levels = levels.map(|(i, (ns, n))| (ns - of_level(i).0, n - of_level(i).1));
        Self {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            marks: self.marks - earlier.marks,
            overflow_drops: self.overflow_drops - earlier.overflow_drops,
            aqm_drops: self.aqm_drops - earlier.aqm_drops,
            unsplit: self.unsplit - earlier.unsplit,
            lost_ns: self.lost_ns - earlier.lost_ns,
            late: late.collect(),
            levels: levels.collect(),
            ..*self
        }
    }

    /// Returns the lateness of packets at the host: the middle of each bin in ns, and its packets.
    /// The last bin has all from 4.2 ms on.
    pub fn late(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).map(|bin| bin * LATE_BIN_NS + LATE_BIN_NS / 2).zip(self.late.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::Bytes;

    use super::*;

    fn settings() -> PortSettings {
        PortSettings {
            address: Ipv4Addr::LOCALHOST,
            rate: Rate::from_bps(100_000_000).unwrap(),
            overhead: 38,
            k: Some(QueueLength::Packets(20)),
            buffer: Some(QueueLength::Bytes(Bytes::new(30_000))),
            count_in_service: false,
            drop_not_ect: true,
            shaper: Shaper::TokenBucket {
                lead: Duration::from_us(60),
                packet: Duration::from_us(123),
            },
        }
    }

    fn put(port: &mut [u8], at: usize, value: u64) {
        port[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }

    fn get(port: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(port[at..at + 8].try_into().unwrap())
    }

    #[test]
    fn a_byte_takes_eighty_nanoseconds_at_100_megabit() {
        let port = settings().encode(1000);
        assert_eq!(port.len(), 139_440);
        assert_eq!((get(&port, 40), get(&port, 48), get(&port, 56)), (80 << 20, 60_000, 123_000));
        assert_eq!((get(&port, 24), get(&port, 32)), (u64::MAX, 30_000));
        assert_eq!((port[4], port[12], get(&port, layout::PLACES_AT)), (2, 20, 1 << 63));
    }

    #[test]
    fn a_reading_counts_packets_that_departed_since_the_last_arrival() {
        let mut port = settings().encode(1000);
        // Packets 5 and 6 are in the system at 1000; they depart at 1100 and 1300, with the 30 ns
        // that the shaper lost.
        put(&mut port, layout::LOST, 30);
        put(&mut port, layout::HEAD, 5 | 7 << 32);
        put(&mut port, 80, 900);
        put(&mut port, 120, 3_000);
        for (number, departs, bytes) in [(5, 1070, 400), (6, 1270, 500 + (7 << 32))] {
            put(&mut port, layout::PLACES_AT + 16 * number, departs);
            put(&mut port, layout::PLACES_AT + 16 * number + 8, bytes);
        }
        let counts = PortCounts::decode(&port, 1150).unwrap();
        assert_eq!((counts.packets, counts.bytes), (6, 2_500));
        assert_eq!(counts.levels[..3], [(0, 0), (50, 0), (100, 0)]);
        let later = PortCounts::decode(&port, 1400).unwrap().since(&counts);
        assert_eq!((later.packets, later.bytes), (1, 500));
        assert_eq!(later.levels[..3], [(100, 0), (150, 0), (0, 0)]);
        assert_eq!(PortCounts::decode(&port[..100], 0), None);
    }
}
