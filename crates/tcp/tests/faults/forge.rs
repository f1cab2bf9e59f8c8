//! Forged segments, derived from a genuine one, with correct checksums.

use lowtide_wire::{Flags, Segment, SeqNum, Timestamps};

use crate::draw::Draw;

/// By an attacker that cannot see the sequence numbers: at least 2^29 off, so outside every window,
/// or in the window with an acknowledgement of unsent data.
pub(crate) fn blind(d: &mut Draw, seg: &Segment) -> Segment {
    let far = |d: &mut Draw| d.range(1 << 29, 1 << 30);
    let mut forged = *seg;
    if forged.flags.intersects(Flags::SYN | Flags::RST) || d.permille(300) {
        forged.flags = forged.flags.without(Flags::RST | Flags::SYN | Flags::FIN) | Flags::ACK;
        forged.ack = forged.ack.add(far(d));
        forged.seq = forged.seq.add(if d.flip() { 0 } else { far(d) });
        return forged;
    }
    forged.seq = seg.seq.add(if d.flip() { far(d) } else { 0_u64.wrapping_sub(far(d)) });
    forged.flags = flags(d);
    if forged.flags.contains(Flags::SYN) {
        // A SYN alone opens a connection; this needs no sequence number, only a listener.
        forged.flags |= Flags::ACK;
    }
    forged.window = d.bits() as u16;
    if let Some(stamps) = &mut forged.options.timestamps {
        match d.below(3) {
            0 => stamps.value = d.bits() as u32,
            1 => stamps.echo = d.bits() as u32,
            _ => {}
        }
    }
    if d.flip() {
        forged.payload_len = d.below(1500) as u32;
    }
    forged
}

/// By a lying peer: any field, changed a little or a lot.
pub(crate) fn insider(d: &mut Draw, seg: &Segment) -> Segment {
    let mut forged = *seg;
    for _ in 0..d.range(1, 3) {
        match d.below(10) {
            0 => forged.seq = near(d, forged.seq),
            1 => forged.ack = near(d, forged.ack),
            2 => forged.window = d.pick(&[0, 1, 100, u16::MAX, d.clone().bits() as u16]),
            3 => forged.flags = flags(d),
            4 => forged.options.mss = Some(d.pick(&[0, 1, 36, 536, u16::MAX])),
            5 => forged.options.window_scale = Some(d.bits() as u8),
            6 => {
                let (value, echo) = (d.bits() as u32, d.bits() as u32);
                forged.options.timestamps =
                    (!d.permille(200)).then_some(Timestamps { value, echo });
            }
            7 => forged.payload_len = d.below(3000) as u32,
            8 => forged.urgent = d.bits() as u16,
            _ => {
                if forged.options.wire_len() <= 20 {
                    for _ in 0..d.range(1, 2) {
                        let start = near(d, forged.ack);
                        forged.options.sack.push(start, near(d, start));
                    }
                }
            }
        }
    }
    forged
}

fn near(d: &mut Draw, seq: SeqNum) -> SeqNum {
    let by = match d.below(5) {
        0 => d.range(0, 3),
        1 => d.range(0, 3000),
        2 => d.range(0, 200_000),
        3 => d.range(0, 3000).wrapping_neg(),
        _ => d.bits(),
    };
    seq.add(by)
}

/// Mostly ACK with another flag.
fn flags(d: &mut Draw) -> Flags {
    let any = Flags::from_bits(d.bits() as u16 & d.bits() as u16);
    if d.permille(800) { any | Flags::ACK } else { any }
}

/// Bytes for `forged`: those of the genuine segment as far as they reach, then noise.
pub(crate) fn payload(d: &mut Draw, forged: &Segment, after: &[u8]) -> Vec<u8> {
    let len = forged.payload_len as usize;
    let mut payload = after[..len.min(after.len())].to_vec();
    payload.resize_with(len, || d.bits() as u8);
    payload
}
