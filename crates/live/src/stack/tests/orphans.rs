//! Tests of orphaned connections.

use super::hostile::{Attacker, sent, server};
use super::*;

/// Opens a connection, writes data to it and drops its stream.
fn orphan(stack: &mut Stack, port: u16, batch: &mut TxBatch) -> Attacker {
    let peer = Attacker::open(stack, Instant::ZERO, port, batch);
    let key = stack.accept(80).unwrap();
    stack.write(key, &vec![7; 60_000]).unwrap();
    stack.drop_stream(key);
    while stack.wants_flush() {
        stack.flush(Instant::ZERO, batch);
        batch.clear();
    }
    peer
}

/// Replies to every segment as `answer` says until no connection is left. Returns the time taken.
fn run_until_closed(
    stack: &mut Stack,
    peer: &mut Attacker,
    batch: &mut TxBatch,
    mut answer: impl FnMut(&mut Attacker, u32),
) -> Duration {
    let mut now = Instant::ZERO;
    while stack.counters().connections > 0 {
        now = stack.next_timer().expect("a timer").max(now);
        assert!(now < Instant::ZERO + Duration::from_secs(40_000), "it stays");
        stack.handle_timeouts(now, batch);
        for segment in sent(batch) {
            if segment.flags.contains(Flags::RST) {
                continue;
            }
            if let Some(end) = peer.segment_end(&segment) {
                answer(peer, end);
                peer.ack(stack, now, batch);
            }
        }
    }
    now.saturating_since(Instant::ZERO)
}

#[test]
fn an_orphan_behind_a_window_that_stays_closed_ends() {
    let (mut stack, mut batch) = (server(StackLimits::default(), &linux()), TxBatch::default());
    let mut peer = orphan(&mut stack, 9, &mut batch);
    // The peer takes the first flight, closes its window, and answers each probe.
    peer.acked = 14_600;
    peer.window = 0;
    peer.ack(&mut stack, Instant::ZERO, &mut batch);
    let mut probes = 0;
    let took = run_until_closed(&mut stack, &mut peer, &mut batch, |_, _| probes += 1);
    assert!((Duration::from_secs(100)..Duration::from_secs(101)).contains(&took), "{took}");
    assert!(probes >= 5, "{probes}");
    assert_eq!((stack.counters().orphans_reset, stack.counters().orphans), (1, 0));
}

#[test]
fn an_orphan_whose_peer_takes_a_little_at_a_time_ends() {
    let (mut stack, mut batch) = (server(StackLimits::default(), &linux()), TxBatch::default());
    let mut peer = Attacker::open(&mut stack, Instant::ZERO, 9, &mut batch);
    let key = stack.accept(80).unwrap();
    while stack.write(key, &vec![7; 60_000]).is_ok() {}
    stack.drop_stream(key);
    let (mut now, mut next) = (Instant::ZERO, Duration::ZERO);
    peer.window = 0;
    while stack.counters().connections > 0 {
        assert!(now < Instant::ZERO + Duration::from_secs(7200), "it stays");
        // Every 90 s the peer takes 16 kB of 4 MiB.
        let tick = Instant::ZERO + next;
        now = stack.next_timer().map_or(tick, |at| at.min(tick)).max(now);
        stack.handle_timeouts(now, &mut batch);
        stack.flush(now, &mut batch);
        if now == tick {
            next += Duration::from_secs(90);
            peer.window = 1;
            peer.ack(&mut stack, now, &mut batch);
            peer.window = 0;
        }
        let all = sent(&mut batch);
        if let Some(end) = all.iter().filter_map(|s| peer.segment_end(s)).max() {
            peer.acked = peer.acked.max(end);
            peer.ack(&mut stack, now, &mut batch);
        }
    }
    assert!(peer.acked > 400_000, "{}", peer.acked);
    let took = now.saturating_since(Instant::ZERO);
    assert!((Duration::from_secs(3600)..Duration::from_secs(3601)).contains(&took), "{took}");
}

#[test]
fn the_number_of_orphans_is_bounded_and_the_oldest_goes_first() {
    let limits = StackLimits { orphans: 8, ..StackLimits::default() };
    let (mut stack, mut batch) = (server(limits, &linux()), TxBatch::default());
    let mut reset = Vec::new();
    for port in 1..=20 {
        let peer = Attacker::open(&mut stack, Instant::ZERO, port, &mut batch);
        let key = stack.accept(80).unwrap();
        let now = Instant::ZERO + Duration::from_us(u64::from(port));
        stack.write(key, &vec![7; 60_000]).unwrap();
        stack.drop_stream(key);
        stack.flush(now, &mut batch);
        let resets = sent(&mut batch).into_iter().filter(|s| s.flags.contains(Flags::RST));
        reset.extend(resets.map(|s| s.dst_port));
        assert!(peer.segment_end(&Segment { dst_port: port, ..Segment::default() }).is_some());
        assert_eq!(stack.counters().orphans, u64::from(port.min(8)));
    }
    assert_eq!(reset, (1..=12).collect::<Vec<u16>>());
    assert_eq!(stack.counters().connections, 8);
}

#[test]
fn orphans_go_first_when_memory_is_short() {
    let limits = StackLimits { memory: 1 << 20, ..StackLimits::default() };
    let (mut stack, mut batch) = (server(limits, &linux()), TxBatch::default());
    let held = Attacker::open(&mut stack, Instant::ZERO, 5000, &mut batch);
    let key = stack.accept(80).unwrap();
    for port in 1..=40 {
        orphan(&mut stack, port, &mut batch);
    }
    assert!(stack.counters().orphans > 4);
    let mut all = Vec::new();
    for port in 6000..6400 {
        let mut other = Attacker::open(&mut stack, Instant::ZERO, port, &mut batch);
        other.data(&mut stack, Instant::ZERO, 0, &[1; 1460], &mut batch);
        batch.clear();
        all.push(other);
        if stack.counters().orphans == 0 {
            break;
        }
    }
    assert_eq!(stack.counters().orphans, 0, "{:?}", stack.counters());
    assert!(stack.counters().orphans_reset >= 5);
    assert!(stack.established(key).is_ok() && held.acked == 0, "one that is held stays");
}
