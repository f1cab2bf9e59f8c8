//! Connections in TIME-WAIT, in compact form: enough to acknowledge a retransmitted FIN, to reject
//! old duplicates, and to accept a new SYN (RFC 9293 §3.6.1, RFC 1122 §4.2.2.13, RFC 6191).
//!
//! Contract: at most [`LIMIT`] entries, unless the driver sets a lower limit. A new entry in a full
//! table evicts the one that expires first; Linux drops the new one. Every operation is logarithmic
//! in the table size (amortised), and each entry is visited once more, when it expires.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::sync::Arc;
use core::cmp::Reverse;
use core::net::{IpAddr, Ipv4Addr};

use lowtide_units::Instant;
use lowtide_wire::{Flags, Segment, SeqNum};

use super::{Endpoint, FourTuple};
use crate::connection::Connection;
use crate::defence::{AckThrottle, ChallengeAckLimiter, TimeWaitReset};
use crate::settings::config::Config;
use crate::timers::timestamps::TimestampState;

/// Maximum number of entries of one endpoint: four per port of a host.
pub(super) const LIMIT: usize = 1 << 18;

#[derive(Debug)]
pub(super) struct TimeWaitEntry {
    snd_nxt: SeqNum,
    rcv_nxt: SeqNum,
    ts: Option<TimestampState>,
    config: Arc<Config>,
    /// Present once a challenge ACK was sent.
    challenge_ack_limiter: Option<Box<ChallengeAckLimiter>>,
    until: Instant,
}

// A host has one for each connection of the last minute.
const _: () = assert!(size_of::<TimeWaitEntry>() <= 64 && size_of::<Key>() == 16);

impl TimeWaitEntry {
    pub(super) fn of(conn: &Connection) -> Self {
        Self {
            snd_nxt: conn.snd.next_seq(),
            rcv_nxt: conn.rcv.next_seq(),
            ts: conn.ts,
            config: Arc::clone(&conn.config),
            challenge_ack_limiter: (!conn.challenge_ack_limiter.is_unused())
                .then(|| Box::new(conn.challenge_ack_limiter)),
            until: conn.timers.time_wait_ends(),
        }
    }

    /// Checks whether a SYN is provably newer and may open a new incarnation (RFC 6191 §2). `stamp`
    /// is its timestamp, if the new incarnation would use timestamps.
    ///
    /// Returns the sequence number that the new ISN must exceed (RFC 9293 §3.6.1, MAY-2).
    pub(super) fn reopens(&self, syn: SeqNum, stamp: Option<u32>) -> Option<SeqNum> {
        let beyond = !syn.before(self.rcv_nxt);
        let newer = match (&self.ts, stamp) {
            (Some(ts), Some(stamp)) => ts.is_newer(stamp) || ts.is_same(stamp) && beyond,
            (None, Some(_)) => true,
            (_, None) => beyond,
        };
        newer.then_some(self.snd_nxt)
    }

    /// Returns whether the challenge-ACK limit allows a reply to `seg`.
    fn may_reply(&mut self, now: Instant, seg: &Segment) -> bool {
        let counts = seg.flags.contains(Flags::SYN)
            || self.config.ack_throttle == AckThrottle::Empty && seg.seq_len() == 0;
        let (limit, interval) =
            (self.config.challenge_ack_limit, self.config.challenge_ack_interval);
        !counts || self.challenge_ack_limiter.get_or_insert_default().allows(now, limit, interval)
    }
}

/// A four-tuple in 16 bytes, if it is one of IPv4.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    V4 { local: Ipv4Addr, remote: Ipv4Addr, local_port: u16, remote_port: u16 },
    V6(Box<FourTuple>),
}

impl Key {
    fn of(tuple: &FourTuple) -> Self {
        let FourTuple { local, local_port, remote, remote_port } = *tuple;
        match (local, remote) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                Self::V4 { local, remote, local_port, remote_port }
            }
            _ => Self::V6(Box::new(*tuple)),
        }
    }
}

/// Stale deadlines in the queue that are kept without regard to the number of entries.
const STALE_DEADLINES: usize = 64;

#[derive(Debug)]
pub(super) struct TimeWaits {
    entries: BTreeMap<Key, TimeWaitEntry>,
    /// The deadlines, earliest first. One is stale if its entry was removed or has another.
    queue: BinaryHeap<Reverse<(Instant, Key)>>,
    limit: usize,
    /// Entries visited to find the expired ones.
    #[cfg(test)]
    pub(super) entries_visited: usize,
}

impl TimeWaits {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            queue: BinaryHeap::new(),
            limit,
            #[cfg(test)]
            entries_visited: 0,
        }
    }

    pub(super) const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub(super) fn enter(&mut self, now: Instant, tuple: FourTuple, entry: TimeWaitEntry) {
        self.expire(now);
        let key = Key::of(&tuple);
        self.entries.remove(&key);
        while self.entries.len() >= self.limit && self.pop_first() {}
        let until = entry.until;
        self.entries.insert(key.clone(), entry);
        self.push(until, key);
    }

    /// Adds the deadline of an entry. Stale ones are dropped before they are the majority.
    fn push(&mut self, until: Instant, key: Key) {
        if self.queue.len() >= 2 * self.entries.len() + STALE_DEADLINES {
            let entries = &self.entries;
            self.queue.retain(|Reverse((until, key))| {
                entries.get(key).is_some_and(|entry| entry.until == *until)
            });
        }
        self.queue.push(Reverse((until, key)));
    }

    /// Removes the earliest deadline, and its entry unless the deadline is stale. Returns false if
    /// there is none.
    fn pop_first(&mut self) -> bool {
        let Some(Reverse((until, key))) = self.queue.pop() else { return false };
        if self.entries.get(&key).is_some_and(|entry| entry.until == until) {
            self.entries.remove(&key);
        }
        true
    }

    fn expire(&mut self, now: Instant) {
        while let Some(Reverse((until, _))) = self.queue.peek() {
            #[cfg(test)]
            {
                self.entries_visited += 1;
            }
            if *until > now {
                break;
            }
            self.pop_first();
        }
    }

    pub(super) fn contains(&self, now: Instant, tuple: &FourTuple) -> bool {
        self.get(now, tuple).is_some()
    }

    pub(super) fn get(&self, now: Instant, tuple: &FourTuple) -> Option<&TimeWaitEntry> {
        self.entries.get(&Key::of(tuple)).filter(|e| e.until > now)
    }

    pub(super) fn remove(&mut self, tuple: &FourTuple) {
        self.entries.remove(&Key::of(tuple));
    }

    pub(super) fn len(&mut self, now: Instant) -> usize {
        self.expire(now);
        self.entries.len()
    }

    /// Returns the ACK in reply to a segment. A RST and an expected ACK get none: otherwise two
    /// ends in TIME-WAIT would answer each other forever.
    pub(super) fn reply_to(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        seg: &Segment,
    ) -> Option<Segment> {
        let key = Key::of(tuple);
        let entry = self.entries.get_mut(&key)?;
        if seg.flags.contains(Flags::RST) {
            let ends = entry.config.time_wait_reset == TimeWaitReset::End;
            if ends && seg.seq == entry.rcv_nxt {
                self.entries.remove(&key);
            }
            return None;
        }
        if seg.seq_len() == 0 && seg.seq == entry.rcv_nxt || !entry.may_reply(now, seg) {
            return None;
        }
        let mut reply = Segment {
            src_port: tuple.local_port,
            dst_port: tuple.remote_port,
            seq: entry.snd_nxt,
            ack: entry.rcv_nxt,
            flags: Flags::ACK,
            window: u16::MAX,
            ..Segment::default()
        };
        let mut restart = None;
        if seg.flags.contains(Flags::FIN) && seg.seq_end() == entry.rcv_nxt {
            // A retransmitted FIN: our ACK of it was lost, and the wait restarts.
            if let (Some(ts), Some(option)) = (entry.ts.as_mut(), seg.options.timestamps) {
                ts.update(now, option.value);
            }
            let until = now + entry.config.time_wait;
            restart = (until != entry.until).then_some(until);
            entry.until = until;
        }
        reply.options.timestamps = entry.ts.as_ref().map(|ts| ts.stamp(now));
        if let Some(until) = restart {
            self.push(until, key);
        }
        Some(reply)
    }
}

impl Endpoint {
    /// Limits the TIME-WAIT table to `n` entries, in place of 262,144. Call it before there are
    /// entries. A new entry in a full table evicts the one that expires first.
    pub const fn set_time_wait_limit(&mut self, n: usize) {
        self.time_waits.set_limit(n);
    }

    /// Ends all TIME-WAITs, at the end of a simulation.
    #[doc(hidden)]
    pub fn clear_time_waits(&mut self) {
        self.time_waits.entries.clear();
        self.time_waits.queue = BinaryHeap::new();
    }

    /// Entries in the TIME-WAIT table at `now`.
    pub fn time_waits(&mut self, now: Instant) -> usize {
        self.time_waits.len(now)
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use lowtide_units::Duration;
    use lowtide_wire::Timestamps;

    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn tuple(port: u16) -> FourTuple {
        let host = |n| IpAddr::V4(Ipv4Addr::new(10, 0, 0, n));
        FourTuple { local: host(1), local_port: port, remote: host(2), remote_port: 80 }
    }

    /// RCV.NXT is 1000, SND.NXT 5000; the wait is 60 s.
    fn entry(now: Instant, config: &Config, recent: Option<u32>) -> TimeWaitEntry {
        let granularity = Duration::from_ms(1);
        TimeWaitEntry {
            snd_nxt: SeqNum::new(5000),
            rcv_nxt: SeqNum::new(1000),
            ts: recent.map(|r| TimestampState::new(granularity, 0, r, now)),
            config: Arc::new(config.clone()),
            challenge_ack_limiter: None,
            until: now + config.time_wait,
        }
    }

    fn segment(flags: Flags, seq: u32) -> Segment {
        Segment { src_port: 80, dst_port: 1, seq: SeqNum::new(seq), flags, ..Segment::default() }
    }

    /// The cases of RFC 6191 §2 in their order. The last timestamp was 100.
    #[test]
    fn rfc6191_2_a_syn_reopens_only_when_it_is_provably_newer() {
        for (recent, stamp, seq, reopens) in [
            (Some(100), Some(101), 1, true),
            (Some(100), Some(100), 1000, true),
            (Some(100), Some(100), 999, false),
            (Some(100), Some(99), 2000, false),
            (Some(100), None, 1000, true),
            (Some(100), None, 999, false),
            (None, Some(1), 1, true),
            (None, None, 1000, true),
            (None, None, 999, false),
        ] {
            let old = entry(at(0), &Config::default(), recent);
            let got = old.reopens(SeqNum::new(seq), stamp);
            let expected = reopens.then_some(SeqNum::new(5000));
            assert_eq!(got, expected, "last {recent:?}, SYN at {seq} with {stamp:?}");
        }
    }

    #[test]
    fn entries_expire_in_the_order_of_their_deadlines_with_one_visit_each() {
        let mut table = TimeWaits::new(LIMIT);
        for n in 0..1000_u16 {
            let now = at(u64::from(n));
            table.enter(now, tuple(n), entry(now, &Config::default(), None));
        }
        assert_eq!(table.len(at(999)), 60);
        assert!(table.contains(at(999), &tuple(940)) && !table.contains(at(999), &tuple(939)));
        assert_eq!(table.len(at(2000)), 0);
        // Each entry is visited once as the first that waits and once as expired.
        assert!(table.entries_visited <= 2 * 1000 + 2, "{}", table.entries_visited);
        assert!(table.queue.is_empty());
    }

    #[test]
    fn a_full_table_evicts_the_entry_that_expires_first() {
        let mut table = TimeWaits::new(2);
        let brief = Config { time_wait: Duration::from_secs(10), ..Config::default() };
        table.enter(at(0), tuple(1), entry(at(0), &Config::default(), None));
        table.enter(at(1), tuple(2), entry(at(1), &brief, None));
        table.enter(at(2), tuple(3), entry(at(2), &Config::default(), None));
        assert_eq!([1, 2, 3].map(|p| table.contains(at(2), &tuple(p))), [true, false, true]);
        assert_eq!(table.len(at(2)), 2);
        // A second entry of one connection replaces the first.
        table.enter(at(3), tuple(3), entry(at(3), &Config::default(), None));
        assert_eq!([1, 3].map(|p| table.contains(at(3), &tuple(p))), [true, true]);
    }

    #[test]
    fn only_a_retransmitted_fin_restarts_the_wait() {
        let mut table = TimeWaits::new(LIMIT);
        table.enter(at(0), tuple(1), entry(at(0), &Config::default(), Some(100)));
        let mut fin = segment(Flags::FIN | Flags::ACK, 998);
        assert!(table.reply_to(at(30), &tuple(1), &fin).is_some());
        assert!(!table.contains(at(60), &tuple(1)), "that was another FIN");
        fin.seq = SeqNum::new(999);
        fin.options.timestamps = Some(Timestamps { value: 150, echo: 0 });
        let reply = table.reply_to(at(59), &tuple(1), &fin).unwrap();
        assert_eq!((reply.seq.raw(), reply.ack.raw(), reply.flags), (5000, 1000, Flags::ACK));
        assert_eq!(reply.options.timestamps.unwrap().echo, 150);
        assert!(table.contains(at(118), &tuple(1)));
        assert_eq!(table.len(at(119)), 0);
        assert!(table.queue.is_empty());
    }

    #[test]
    fn stale_deadlines_are_dropped() {
        let mut table = TimeWaits::new(LIMIT);
        let v6 = |port| {
            let host = IpAddr::V6(core::net::Ipv6Addr::LOCALHOST);
            FourTuple { local: host, remote: host, ..tuple(port) }
        };
        for n in 1..=10 {
            table.enter(at(0), tuple(n), entry(at(0), &Config::default(), None));
            table.enter(at(0), v6(n), entry(at(0), &Config::default(), None));
        }
        let fin = segment(Flags::FIN | Flags::ACK, 999);
        for ms in 1..1000 {
            let now = Instant::ZERO + Duration::from_ms(ms);
            assert!(table.reply_to(now, &tuple(1), &fin).is_some());
            table.remove(&v6(2));
            table.enter(now, v6(2), entry(now, &Config::default(), None));
            assert!(table.queue.len() <= 2 * table.entries.len() + STALE_DEADLINES);
        }
        // Both restarted at 999 ms.
        assert_eq!(table.len(at(60)), 2);
        assert!(table.contains(at(60), &tuple(1)) && table.contains(at(60), &v6(2)));
        assert_eq!((table.len(at(61)), table.queue.len()), (0, 0));
    }

    #[test]
    fn an_expected_ack_and_a_rst_get_no_reply() {
        let mut table = TimeWaits::new(LIMIT);
        table.enter(at(0), tuple(1), entry(at(0), &Config::default(), None));
        assert_eq!(table.reply_to(at(1), &tuple(1), &segment(Flags::ACK, 1000)), None);
        assert!(table.reply_to(at(1), &tuple(1), &segment(Flags::ACK, 999)).is_some());
        // RFC 1337 §3: even a RST exactly at RCV.NXT does not end the wait.
        assert_eq!(table.reply_to(at(1), &tuple(1), &segment(Flags::RST, 1000)), None);
        assert!(table.contains(at(1), &tuple(1)));
    }

    #[test]
    fn with_time_wait_reset_end_a_rst_at_rcv_nxt_ends_the_wait() {
        let mut table = TimeWaits::new(LIMIT);
        let config = Config { time_wait_reset: TimeWaitReset::End, ..Config::default() };
        table.enter(at(0), tuple(1), entry(at(0), &config, None));
        assert_eq!(table.reply_to(at(1), &tuple(1), &segment(Flags::RST, 1001)), None);
        assert!(table.contains(at(1), &tuple(1)));
        assert_eq!(table.reply_to(at(1), &tuple(1), &segment(Flags::RST, 1000)), None);
        assert_eq!(table.len(at(1)), 0);
    }

    /// RFC 5961 §7 applies here too.
    #[test]
    fn answers_to_syns_are_limited() {
        for (throttle, empties) in [(AckThrottle::Challenges, 5), (AckThrottle::Empty, 2)] {
            let config = Config {
                challenge_ack_limit: 2,
                challenge_ack_interval: Duration::from_secs(5),
                ack_throttle: throttle,
                ..Config::default()
            };
            let answers = |seg: Segment| {
                let mut table = TimeWaits::new(LIMIT);
                table.enter(at(0), tuple(1), entry(at(0), &config, None));
                (0..5).filter(|_| table.reply_to(at(1), &tuple(1), &seg).is_some()).count()
            };
            assert_eq!(answers(segment(Flags::SYN, 1)), 2);
            assert_eq!(answers(segment(Flags::ACK, 1)), empties);
            assert_eq!(answers(segment(Flags::FIN | Flags::ACK, 999)), 5);
        }
    }
}
