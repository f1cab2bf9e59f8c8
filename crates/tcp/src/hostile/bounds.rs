//! Bounds on the segments, memory and transmissions that a peer can cause.

use lowtide_units::{Bytes, Duration};
use lowtide_wire::SeqNum;

use super::{HostilePeer, ISN, profile};
use crate::icmp::IcmpReport;
use crate::send::sender::Sender;
use crate::settings::config::{Config, RecoveryRule, Reduction};

#[test]
fn the_peer_cannot_make_segments_shorter_than_min_mss() {
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
        let peer = HostilePeer::open(profile(name), mss);
        assert_eq!(peer.mss(), payload, "{name}, MSS {mss}");
    }
    // Our own MTU is not the peer's choice.
    let own = Config { mtu: 68, ..profile("linux") };
    assert_eq!(HostilePeer::open(own, 1).mss(), 16);
}

#[test]
fn path_mtu_reports_respect_min_mss_and_max_segments() {
    let config = Config { min_mss: 1000, ..profile("linux") };
    let mut peer = HostilePeer::open(config, 1460);
    peer.conn.send(10_000);
    peer.drain_transmits();
    let report = IcmpReport::TooBig { mtu: 600 };
    assert!(peer.conn.handle_icmp_report(peer.now, SeqNum::new(ISN + 1), report));
    assert_eq!(peer.mss(), 988);

    // Each report reduces the MTU by one byte: every segment is cut and leaves a piece of one byte.
    let config = Config { send_buffer: Bytes::new(400_000), ..profile("linux") };
    let mut peer = HostilePeer::open(config, 1460);
    let una = peer.fill(200);
    let most = 2 * Sender::max_segments(peer.conn.config());
    let mut accepted = 0;
    for mtu in (552..1500).rev() {
        let report = IcmpReport::TooBig { mtu };
        let seq = SeqNum::new(ISN + 1).add(una);
        accepted += u32::from(peer.conn.handle_icmp_report(peer.now, seq, report));
        assert!(peer.conn.snd.board.len() <= most, "{} at {mtu}", peer.conn.snd.board.len());
    }
    assert!((2..64).contains(&accepted), "{accepted}");
    let info = peer.conn.info();
    assert_eq!(peer.conn.config().mtu, info.mss + 52, "a rejected report changes nothing");
    // With little data in flight only the number of reports counts.
    let mut peer = HostilePeer::open(profile("linux"), 1460);
    peer.conn.send(1000);
    peer.drain_transmits();
    let accepted = (552..1500).rev().filter(|mtu| {
        let report = IcmpReport::TooBig { mtu: *mtu };
        peer.conn.handle_icmp_report(peer.now, SeqNum::new(ISN + 1), report)
    });
    assert_eq!(accepted.count(), 64);
}

#[test]
fn short_segments_in_flight_are_bounded_by_the_send_buffer() {
    let config = Config { nagle: false, send_buffer: Bytes::new(1_000_000), ..profile("linux") };
    let mut peer = HostilePeer::open(config, 1460);
    let most = Sender::max_segments(peer.conn.config());
    assert_eq!(most, 1954);
    // The window would allow far more.
    let una = peer.fill(500);
    peer.conn.discard_unsent();
    let mut una = una;
    while una < peer.conn.sent_upto() {
        una = (una + 2 * peer.mss()).min(peer.conn.sent_upto());
        peer.ack(una, &[]);
    }
    for _ in 0..3 * most {
        peer.conn.send(10);
        peer.drain_transmits();
    }
    // Waiting data is sent as soon as it fills a segment.
    let full = 3 * most * 10 / peer.mss() as usize;
    assert!(
        (most..=most + full).contains(&peer.conn.snd.board.len()),
        "{}",
        peer.conn.snd.board.len()
    );
    peer.check_bounds("short segments", peer.acks);
    // The share of the buffer that a short MSS takes cannot be written to either.
    let mut peer = HostilePeer::open(profile("linux"), 1);
    assert_eq!(peer.conn.send_space(), 8192 * 36);
    let mut peer = HostilePeer::open(profile("linux"), 536);
    assert_eq!(peer.conn.send_space(), 4 << 20);
}

#[test]
fn duplicate_acks_release_at_most_the_flight_at_the_start_of_recovery() {
    for reduction in [Reduction::OneStep, Reduction::Prr] {
        for recovery in [RecoveryRule::Sack, RecoveryRule::NewReno] {
            let sack = recovery == RecoveryRule::NewReno;
            let config = Config { sack, reduction, recovery, nagle: false, ..profile("rfc") };
            let mut peer = HostilePeer::open(config, 1460);
            let una = peer.fill(100);
            let flight = (peer.conn.sent_upto() - una) / peer.mss();
            let mut sent = 0;
            // With SACK, only newly SACKed data begins recovery; duplicates without SACK blocks
            // count from then on.
            for n in (1..=4).filter(|_| sack) {
                let start = una + 2 * n * peer.mss();
                sent += peer.ack(una, &[(start, start + peer.mss())]).len() as u64;
            }
            for _ in 0..20_000 {
                peer.advance(Duration::from_us(1));
                sent += peer.ack(una, &[]).iter().map(|t| u64::from(t.segments)).sum::<u64>();
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
