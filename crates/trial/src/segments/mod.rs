//! Sequences of operations on an endpoint and its connections, with adversarial peers.
//!
//! The input selects the switches, then a sequence of operations: forged segments (near the values
//! that an observer knows, or arbitrary), time, and application calls. The invariants of
//! `invariants` are checked after each. At the end the peer either becomes silent, and every
//! connection must become idle, or honest, and all data must arrive.

mod board;
mod config;
mod craft;
mod finish;
mod harness;
mod invariants;
mod peer_state;

use lowtide_units::{Duration, Instant};

use crate::fuzz_input::FuzzInput;
use harness::Harness;

/// Enough to reach every state, and few enough for thousands of inputs per second.
const MAX_OPERATIONS: u32 = 300;
/// Time is u64 picoseconds, 213 days; the final waits need the rest.
const LATEST: Instant = Instant::from_ps(100 * 86_400 * 1_000_000_000_000);

/// Runs the operations encoded in `data`.
pub fn run(data: &[u8]) {
    let mut draw = FuzzInput::new(data);
    let honest_end = draw.flip();
    let mut stage = Harness::new(&mut draw);
    for _ in 0..MAX_OPERATIONS {
        if draw.is_empty() {
            break;
        }
        step(&mut stage, &mut draw);
        stage.poll_all();
    }
    if honest_end {
        stage.end_honestly();
    } else {
        stage.end_in_silence();
    }
}

fn step(stage: &mut Harness, draw: &mut FuzzInput<'_>) {
    let peer = stage.choose_peer(draw);
    let operation = draw.byte() % 16;
    stage.trace_operation(peer, operation);
    match operation {
        0..=4 => stage.segment(peer, draw),
        5 => stage.honest_ack(peer),
        6 => stage.honest_data(peer, draw),
        7 => {
            let pause = Duration::from_ps(draw.log_range(1, 86_400 * 1_000_000_000_000));
            if stage.now + pause < LATEST {
                stage.wait(pause);
            }
        }
        8 | 9 => stage.next_timer(),
        10 => stage.write(peer, draw.log_range(1, 30_000)),
        11 => stage.read(peer, draw.log_range(1, 1 << 20)),
        12 => stage.close(peer),
        13 => match draw.byte() % 4 {
            0 => stage.abort(peer),
            1 => stage.release(peer),
            _ => stage.connect(peer),
        },
        14 => stage.handshake(peer, draw),
        _ => stage.honest_fin(peer),
    }
}
