//! Processing times of hostile ACKs, printed on demand: `cargo test --release -p lowtide-tcp --lib
//! times_of -- --ignored --nocapture`.

use alloc::vec::Vec;
use std::println;

use lowtide_units::Duration;

use super::{HostilePeer, profile};

#[test]
#[ignore = "prints times"]
#[expect(clippy::disallowed_methods, reason = "nothing depends on the clock")]
fn times_of_undone_reactions() {
    let config = profile("linux");
    let want = config.send_buffer.as_u64();
    let mut peer = HostilePeer::open(config, 1);
    let mut una = peer.fill(want / peer.mss());
    let (end, mss) = (peer.conn.sent_upto(), peer.mss());
    let mut times = Vec::new();
    for _ in 0..10 {
        for echo in [1, 0] {
            peer.advance(Duration::from_ms(3));
            una += u64::from(echo == 0) * mss;
            let clock = std::time::Instant::now();
            peer.ack_with_echo(una, &[(end - mss, end)], echo);
            times.push(clock.elapsed());
        }
    }
    println!("{} in flight, {} undone: {times:?}", (end - una) / mss, peer.conn.counters().undos);
}

#[test]
#[ignore = "prints times"]
#[expect(clippy::disallowed_methods, reason = "nothing depends on the clock")]
fn times_of_broad_sack_blocks() {
    for name in ["linux", "rfc", "freebsd"] {
        let config = profile(name);
        let want = config.send_buffer.as_u64();
        let mut peer = HostilePeer::open(config, 1);
        let una = peer.fill(want / peer.mss());
        let end = peer.conn.sent_upto();
        let (mss, quarter) = (peer.mss(), (end - una) / 4);
        let block = |n: u64| (una + mss + n * quarter, una + (n + 1) * quarter - mss);
        let blocks: Vec<_> = (0..if peer.timestamps { 3 } else { 4 }).map(block).collect();
        peer.advance(Duration::from_ms(1));
        let first = std::time::Instant::now();
        peer.ack(una, &blocks);
        let first = first.elapsed();
        let (rounds, clock) = (1000, std::time::Instant::now());
        let mut most = std::time::Duration::ZERO;
        for _ in 0..rounds {
            peer.advance(Duration::from_us(10));
            let one = std::time::Instant::now();
            peer.ack(una, &blocks);
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
