//! Forged segments. Half of the choices are near values that an on-path observer knows, the others
//! are arbitrary.

use lowtide_wire::{Ecn, Flags, Segment, SeqNum, Timestamps};

use super::peer_state::PeerState;
use crate::fuzz_input::FuzzInput;

/// Payload bytes of the peer's usual segments.
pub(super) const PEER_MSS: u64 = 500;

const FLAGS: [Flags; 12] = [
    Flags::ACK,
    Flags::ACK,
    Flags::ACK,
    Flags::ACK.with(Flags::PSH),
    Flags::ACK.with(Flags::FIN),
    Flags::ACK.with(Flags::ECE),
    Flags::ACK.with(Flags::CWR),
    Flags::RST,
    Flags::RST.with(Flags::ACK),
    Flags::SYN,
    Flags::SYN.with(Flags::ACK),
    Flags::SYN.with(Flags::ECE).with(Flags::CWR),
];

pub(super) fn segment(draw: &mut FuzzInput<'_>, known: &PeerState, ports: (u16, u16)) -> Segment {
    let shape = draw.byte();
    let flags = match shape & 15 {
        n @ 0..=11 => FLAGS[usize::from(n)],
        _ => Flags::from_bits(draw.u16()),
    };
    let ack = match draw.byte() % 4 {
        0 => known.snd_max,
        1 => near(draw, known.snd_max),
        2 => near(draw, known.isn.add(1)),
        _ => SeqNum::new(draw.u32()),
    };
    let mut segment = Segment {
        src_port: ports.1,
        dst_port: ports.0,
        seq: sequence(draw, known),
        ack,
        flags,
        window: window(draw),
        payload_len: payload(draw),
        ..Segment::default()
    };
    if flags.contains(Flags::SYN) {
        syn_options(draw, &mut segment);
    }
    if shape & 16 != 0 {
        for _ in 0..draw.range(1, 4) {
            let start = near(draw, ack);
            segment.options.sack.push(start, near(draw, start));
        }
    }
    segment.options.timestamps = timestamps(draw, known);
    if shape & 32 != 0 {
        segment.ecn = Ecn::from_bits(draw.byte());
    }
    if shape & 64 != 0 {
        let folded = draw.byte();
        segment.rx.coalesced = u16::from(folded);
        segment.rx.ce_coalesced = u16::from(draw.byte().min(folded));
    }
    if shape & 128 != 0 {
        segment.urgent = draw.u16();
    }
    segment
}

fn sequence(draw: &mut FuzzInput<'_>, known: &PeerState) -> SeqNum {
    match draw.byte() % 8 {
        0..=2 => known.rcv_nxt,
        3 | 4 => known.rcv_nxt.add(PEER_MSS * draw.range(0, 40)),
        5 => near(draw, known.rcv_nxt.add(u64::from(known.window))),
        6 => near(draw, known.irs),
        _ => near(draw, known.rcv_nxt),
    }
}

/// Moves `seq` by a few bytes, a few segments, or any number.
fn near(draw: &mut FuzzInput<'_>, seq: SeqNum) -> SeqNum {
    match draw.byte() % 6 {
        0 => seq.add(draw.range(0, 4)),
        1 => seq.add(draw.range(1, 4).wrapping_neg()),
        2 => seq.add(PEER_MSS * draw.range(1, 40)),
        3 => seq.add((PEER_MSS * draw.range(1, 40)).wrapping_neg()),
        4 => seq.add(u64::from(draw.u16())),
        _ => seq.add(u64::from(draw.u32())),
    }
}

fn window(draw: &mut FuzzInput<'_>) -> u16 {
    match draw.byte() % 8 {
        0..=3 => u16::MAX,
        4 => 0,
        5 => 1,
        6 => 3 * PEER_MSS as u16,
        _ => draw.u16(),
    }
}

fn payload(draw: &mut FuzzInput<'_>) -> u32 {
    match draw.byte() % 8 {
        0..=2 => 0,
        3..=5 => PEER_MSS as u32,
        6 => u32::from(draw.byte()),
        // Aggregation may make them longer than a packet.
        _ => draw.u32() % (1 << 18),
    }
}

fn syn_options(draw: &mut FuzzInput<'_>, segment: &mut Segment) {
    let have = draw.byte();
    let options = &mut segment.options;
    options.mss = match have & 3 {
        0 => None,
        1 => Some(draw.u16()),
        _ => Some(1460),
    };
    options.window_scale = match have >> 2 & 3 {
        0 => None,
        1 => Some(draw.byte()),
        2 => Some(0),
        _ => Some(7),
    };
    options.sack_permitted = have & 16 != 0;
}

fn timestamps(draw: &mut FuzzInput<'_>, known: &PeerState) -> Option<Timestamps> {
    let honest = Timestamps { value: known.ts_echo.wrapping_add(1), echo: known.ts_value };
    match draw.byte() % 8 {
        0..=4 => known.timestamps.then_some(honest),
        5 => Some(honest),
        6 => Some(Timestamps { value: draw.u32(), ..honest }),
        _ => Some(Timestamps { echo: draw.u32(), ..honest }),
    }
}
