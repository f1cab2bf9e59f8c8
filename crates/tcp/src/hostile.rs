//! What one peer may cost: work, memory and segments sent for each segment that it sends, against the bounds
//! that `docs/live.md` states.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::println;

use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::{Flags, Options, Segment, SeqNum, Timestamps};

use crate::config::{Config, RecoveryRule, Reduction};
use crate::connection::Connection;
use crate::path::PathReport;
use crate::profile::find_profile;
use crate::recovery::take_steps;
use crate::sender::Sender;
use crate::transmit::Transmit;

const ISN: u32 = 1000;
const IRS: u32 = 5000;

/// Entries of the scoreboard that an ACK may visit beside those which it changes.
const STEPS_PER_ACK: u64 = 16;
/// Entries visited for each segment that was ever sent or sent again, all ACKs together.
const STEPS_PER_SEGMENT: u64 = 8;
/// Bytes of a connection for each segment that may be in flight.
const BYTES_PER_SEGMENT: usize = 200;

/// A connection whose peer states an MSS of its choice and acknowledges as it likes.
struct Hostile {
    conn: Connection,
    now: Instant,
    timestamps: bool,
    /// Segments that arrived, and segments that it sent.
    acks: u64,
    sent: u64,
    /// The most entries that one ACK visited, with what it let go.
    most_steps: u64,
    steps: u64,
}

impl Hostile {
    fn open(config: Config, mss: u16) -> Self {
        let (sack_permitted, timestamps) = (config.sack, config.timestamps);
        let now = Instant::ZERO + Duration::from_secs(1);
        let syn = Segment {
            seq: SeqNum::new(IRS),
            flags: Flags::SYN,
            window: 65_535,
            options: Options {
                mss: Some(mss),
                window_scale: Some(14),
                sack_permitted,
                timestamps: timestamps.then_some(Timestamps { value: 1, echo: 0 }),
                ..Options::default()
            },
            ..Segment::default()
        };
        let conn = Connection::accept(Arc::new(config), now, &syn, SeqNum::new(ISN), 0);
        let (acks, sent, most_steps, steps) = (0, 0, 0, 0);
        let mut hostile = Self { conn, now, timestamps, acks, sent, most_steps, steps };
        assert!(hostile.conn.poll_transmit(now).is_some(), "the SYN-ACK");
        hostile.later(Duration::from_ms(1));
        hostile.acknowledges(0, &[]);
        hostile
    }

    fn later(&mut self, time: Duration) {
        self.now += time;
    }

    fn mss(&self) -> u64 {
        u64::from(self.conn.info().mss)
    }

    /// An ACK arrives and everything that follows is sent: how many segments.
    fn acknowledges(&mut self, ack: u64, blocks: &[(u64, u64)]) -> Vec<Transmit> {
        self.acknowledges_echoing(ack, blocks, 1)
    }

    fn acknowledges_echoing(
        &mut self,
        ack: u64,
        blocks: &[(u64, u64)],
        echo: u32,
    ) -> Vec<Transmit> {
        let at = |offset: u64| SeqNum::new(ISN + 1).add(offset);
        let mut options = Options {
            timestamps: self.timestamps.then_some(Timestamps { value: 2, echo }),
            ..Options::default()
        };
        for (start, end) in blocks.iter().filter(|(start, end)| start < end) {
            assert!(options.sack.push(at(*start), at(*end)));
        }
        let segment = Segment {
            seq: SeqNum::new(IRS + 1),
            ack: at(ack),
            flags: Flags::ACK,
            window: 65_535,
            options,
            ..Segment::default()
        };
        self.acks += 1;
        self.conn.handle_segment(self.now, &segment).unwrap();
        self.sends_all()
    }

    fn sends_all(&mut self) -> Vec<Transmit> {
        let sent: Vec<_> = core::iter::from_fn(|| self.conn.poll_transmit(self.now)).collect();
        self.sent += sent.iter().map(|t| u64::from(t.segments)).sum::<u64>();
        let steps = take_steps();
        self.most_steps = self.most_steps.max(steps);
        self.steps += steps;
        sent
    }

    fn fires(&mut self) {
        self.now = self.conn.poll_timeout().expect("a timer");
        self.conn.handle_timeout(self.now);
        self.sends_all();
    }

    /// Acknowledges segment by segment until `segments` are in flight, or the send buffer lets go no more;
    /// what is acknowledged then.
    fn fill(&mut self, segments: u64) -> u64 {
        self.conn.send(1 << 40);
        self.sends_all();
        let (mut acked, mut before) = (0, 0);
        loop {
            let flight = self.conn.sent_upto() - acked;
            if flight >= segments * self.mss() || (acked > 1 << 22 && flight == before) {
                return acked;
            }
            before = flight;
            // Half a window in a round trip keeps the window growing.
            for _ in 0..(flight / self.mss()).div_ceil(4).max(1) {
                acked += (2 * self.mss()).min(flight);
                self.acknowledges(acked, &[]);
            }
            self.later(Duration::from_us(100));
        }
    }

    /// What it has visited since is not more than the ACKs since, and all segments ever sent, explain.
    #[track_caller]
    fn within_bound(&self, what: &str, acks: u64) {
        let most = STEPS_PER_ACK * acks + STEPS_PER_SEGMENT * self.sent;
        assert!(self.steps <= most, "{what}: {} entries visited, at most {most}", self.steps);
        let bytes = self.conn.memory();
        let allowed = 4096 + BYTES_PER_SEGMENT * 2 * Sender::most_segments(self.conn.config());
        assert!(bytes <= allowed, "{what}: {bytes} B of memory, at most {allowed}");
    }

    fn forget_steps(&mut self) {
        (self.acks, self.steps, self.most_steps) = (0, 0, 0);
    }
}

fn profile(name: &str) -> Config {
    find_profile(name).unwrap().config().unwrap()
}

/// Finders of losses, each with what a hostile peer can do most with.
fn finders() -> Vec<(&'static str, Config)> {
    let rfc = profile("rfc");
    let newreno = Config { recovery: RecoveryRule::NewReno, ..rfc.clone() };
    let rack =
        Config { recovery: RecoveryRule::Rack, reduction: Reduction::OneStep, ..rfc.clone() };
    let all = [
        ("linux", profile("linux")),
        ("rfc", rfc),
        ("freebsd", profile("freebsd")),
        ("newreno", newreno),
        ("rack", rack),
    ];
    // Small buffers fill soon; the bounds are the same.
    all.map(|(name, c)| (name, Config { send_buffer: Bytes::new(400_000), ..c })).to_vec()
}

/// Segments in flight in the tests of work.
const FLIGHT: u64 = 600;

/// Runs `attack` on a connection with [`FLIGHT`] segments of the least size in flight for each finder; the
/// arguments are SND.UNA and the end of what is in flight.
fn attacked(what: &str, mut attack: impl FnMut(&mut Hostile, u64, u64)) {
    for (name, config) in finders() {
        let mut peer = Hostile::open(config, 1);
        let una = peer.fill(FLIGHT);
        let end = peer.conn.sent_upto();
        assert!((end - una) / peer.mss() >= FLIGHT / 2, "{name}: {} B in flight", end - una);
        peer.forget_steps();
        attack(&mut peer, una, end);
        peer.within_bound(&format!("{what}, {name}"), peer.acks);
    }
}

#[test]
fn broad_blocks_that_are_repeated_are_not_walked_again() {
    attacked("broad blocks", |peer, una, end| {
        let (mss, quarter) = (peer.mss(), (end - una) / 4);
        let block = |n: u64| (una + mss + n * quarter, una + (n + 1) * quarter - mss);
        let blocks = [block(0), block(1), block(2)];
        for round in 0..2000 {
            peer.later(Duration::from_us(10));
            peer.acknowledges(una, &blocks);
            if round == 3 {
                // From here on nothing is news: each ACK by itself keeps to the bound.
                peer.most_steps = 0;
            }
        }
        assert!(peer.most_steps <= 2 * STEPS_PER_ACK, "{}", peer.most_steps);
    });
}

#[test]
fn every_other_segment_sacked_alone_from_below_above_and_the_middle() {
    attacked("alternate segments", |peer, una, end| {
        let mss = peer.mss();
        let count = (end - una) / mss;
        let block = |n: u64| (una + n * mss, una + (n + 1) * mss);
        for n in (1..count / 2).step_by(2) {
            peer.later(Duration::from_us(3));
            let middle = (count / 4 + n / 2) | 1;
            peer.acknowledges(una, &[block(n), block((count - n) | 1), block(middle)]);
        }
        // Then everything at once, again and again.
        for _ in 0..500 {
            peer.later(Duration::from_us(3));
            peer.acknowledges(una, &[(una + mss, end), (una + 2 * mss, end), (una + 3 * mss, end)]);
        }
    });
}

#[test]
fn the_last_segment_sacked_and_then_duplicates_of_that() {
    attacked("overtaken segments", |peer, una, end| {
        let last = (end - peer.mss(), end);
        for _ in 0..2000 {
            // Within the reordering window none of those that were overtaken is lost yet.
            peer.later(Duration::from_ns(10));
            peer.acknowledges(una, &[last]);
        }
        for _ in 0..2000 {
            peer.later(Duration::from_us(10));
            peer.acknowledges(una, &[last]);
        }
    });
}

#[test]
fn retransmissions_that_are_sacked_in_an_order_that_loses_the_others_again() {
    attacked("retransmissions", |peer, una, end| {
        let mss = peer.mss();
        let mut resent: Vec<(u64, u64)> = Vec::new();
        let mut blocks = alloc::vec![(end - mss, end)];
        for round in 0..3000 {
            peer.later(Duration::from_us(50));
            let sent = peer.acknowledges(una, &blocks);
            let again = sent.iter().filter(|t| t.stream.start < end && t.stream.start > una);
            resent.extend(again.map(|t| (t.stream.start, t.stream.end)));
            // One that was sent later arrives, so that one before it is lost once more.
            blocks = match resent.len() {
                0 => alloc::vec![(end - mss, end)],
                n if round % 2 == 0 => alloc::vec![resent.remove(n - 1)],
                n => alloc::vec![resent.remove(n / 2)],
            };
        }
    });
}

#[test]
fn a_peer_that_takes_its_sacks_back_costs_a_walk_for_each_timeout_only() {
    attacked("reneging", |peer, una, end| {
        let mss = peer.mss();
        let mut walks = 0;
        for _ in 0..5 {
            for _ in 0..200 {
                peer.later(Duration::from_us(10));
                peer.acknowledges(una, &[(una, una + mss), (una + 2 * mss, end)]);
            }
            peer.fires();
            walks += (end - una) / mss;
        }
        // A timeout is no ACK: it may visit each segment a few times.
        peer.steps = peer.steps.saturating_sub(4 * walks);
    });
}

#[test]
fn reactions_that_are_undone_again_and_again_visit_what_was_lost() {
    let config = Config { send_buffer: Bytes::new(400_000), ..profile("linux") };
    let mut peer = Hostile::open(config, 1);
    let mut una = peer.fill(FLIGHT);
    let end = peer.conn.sent_upto();
    let (mss, count) = (peer.mss(), (end - una) / peer.mss());
    peer.forget_steps();
    for _ in 0..100 {
        peer.later(Duration::from_ms(3));
        peer.acknowledges(una, &[(end - mss, end)]);
        peer.later(Duration::from_ms(3));
        una += mss;
        peer.acknowledges_echoing(una, &[(end - mss, end)], 0);
    }
    assert!(peer.conn.counters().undos >= 50, "{}", peer.conn.counters().undos);
    assert!(peer.most_steps <= 6 * count, "{} of {count}", peer.most_steps);
}

#[test]
fn the_peer_cannot_make_segments_shorter_than_the_least_mss() {
    for (name, mss, payload) in [
        ("linux", 1, 36),
        ("linux", 47, 36),
        ("linux", 49, 37),
        ("rfc", 0, 36),
        ("rfc8257", 1, 36),
        ("sigcomm10", 1, 36),
        ("freebsd", 1, 204),
        ("thesis-original", 215, 204),
        ("thesis-modified", 217, 205),
        ("linux", 536, 524),
    ] {
        let peer = Hostile::open(profile(name), mss);
        assert_eq!(peer.mss(), payload, "{name}, MSS {mss}");
    }
    // Our own MTU is no wish of the peer's.
    let own = Config { mtu: 68, ..profile("linux") };
    assert_eq!(Hostile::open(own, 1).mss(), 16);
}

#[test]
fn reports_of_the_path_mtu_keep_to_the_least_mss_and_to_the_most_segments() {
    let config = Config { min_mss: 1000, ..profile("linux") };
    let mut peer = Hostile::open(config, 1460);
    peer.conn.send(10_000);
    peer.sends_all();
    let report = PathReport::TooBig { mtu: 600 };
    assert!(peer.conn.handle_path_report(peer.now, SeqNum::new(ISN + 1), report));
    assert_eq!(peer.mss(), 988);

    // One byte less with each report: pieces of a byte remain of every segment.
    let config = Config { send_buffer: Bytes::new(400_000), ..profile("linux") };
    let mut peer = Hostile::open(config, 1460);
    let una = peer.fill(200);
    let most = 2 * Sender::most_segments(peer.conn.config());
    let mut refused = 0;
    for mtu in (552..1500).rev() {
        let report = PathReport::TooBig { mtu };
        let seq = SeqNum::new(ISN + 1).add(una);
        refused += u32::from(!peer.conn.handle_path_report(peer.now, seq, report));
        assert!(peer.conn.snd.board.len() <= most, "{} at {mtu}", peer.conn.snd.board.len());
    }
    assert!(refused > 0);
    assert_eq!(
        peer.conn.config().mtu,
        peer.conn.info().mss + 52,
        "what is refused changes nothing"
    );
}

#[test]
fn short_segments_in_flight_are_bounded_by_the_send_buffer() {
    let config = Config { nagle: false, send_buffer: Bytes::new(1_000_000), ..profile("linux") };
    let mut peer = Hostile::open(config, 1460);
    let most = Sender::most_segments(peer.conn.config());
    assert_eq!(most, 1954);
    // The window is open for far more.
    let una = peer.fill(500);
    peer.conn.withdraw();
    let mut una = una;
    while una < peer.conn.sent_upto() {
        una = (una + 2 * peer.mss()).min(peer.conn.sent_upto());
        peer.acknowledges(una, &[]);
    }
    for _ in 0..3 * most {
        peer.conn.send(10);
        peer.sends_all();
    }
    // What waits goes as soon as it is a full segment.
    let full = 3 * most * 10 / peer.mss() as usize;
    assert!(
        (most..=most + full).contains(&peer.conn.snd.board.len()),
        "{}",
        peer.conn.snd.board.len()
    );
    peer.within_bound("short segments", peer.acks);
    // What a short MSS takes of the buffer is not there to be written to either.
    let mut peer = Hostile::open(profile("linux"), 1);
    assert_eq!(peer.conn.send_space(), 8192 * 36);
    let mut peer = Hostile::open(profile("linux"), 536);
    assert_eq!(peer.conn.send_space(), 4 << 20);
}

#[test]
fn duplicate_acks_let_go_no_more_than_was_in_flight_when_recovery_began() {
    for reduction in [Reduction::OneStep, Reduction::Prr] {
        for recovery in [RecoveryRule::Sack, RecoveryRule::NewReno] {
            let sack = recovery == RecoveryRule::NewReno;
            let config = Config { sack, reduction, recovery, nagle: false, ..profile("rfc") };
            let mut peer = Hostile::open(config, 1460);
            let una = peer.fill(100);
            let flight = (peer.conn.sent_upto() - una) / peer.mss();
            let mut sent = 0;
            // With SACK agreed only news begin recovery; duplicates without any count from then on.
            for n in (1..=4).filter(|_| sack) {
                let start = una + 2 * n * peer.mss();
                sent += peer.acknowledges(una, &[(start, start + peer.mss())]).len() as u64;
            }
            for _ in 0..20_000 {
                peer.later(Duration::from_us(1));
                sent +=
                    peer.acknowledges(una, &[]).iter().map(|t| u64::from(t.segments)).sum::<u64>();
            }
            assert!(sent >= 1, "the fast retransmission");
            assert!(
                sent <= flight + 3,
                "{reduction:?} {recovery:?}: {sent} segments for {flight} in flight"
            );
            assert_eq!(peer.conn.acked_upto(), una);
        }
    }
}

#[test]
#[ignore = "prints times"]
#[expect(clippy::disallowed_methods, reason = "nothing depends on the clock")]
fn times_of_broad_sack_blocks() {
    for name in ["linux", "rfc", "freebsd"] {
        let config = profile(name);
        let want = config.send_buffer.as_u64();
        let mut peer = Hostile::open(config, 1);
        let una = peer.fill(want / peer.mss());
        let end = peer.conn.sent_upto();
        let (mss, quarter) = (peer.mss(), (end - una) / 4);
        let block = |n: u64| (una + mss + n * quarter, una + (n + 1) * quarter - mss);
        let blocks: Vec<_> = (0..if peer.timestamps { 3 } else { 4 }).map(block).collect();
        peer.later(Duration::from_ms(1));
        let first = std::time::Instant::now();
        peer.acknowledges(una, &blocks);
        let first = first.elapsed();
        let (rounds, clock) = (1000, std::time::Instant::now());
        let mut most = std::time::Duration::ZERO;
        for _ in 0..rounds {
            peer.later(Duration::from_us(10));
            let one = std::time::Instant::now();
            peer.acknowledges(una, &blocks);
            most = most.max(one.elapsed());
        }
        println!(
            "{name}: MSS {mss}, {} B in {} segments in flight: first ACK {first:?}, then {:?}, {most:?} at \
             most; {} B of memory",
            end - una,
            (end - una) / mss,
            clock.elapsed() / rounds,
            peer.conn.memory()
        );
    }
}
