//! Numbers that a host without the secret cannot foretell: initial sequence numbers (RFC 6528),
//! timestamp offsets (RFC 7323 §5.4), where the search for a port begins (RFC 6056 §3.3.3).

use core::hash::Hasher;
use core::net::IpAddr;

use lowtide_units::{Duration, Instant};
use lowtide_wire::SeqNum;
use siphasher::sip::SipHasher24;

use super::FourTuple;
use crate::config::{Config, IsnRule, TimestampOffset};

/// The secrets of one endpoint and its random numbers. All follow from the seed: they are as secret
/// as the seed is.
#[derive(Debug)]
pub(super) struct Secrets {
    isn: [u64; 2],
    timestamp: [u64; 2],
    port: [u64; 2],
    random: u64,
}

impl Secrets {
    pub(super) fn new(seed: u64) -> Self {
        let mut secrets = Self { isn: [0; 2], timestamp: [0; 2], port: [0; 2], random: seed };
        let mut key = || [secrets.draw(), secrets.draw()];
        let (isn, timestamp, port) = (key(), key(), key());
        Self { isn, timestamp, port, ..secrets }
    }

    /// splitmix64: numbers that differ, not secrets.
    pub(super) fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Initial sequence number and timestamp offset of a connection that begins at `now`.
    pub(super) fn numbers(
        &mut self,
        now: Instant,
        tuple: &FourTuple,
        config: &Config,
    ) -> (SeqNum, u32) {
        let draws =
            config.isn == IsnRule::Random || config.timestamp_offset == TimestampOffset::Random;
        let drawn = if draws { self.draw() } else { 0 };
        let isn = match config.isn {
            IsnRule::Rfc6528 => {
                let clock = ticks(now, config.isn_tick);
                clock.wrapping_add(f(self.isn, tuple, Over::Connection) as u32)
            }
            IsnRule::Random => drawn as u32,
        };
        let offset = match config.timestamp_offset {
            TimestampOffset::PerConnection => f(self.timestamp, tuple, Over::Connection) as u32,
            TimestampOffset::PerHostPair => f(self.timestamp, tuple, Over::HostPair) as u32,
            TimestampOffset::Random => (drawn >> 32) as u32,
            TimestampOffset::Zero => 0,
        };
        (SeqNum::new(isn), offset)
    }

    /// Where the search for a port towards the peer of `tuple` begins.
    pub(super) fn port_offset(&self, tuple: &FourTuple) -> u64 {
        f(self.port, tuple, Over::Destination)
    }
}

/// M of RFC 6528: a clock that wraps.
fn ticks(now: Instant, tick: Duration) -> u32 {
    (now.as_ps() / tick.as_ps().max(1)) as u32
}

/// What F takes in.
#[derive(Clone, Copy)]
enum Over {
    Connection,
    HostPair,
    Destination,
}

/// F of RFC 6528: SipHash-2-4 under a key of 128 bits.
fn f(key: [u64; 2], tuple: &FourTuple, over: Over) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    write_address(&mut hasher, tuple.local);
    write_address(&mut hasher, tuple.remote);
    if matches!(over, Over::Connection) {
        hasher.write(&tuple.local_port.to_be_bytes());
    }
    if matches!(over, Over::Connection | Over::Destination) {
        hasher.write(&tuple.remote_port.to_be_bytes());
    }
    hasher.finish()
}

fn write_address(hasher: &mut SipHasher24, address: IpAddr) {
    match address {
        IpAddr::V4(v4) => hasher.write(&v4.octets()),
        IpAddr::V6(v6) => hasher.write(&v6.octets()),
    }
}

#[cfg(test)]
mod tests {
    use core::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    const TUPLE: FourTuple = FourTuple {
        local: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
        local_port: 50_000,
        remote: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
        remote_port: 80,
    };

    fn config(isn: IsnRule, timestamp_offset: TimestampOffset) -> Config {
        Config { isn, timestamp_offset, ..Config::default() }
    }

    /// The reference vectors of Aumasson and Bernstein: key 00 01 .. 0f, input 00 01 .. (n - 1).
    #[test]
    fn the_hash_is_siphash_2_4() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        for (n, expected) in [
            (0_u8, 0x726f_db47_dd0e_0e31_u64),
            (1, 0x74f8_39c5_93dc_67fd),
            (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
        ] {
            let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
            let input: alloc::vec::Vec<u8> = (0..n).collect();
            hasher.write(&input);
            assert_eq!(hasher.finish(), expected, "{n} bytes");
        }
    }

    /// RFC 6528 §3: on one connection the numbers follow the clock, 4 us a step.
    #[test]
    fn isns_of_the_same_ends_follow_the_clock() {
        let mut secrets = Secrets::new(1);
        let rule = config(IsnRule::Rfc6528, TimestampOffset::PerConnection);
        let at = |ns| Instant::ZERO + Duration::from_ns(ns);
        let (first, offset) = secrets.numbers(at(0), &TUPLE, &rule);
        for (ns, steps) in [(3_999, 0), (4_000, 1), (1_000_000_000, 250_000)] {
            let (isn, again) = secrets.numbers(at(ns), &TUPLE, &rule);
            assert_eq!((isn.diff(first), again), (steps, offset), "{ns} ns");
        }
        // The clock wraps after 2^32 ticks, 4.77 hours, and the number with it.
        let round = at(4_000).since_start() * (1 << 32);
        assert_eq!(secrets.numbers(Instant::ZERO + round, &TUPLE, &rule).0, first);
        let linux = Config { isn_tick: Duration::from_ns(64), ..rule };
        assert_eq!(secrets.numbers(at(6_400), &TUPLE, &linux).0.diff(first), 100);
    }

    /// Each part of the connection and of the secret goes into F.
    #[test]
    fn other_ends_and_other_secrets_have_other_numbers() {
        let rule = config(IsnRule::Rfc6528, TimestampOffset::PerConnection);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let tuples = [
            TUPLE,
            FourTuple { local: TUPLE.remote, ..TUPLE },
            FourTuple { remote: TUPLE.local, ..TUPLE },
            FourTuple { local_port: 80, ..TUPLE },
            FourTuple { remote_port: 50_000, ..TUPLE },
            FourTuple { local: v6, remote: v6, ..TUPLE },
        ];
        let mut seen = alloc::collections::BTreeSet::new();
        for seed in [1, 2] {
            let mut secrets = Secrets::new(seed);
            for tuple in &tuples {
                let (isn, offset) = secrets.numbers(Instant::ZERO, tuple, &rule);
                assert_ne!(isn.raw(), offset, "F has two secrets");
                assert!(seen.insert(isn.raw()) && seen.insert(offset), "{tuple:?}");
            }
        }
    }

    #[test]
    fn timestamp_offsets_take_in_what_their_rule_says() {
        let mut secrets = Secrets::new(1);
        let other_port = FourTuple { local_port: 50_001, ..TUPLE };
        let other_host = FourTuple { remote: IpAddr::V6(Ipv6Addr::LOCALHOST), ..TUPLE };
        for (rule, by_port, by_host) in [
            (TimestampOffset::PerConnection, true, true),
            (TimestampOffset::PerHostPair, false, true),
            (TimestampOffset::Random, true, true),
            (TimestampOffset::Zero, false, false),
        ] {
            let mut of =
                |tuple| secrets.numbers(Instant::ZERO, tuple, &config(IsnRule::Random, rule)).1;
            let (base, port, host) = (of(&TUPLE), of(&other_port), of(&other_host));
            assert_eq!((base != port, base != host), (by_port, by_host), "{rule:?}");
        }
    }
}
