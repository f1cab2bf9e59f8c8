//! Numbers that a host without the secret cannot predict: initial sequence numbers (RFC 6528),
//! timestamp offsets (RFC 7323 §5.4), start of the port search (RFC 6056 §3.3.3).

use core::hash::Hasher;
use core::net::IpAddr;

use lowtide_units::{Duration, Instant};
use lowtide_wire::SeqNum;
use siphasher::sip::SipHasher24;

use super::FourTuple;
use crate::settings::config::{Config, IsnRule, TimestampOffset};

/// A key of SipHash-2-4, 128 bits.
pub(super) type SipKey = [u64; 2];

/// The keys of one endpoint. All depend on the seed: they are as secret as the seed.
///
/// Every number visible to a peer is an output of SipHash under one of these keys. The outputs of
/// splitmix64 serve as keys only: splitmix64 is invertible, so one of its outputs would reveal the
/// seed.
#[derive(Debug)]
pub(super) struct Secrets {
    isn: SipKey,
    timestamp: SipKey,
    port: SipKey,
    random: SipKey,
    /// Keys of SYN cookies.
    pub(super) cookie: [SipKey; 2],
    /// Numbers drawn so far.
    draws: u64,
    /// Replaces the next drawn number.
    pub(super) next_draw: Option<u64>,
}

impl Secrets {
    pub(super) fn new(seed: u64) -> Self {
        let mut state = seed;
        // Recorded runs depend on this order; add new keys at the end.
        let mut key = || [split_mix(&mut state), split_mix(&mut state)];
        let (isn, timestamp, port) = (key(), key(), key());
        Self {
            isn,
            timestamp,
            port,
            random: key(),
            cookie: [key(), key()],
            draws: 0,
            next_draw: None,
        }
    }

    /// Draws a number: SipHash-2-4 of a counter. Without the key it is indistinguishable from a
    /// random number, even after others were seen.
    fn draw(&mut self) -> u64 {
        if let Some(given) = self.next_draw.take() {
            return given;
        }
        self.draws = self.draws.wrapping_add(1);
        let mut hasher = SipHasher24::new_with_keys(self.random[0], self.random[1]);
        hasher.write(&self.draws.to_be_bytes());
        hasher.finish()
    }

    /// Returns the ISN and timestamp offset of a connection that begins at `now`.
    pub(super) fn initial_numbers(
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
                clock.wrapping_add(f(self.isn, tuple, HashScope::Connection) as u32)
            }
            IsnRule::Random => drawn as u32,
        };
        let offset = match config.timestamp_offset {
            TimestampOffset::PerConnection => {
                f(self.timestamp, tuple, HashScope::Connection) as u32
            }
            TimestampOffset::PerHostPair => f(self.timestamp, tuple, HashScope::HostPair) as u32,
            TimestampOffset::Random => (drawn >> 32) as u32,
            TimestampOffset::Zero => 0,
        };
        (SeqNum::new(isn), offset)
    }

    /// Start offset of the port search for the peer of `tuple`.
    pub(super) fn port_offset(&self, tuple: &FourTuple) -> u64 {
        f(self.port, tuple, HashScope::Destination)
    }
}

/// Returns the next output of splitmix64. For keys only: its outputs reveal one another.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// M of RFC 6528: a clock that wraps.
fn ticks(now: Instant, tick: Duration) -> u32 {
    (now.as_ps() / tick.as_ps().max(1)) as u32
}

/// The inputs of F.
#[derive(Clone, Copy)]
enum HashScope {
    Connection,
    HostPair,
    Destination,
}

/// F of RFC 6528: SipHash-2-4 under a 128-bit key.
fn f(key: SipKey, tuple: &FourTuple, over: HashScope) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
    write_address(&mut hasher, tuple.local);
    write_address(&mut hasher, tuple.remote);
    if matches!(over, HashScope::Connection) {
        hasher.write(&tuple.local_port.to_be_bytes());
    }
    if matches!(over, HashScope::Connection | HashScope::Destination) {
        hasher.write(&tuple.remote_port.to_be_bytes());
    }
    hasher.finish()
}

/// Hashes a four-tuple: addresses, then ports.
pub(super) fn hash_four_tuple(hasher: &mut SipHasher24, tuple: &FourTuple) {
    write_address(hasher, tuple.local);
    write_address(hasher, tuple.remote);
    hasher.write(&tuple.local_port.to_be_bytes());
    hasher.write(&tuple.remote_port.to_be_bytes());
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

    /// Returns the state of splitmix64 before the step that produced `output`.
    fn before(output: u64) -> u64 {
        fn unshift(y: u64, by: u32) -> u64 {
            let mut x = y;
            for _ in 0..64 / by {
                x = y ^ (x >> by);
            }
            x
        }
        // The inverses of its two odd factors modulo 2^64.
        let z = unshift(output, 31).wrapping_mul(0x3196_42b2_d24d_8ec3);
        let z = unshift(z, 27).wrapping_mul(0x96de_1b17_3f11_9089);
        unshift(z, 30).wrapping_sub(0x9e37_79b9_7f4a_7c15)
    }

    /// One SYN-ACK shows both halves of one draw. It must not reveal the seed.
    #[test]
    fn drawn_numbers_do_not_reveal_the_seed() {
        let rule = config(IsnRule::Random, TimestampOffset::Random);
        for seed in [1, 0xdead_beef_0bad_cafe] {
            let mut state = seed;
            assert_eq!(before(split_mix(&mut state)), seed, "the attack itself works");
            let mut secrets = Secrets::new(seed);
            for _ in 0..16 {
                let (isn, offset) = secrets.initial_numbers(Instant::ZERO, &TUPLE, &rule);
                let mut state = before(u64::from(offset) << 32 | u64::from(isn.raw()));
                for _ in 0..64 {
                    assert_ne!(state, seed);
                    state = state.wrapping_sub(0x9e37_79b9_7f4a_7c15);
                }
            }
        }
    }

    /// The default rule: recorded runs depend on these numbers.
    #[test]
    fn rfc6528_numbers_equal_those_of_earlier_versions() {
        let rule = config(IsnRule::Rfc6528, TimestampOffset::PerConnection);
        let mut secrets = Secrets::new(7);
        let (isn, offset) = secrets.initial_numbers(Instant::ZERO, &TUPLE, &rule);
        assert_eq!(
            (isn.raw(), offset, secrets.port_offset(&TUPLE)),
            (1_338_668_685, 4_160_201_392, 4_413_978_817_109_773_225)
        );
    }

    /// RFC 6528 §3: for one four-tuple the numbers follow the clock, one step per 4 us.
    #[test]
    fn isns_of_one_four_tuple_follow_the_clock() {
        let mut secrets = Secrets::new(1);
        let rule = config(IsnRule::Rfc6528, TimestampOffset::PerConnection);
        let at = |ns| Instant::ZERO + Duration::from_ns(ns);
        let (first, offset) = secrets.initial_numbers(at(0), &TUPLE, &rule);
        for (ns, steps) in [(3_999, 0), (4_000, 1), (1_000_000_000, 250_000)] {
            let (isn, again) = secrets.initial_numbers(at(ns), &TUPLE, &rule);
            assert_eq!((isn.diff(first), again), (steps, offset), "{ns} ns");
        }
        // The clock wraps after 2^32 ticks, 4.77 hours, and the number with it.
        let round = at(4_000).since_start() * (1 << 32);
        assert_eq!(secrets.initial_numbers(Instant::ZERO + round, &TUPLE, &rule).0, first);
        let linux = Config { isn_tick: Duration::from_ns(64), ..rule };
        assert_eq!(secrets.initial_numbers(at(6_400), &TUPLE, &linux).0.diff(first), 100);
    }

    /// F depends on each part of the four-tuple and on the secret.
    #[test]
    fn other_four_tuples_and_other_secrets_have_other_numbers() {
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
                let (isn, offset) = secrets.initial_numbers(Instant::ZERO, tuple, &rule);
                assert_ne!(isn.raw(), offset, "F has two secrets");
                assert!(seen.insert(isn.raw()) && seen.insert(offset), "{tuple:?}");
            }
        }
    }

    #[test]
    fn timestamp_offsets_depend_on_the_inputs_of_their_rule() {
        let mut secrets = Secrets::new(1);
        let other_port = FourTuple { local_port: 50_001, ..TUPLE };
        let other_host = FourTuple { remote: IpAddr::V6(Ipv6Addr::LOCALHOST), ..TUPLE };
        for (rule, by_port, by_host) in [
            (TimestampOffset::PerConnection, true, true),
            (TimestampOffset::PerHostPair, false, true),
            (TimestampOffset::Random, true, true),
            (TimestampOffset::Zero, false, false),
        ] {
            let mut of = |tuple| {
                secrets.initial_numbers(Instant::ZERO, tuple, &config(IsnRule::Random, rule)).1
            };
            let (base, port, host) = (of(&TUPLE), of(&other_port), of(&other_host));
            assert_eq!((base != port, base != host), (by_port, by_host), "{rule:?}");
        }
    }
}
