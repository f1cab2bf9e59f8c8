//! One direction of the wire with its faults. It carries bytes, never segments.

use lowtide_units::{Duration, Instant};
use lowtide_wire::Ecn;

use crate::case::Impairment;
use crate::draw::Draw;
use crate::tally::Tally;

/// Probabilities are per mille and per packet.
#[derive(Clone, Debug)]
pub(crate) struct Faults {
    pub(crate) delay: Duration,
    pub(crate) loss: u32,
    pub(crate) duplicate: u32,
    pub(crate) reorder: u32,
    pub(crate) late: Duration,
    pub(crate) corrupt: u32,
    pub(crate) mark: u32,
    pub(crate) bleach: u32,
    /// Picoseconds per byte; zero is infinitely fast.
    pub(crate) byte_time: u64,
    /// Queue limit as time; later packets are dropped.
    pub(crate) queue: Duration,
    /// An ECN-capable packet that meets a longer queue than this is marked (CE).
    pub(crate) mark_above: Duration,
    /// Nothing passes in these time spans; the last may have no end.
    pub(crate) blackouts: Vec<(Instant, Instant)>,
}

impl Faults {
    pub(crate) fn draw(d: &mut Draw, delay: Duration, impairment: Impairment) -> Self {
        let heavy = impairment == Impairment::Heavy;
        let worst = if heavy { 300 } else { 100 };
        let chance = |d: &mut Draw, worst: u32| match d.below(3) {
            0 => 0,
            1 => d.range(1, 20) as u32,
            _ => d.range(0, u64::from(worst)) as u32,
        };
        let byte_time = match d.below(3) {
            0 => 0,
            _ => d.doublings(800, 8_000_000),
        };
        let mut blackouts = Vec::new();
        if heavy && d.flip() {
            let mut at = Instant::ZERO;
            for _ in 0..d.range(1, 3) {
                let from = at + d.micros(1_000, 500_000);
                at = from + d.micros(10_000, 30_000_000);
                blackouts.push((from, at));
            }
            if d.permille(250)
                && let Some(last) = blackouts.last_mut()
            {
                last.1 = Instant::FAR_FUTURE;
            }
        }
        let drawn = Self {
            delay,
            loss: chance(d, worst),
            duplicate: chance(d, worst),
            reorder: chance(d, 400),
            late: match d.below(4) {
                0 => d.micros(1_000, 400_000),
                _ => Duration::from_ps(1 + d.below(3 * delay.as_ps())),
            },
            corrupt: if d.permille(400) { chance(d, worst / 2) } else { 0 },
            mark: if d.flip() { chance(d, 500) } else { 0 },
            bleach: if d.permille(100) { d.pick(&[100, 1000]) } else { 0 },
            byte_time,
            queue: d.micros(1_000, 200_000),
            mark_above: d.micros(10, 10_000),
            blackouts,
        };
        if impairment != Impairment::Perfect {
            return drawn;
        }
        Self { loss: 0, duplicate: 0, reorder: 0, corrupt: 0, byte_time: 0, ..drawn }
    }
}

/// One delivery of a packet: its time and its bytes.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) at: Instant,
    pub(crate) bytes: Vec<u8>,
    pub(crate) corrupted: bool,
}

#[derive(Debug)]
pub(crate) struct Link {
    faults: Faults,
    draw: Draw,
    free_at: Instant,
}

impl Link {
    pub(crate) fn new(faults: Faults, draw: Draw) -> Self {
        Self { faults, draw, free_at: Instant::ZERO }
    }

    /// The ECN codepoint after the path. Only ECN-capable packets are marked CE.
    pub(crate) fn remark_ecn(&mut self, now: Instant, ecn: Ecn, tally: &mut Tally) -> Ecn {
        if !ecn.is_capable() {
            return ecn;
        }
        if self.draw.permille(self.faults.bleach) {
            tally.bleached += 1;
            return Ecn::NotEct;
        }
        let waits = self.free_at.saturating_since(now);
        if self.draw.permille(self.faults.mark) || waits > self.faults.mark_above {
            tally.marked += 1;
            return Ecn::Ce;
        }
        ecn
    }

    pub(crate) fn carry(&mut self, now: Instant, bytes: &[u8], tally: &mut Tally) -> Vec<Delivery> {
        let f = &self.faults;
        let d = &mut self.draw;
        tally.packets += 1;
        if f.blackouts.iter().any(|(from, to)| (*from..*to).contains(&now)) {
            tally.blacked_out += 1;
            return Vec::new();
        }
        if d.permille(f.loss) {
            tally.lost += 1;
            return Vec::new();
        }
        if self.free_at.saturating_since(now) > f.queue {
            tally.overflowed += 1;
            return Vec::new();
        }
        self.free_at = self.free_at.max(now) + Duration::from_ps(f.byte_time * bytes.len() as u64);
        let copies = if d.permille(f.duplicate) { d.range(2, 3) } else { 1 };
        tally.duplicated += copies - 1;
        let mut out = Vec::new();
        for copy in 0..copies {
            let mut at = self.free_at + f.delay;
            if copy > 0 || d.permille(f.reorder) {
                tally.delayed += 1;
                at += Duration::from_ps(d.below(f.late.as_ps()));
            }
            let mut bytes = bytes.to_vec();
            let corrupted = d.permille(f.corrupt);
            if corrupted {
                tally.corrupted += 1;
                corrupt(d, &mut bytes);
            }
            out.push(Delivery { at, bytes, corrupted });
        }
        out
    }
}

/// Flips one to three bits, truncates, appends bytes, or replaces all by noise.
fn corrupt(d: &mut Draw, bytes: &mut Vec<u8>) {
    match d.below(12) {
        0 => bytes.truncate(d.below(bytes.len() as u64) as usize),
        1 => {
            let extra = d.range(1, 40);
            bytes.extend((0..extra).map(|_| d.bits() as u8));
        }
        2 => {
            let start = d.below(bytes.len() as u64) as usize;
            bytes[start..].fill_with(|| d.bits() as u8);
        }
        n => {
            // Half of the flips hit the headers, where they matter most.
            let reach = if n < 8 { 80.min(bytes.len()) } else { bytes.len() };
            for _ in 0..d.range(1, 3) {
                let bit = d.below(8 * reach as u64);
                bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
        }
    }
}
