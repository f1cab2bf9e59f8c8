//! Scoreboard entries that hostile ACKs make a connection visit.

use alloc::format;
use alloc::vec::Vec;

use lowtide_units::{Bytes, Duration};

use super::{HostilePeer, VISITS_PER_ACK, profile};
use crate::loss::recovery::MAX_VISITED;
use crate::settings::config::{Config, RecoveryRule, Reduction};

/// Loss detectors, each in the configuration that a hostile peer can exploit most.
fn loss_detectors() -> Vec<(&'static str, Config)> {
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
    // Small buffers fill soon; the bounds are unchanged.
    all.map(|(name, c)| (name, Config { send_buffer: Bytes::new(400_000), ..c })).to_vec()
}

/// Segments in flight at the start of each attack.
const FLIGHT: u64 = 600;

/// Runs `attack` on a connection with [`FLIGHT`] segments of minimum size in flight, for each loss
/// detector. The arguments are SND.UNA and the end of the data in flight.
fn run_attack(what: &str, mut attack: impl FnMut(&mut HostilePeer, u64, u64)) {
    for (name, config) in loss_detectors() {
        let mut peer = HostilePeer::open(config, 1);
        let una = peer.fill(FLIGHT);
        let end = peer.conn.sent_upto();
        assert!((end - una) / peer.mss() >= FLIGHT / 2, "{name}: {} B in flight", end - una);
        peer.reset_visits();
        attack(&mut peer, una, end);
        peer.check_bounds(&format!("{what}, {name}"), peer.acks);
    }
}

#[test]
fn repeated_broad_sack_blocks_are_not_walked_again() {
    run_attack("broad blocks", |peer, una, end| {
        let (mss, quarter) = (peer.mss(), (end - una) / 4);
        let block = |n: u64| (una + mss + n * quarter, una + (n + 1) * quarter - mss);
        let blocks = [block(0), block(1), block(2)];
        for round in 0..2000 {
            peer.advance(Duration::from_us(10));
            peer.ack(una, &blocks);
            if round == 3 {
                // From here on nothing is newly SACKed: each ACK alone meets the bound.
                peer.max_visits_per_ack = 0;
            }
        }
        assert!(peer.max_visits_per_ack <= 2 * VISITS_PER_ACK, "{}", peer.max_visits_per_ack);
    });
}

#[test]
fn every_other_segment_sacked_alone_from_below_above_and_the_middle() {
    run_attack("alternate segments", |peer, una, end| {
        let mss = peer.mss();
        let count = (end - una) / mss;
        let block = |n: u64| (una + n * mss, una + (n + 1) * mss);
        for n in (1..count / 2).step_by(2) {
            peer.advance(Duration::from_us(3));
            let middle = (count / 4 + n / 2) | 1;
            peer.ack(una, &[block(n), block((count - n) | 1), block(middle)]);
        }
        // Then everything at once, repeatedly.
        for _ in 0..500 {
            peer.advance(Duration::from_us(3));
            peer.ack(una, &[(una + mss, end), (una + 2 * mss, end), (una + 3 * mss, end)]);
        }
    });
}

#[test]
fn the_last_segment_sacked_and_then_repeated() {
    run_attack("overtaken segments", |peer, una, end| {
        let last = (end - peer.mss(), end);
        for _ in 0..2000 {
            // Within the reordering window no overtaken segment is lost yet.
            peer.advance(Duration::from_ns(10));
            peer.ack(una, &[last]);
        }
        for _ in 0..2000 {
            peer.advance(Duration::from_us(10));
            peer.ack(una, &[last]);
        }
    });
}

#[test]
fn sacked_retransmissions_that_make_earlier_ones_lost_again() {
    run_attack("retransmissions", |peer, una, end| {
        let mss = peer.mss();
        let mut resent: Vec<(u64, u64)> = Vec::new();
        let mut blocks = alloc::vec![(end - mss, end)];
        for round in 0..3000 {
            peer.advance(Duration::from_us(50));
            let sent = peer.ack(una, &blocks);
            let again = sent.iter().filter(|t| t.stream.start < end && t.stream.start > una);
            resent.extend(again.map(|t| (t.stream.start, t.stream.end)));
            // A later retransmission arrives, so that an earlier one is lost again.
            blocks = match resent.len() {
                0 => alloc::vec![(end - mss, end)],
                n if round % 2 == 0 => alloc::vec![resent.remove(n - 1)],
                n => alloc::vec![resent.remove(n / 2)],
            };
        }
    });
}

#[test]
fn a_reneging_peer_costs_one_walk_per_timeout() {
    run_attack("reneging", |peer, una, end| {
        let mss = peer.mss();
        let mut walks = 0;
        for _ in 0..5 {
            for _ in 0..200 {
                peer.advance(Duration::from_us(10));
                peer.ack(una, &[(una, una + mss), (una + 2 * mss, end)]);
            }
            peer.fire_timer();
            walks += (end - una) / mss;
        }
        // A timeout is no ACK: it may visit each segment several times.
        peer.visits = peer.visits.saturating_sub(4 * walks);
    });
}

#[test]
fn repeated_undos_visit_a_bounded_number_of_segments() {
    let config = Config { send_buffer: Bytes::new(400_000), ..profile("linux") };
    let mut peer = HostilePeer::open(config, 1);
    let mut una = peer.fill(FLIGHT);
    let end = peer.conn.sent_upto();
    let (mss, count) = (peer.mss(), (end - una) / peer.mss());
    peer.reset_visits();
    let mut visited = 0;
    for _ in 0..300 {
        let undone = peer.conn.counters().undos;
        peer.advance(Duration::from_ms(3));
        peer.ack(una, &[(end - mss, end)]);
        peer.advance(Duration::from_ms(3));
        una += mss;
        peer.ack_with_echo(una, &[(end - mss, end)], 0);
        visited += (peer.conn.counters().undos - undone) * ((end - una) / mss);
    }
    // All within one window of data.
    assert!(una < end);
    assert!((1..300).contains(&peer.conn.counters().undos), "{count} in flight");
    assert!(visited <= MAX_VISITED as u64, "{visited} visited of {count} in flight");
    assert!(peer.max_visits_per_ack <= 6 * count, "{} of {count}", peer.max_visits_per_ack);
    peer.visits = peer.visits.saturating_sub(6 * visited + 6 * count);
    peer.check_bounds("undone reactions", peer.acks);
}
