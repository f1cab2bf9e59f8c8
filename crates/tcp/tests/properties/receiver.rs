//! The receiver through the public interface, against a map of single bytes: bytes kept, readable
//! and acknowledged, and the order of SACK blocks (RFC 2018 §4).

use std::sync::Arc;

use lowtide_tcp::{Config, Connection, Event};
use lowtide_units::{Bytes, Duration, Instant};
use lowtide_wire::{Flags, Segment, SeqNum};
use proptest::prelude::*;

const ISN: SeqNum = SeqNum::new(77);
const SPACE: usize = 1200;

/// A connection that accepted a peer whose payload starts at `irs + 1`.
fn accepted(irs: SeqNum, config: Config) -> Connection {
    let now = Instant::ZERO;
    let mut syn = Segment { seq: irs, flags: Flags::SYN, window: 65_535, ..Segment::default() };
    syn.options.sack_permitted = true;
    let mut conn = Connection::accept(Arc::new(config), now, &syn, ISN, 0);
    conn.poll_transmit(now).expect("a SYN-ACK");
    let ack = data(irs, 0, 0);
    conn.handle_segment(now, &ack).expect("the ACK of the SYN-ACK");
    while conn.poll_transmit(now).is_some() {}
    assert_eq!(conn.poll_event(), Some(Event::Established));
    conn
}

fn data(irs: SeqNum, start: u64, len: u32) -> Segment {
    Segment {
        seq: irs.add(1 + start),
        ack: ISN.add(1),
        flags: Flags::ACK,
        window: 65_535,
        payload_len: len,
        ..Segment::default()
    }
}

/// Every byte that arrived, and the arrivals, newest first.
struct Map {
    there: Vec<bool>,
    arrivals: Vec<(usize, usize)>,
}

impl Map {
    fn next(&self) -> usize {
        self.there.iter().position(|b| !b).unwrap_or(SPACE)
    }

    /// The whole run of bytes around `at`.
    fn run(&self, at: usize) -> (u64, u64) {
        let start = self.there[..at].iter().rposition(|b| !b).map_or(0, |i| i + 1);
        let end = self.there[at..].iter().position(|b| !b).map_or(SPACE, |i| at + i);
        (start as u64, end as u64)
    }

    /// The first block contains the latest segment; the others follow by how recently they were
    /// reported, each once.
    fn blocks(&self, room: usize) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        for &(start, _) in self.arrivals.iter().filter(|a| a.0 > self.next()) {
            let run = self.run(start);
            if out.len() < room && !out.contains(&run) {
                out.push(run);
            }
        }
        out
    }
}

fn pieces() -> impl Strategy<Value = Vec<(usize, usize)>> {
    // Multiples of ten, so that pieces often touch; a few at any byte.
    let tens = (0_usize..100, 1_usize..5).prop_map(|(a, n)| (10 * a, 10 * n));
    let any = (0..SPACE - 60, 1_usize..60);
    prop::collection::vec(prop_oneof![5 => tens, 1 => any], 1..80)
}

proptest! {
    #[test]
    fn agrees_with_a_map_of_bytes(irs: u32, wrap: bool, dsack: bool, pieces in pieces()) {
        // Half of the streams wrap the sequence space.
        let irs = SeqNum::new(if wrap { 0_u32.wrapping_sub(irs % SPACE as u32) } else { irs });
        let now = Instant::ZERO + Duration::from_ms(1);
        let config = Config { dsack, ecn: lowtide_tcp::EcnNegotiation::Off, ..Config::default() };
        let mut conn = accepted(irs, config);
        let mut map = Map { there: vec![false; SPACE], arrivals: Vec::new() };
        let mut kept = vec![false; SPACE];
        let mut readable = 0;
        for (start, len) in pieces {
            let end = start + len;
            let before = map.there.clone();
            let old_next = map.next();
            map.there[start..end].fill(true);
            map.arrivals.insert(0, (start, end));
            let next = map.next();

            if let Ok(accepted) = conn.handle_segment(now, &data(irs, start as u64, len as u32)) {
                let range = accepted.stream.start as usize..accepted.stream.end as usize;
                if !range.is_empty() {
                    prop_assert_eq!(start + accepted.skip as usize, range.start);
                    prop_assert!(range.end <= end && range.start >= old_next);
                    kept[range].fill(true);
                }
            }
            prop_assert_eq!(&kept[..], &map.there[..], "bytes kept");

            let mut acks = Vec::new();
            while let Some(t) = conn.poll_transmit(now) {
                prop_assert_eq!(t.header.payload_len, 0);
                acks.push(t.header);
            }
            while let Some(event) = conn.poll_event() {
                let Event::Readable { upto } = event else { panic!("{event:?}") };
                prop_assert!(upto > readable);
                readable = upto;
            }
            prop_assert_eq!(readable, next as u64);
            // A hole, the filling of one and a duplicate are acknowledged at once.
            let gap = map.there[next..].contains(&true) || before[old_next..].contains(&true);
            let duplicate = before[start..end].iter().all(|b| *b);
            if gap || duplicate {
                prop_assert_eq!(acks.len(), 1, "one ACK at once");
            }
            for ack in acks {
                prop_assert_eq!(ack.ack, irs.add(1 + next as u64));
                let offset = |s: SeqNum| i64::from(s.diff(irs.add(1))) as u64;
                let mut said: Vec<(u64, u64)> =
                    ack.options.sack.as_slice().iter().map(|b| (offset(b.0), offset(b.1))).collect();
                let is_dsack = |b: &(u64, u64)| {
                    let whole_old = before[b.0 as usize..b.1 as usize].iter().all(|x| *x);
                    let inside = start as u64 <= b.0 && b.1 <= end as u64;
                    whole_old && inside && (b.1 <= next as u64 || map.run(b.0 as usize) != *b || duplicate)
                };
                let with_dsack = dsack && said.first().is_some_and(is_dsack);
                if duplicate && dsack {
                    prop_assert!(with_dsack, "a duplicate without DSACK: {:?}", said);
                }
                if with_dsack {
                    said.remove(0);
                }
                prop_assert_eq!(said, map.blocks(4 - usize::from(with_dsack)));
            }
        }
    }

    /// Data beyond the window is not kept, and the window never shrinks.
    #[test]
    fn the_window_never_shrinks(buffer in 1_u64..3000, pieces in prop::collection::vec((0_u64..4000, 1_u32..600, 0_u64..800), 1..60)) {
        let irs = SeqNum::new(u32::MAX - 1500);
        let now = Instant::ZERO + Duration::from_ms(1);
        let receive_buffer = Bytes::new(buffer);
        let config = Config { receive_buffer, window_scaling: false, ..Config::default() };
        let mut conn = accepted(irs, config);
        let (mut read, mut readable, mut edge) = (0, 0, 0);
        for (start, len, reads) in pieces {
            if let Ok(accepted) = conn.handle_segment(now, &data(irs, start, len)) {
                prop_assert!(accepted.stream.end <= read + buffer, "{accepted:?}");
                prop_assert!(accepted.stream.end.saturating_sub(accepted.stream.start) <= u64::from(len));
            }
            while let Some(t) = conn.poll_transmit(now) {
                let next = u64::from(t.header.ack.diff(irs.add(1)).cast_unsigned());
                let right = next + u64::from(t.header.window);
                prop_assert!(right >= edge, "the window shrinks from {} to {}", edge, right);
                prop_assert!(right <= read + buffer, "offers up to {}", right);
                edge = right;
            }
            while let Some(event) = conn.poll_event() {
                if let Event::Readable { upto } = event {
                    readable = upto;
                }
            }
            let n = reads.min(readable - read);
            conn.read(n);
            read += n;
            while conn.poll_transmit(now).is_some() {}
        }
    }
}
