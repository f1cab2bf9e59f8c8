//! Entries of the scoreboard that hostile ACKs make a connection visit.

use alloc::format;
use alloc::vec::Vec;

use lowtide_units::{Bytes, Duration};

use super::{Hostile, STEPS_PER_ACK, profile};
use crate::config::{Config, RecoveryRule, Reduction};
use crate::recovery::MOST_VISITED;

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
    let mut visited = 0;
    for _ in 0..300 {
        let undone = peer.conn.counters().undos;
        peer.later(Duration::from_ms(3));
        peer.acknowledges(una, &[(end - mss, end)]);
        peer.later(Duration::from_ms(3));
        una += mss;
        peer.acknowledges_echoing(una, &[(end - mss, end)], 0);
        visited += (peer.conn.counters().undos - undone) * ((end - una) / mss);
    }
    // All within one window of data.
    assert!(una < end);
    assert!((1..300).contains(&peer.conn.counters().undos), "{count} in flight");
    assert!(visited <= MOST_VISITED as u64, "{visited} visited of {count} in flight");
    assert!(peer.most_steps <= 6 * count, "{} of {count}", peer.most_steps);
    peer.steps = peer.steps.saturating_sub(6 * visited + 6 * count);
    peer.within_bound("undone reactions", peer.acks);
}
