//! Features of a sender's window: growth in rounds of congestion avoidance, the depth of its
//! reductions, their relation to the echoed marks, pacing, and cycles of probing.
//!
//! Contract: windows are flights in segments. A stretch is a run of rounds between two reductions
//! in which nothing but the sender's window limited it.

use serde::Serialize;

use super::record::{ReductionCause, RoundRecord, SenderRecord};

/// C of CUBIC, segments per second cubed, and its factor of reduction (RFC 9438 §4.6, §5).
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;
/// Growth of CUBIC in its Reno-friendly region, segments per window (RFC 9438 §4.3).
const CUBIC_FRIENDLY: f64 = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
/// Greatest growth per window of congestion avoidance, of a window.
const SLOW_START: f64 = 1.3;
/// A window that shrinks by more than this factor without a loss or a mark.
const SILENT: f64 = 0.85;
/// Gain of DCTCP (RFC 8257 §4.2).
const GAIN: f64 = 1.0 / 16.0;

/// A reduction, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) cause: ReductionCause,
    pub(super) before: f64,
    pub(super) after: f64,
    /// Alpha of DCTCP at that time (RFC 8257 §3.3), by the echoed marks.
    pub(super) alpha: f64,
    /// The bytes of the path without a queue, of the window.
    pub(super) path: f64,
}

impl Cut {
    pub(super) fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// The numbers of a verdict. Ratios are of the window; 0 is no value.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Features {
    pub(super) rounds: usize,
    pub(super) first_flight_segments: f64,
    /// The greatest growth of a round before the first reduction.
    pub(super) start_growth: f64,
    #[serde(skip)]
    pub(super) cuts: Vec<Cut>,
    pub(super) reductions: usize,
    pub(super) median_ratio: f64,
    /// The greatest number of recoveries that began within one reduction.
    pub(super) overlapping_recoveries: usize,
    /// Rounds of stretches, those with a window above [`LARGE`] segments, and those later than
    /// [`late_ns`] after the reduction.
    pub(super) calm_rounds: usize,
    #[serde(skip)]
    pub(super) large: usize,
    #[serde(skip)]
    pub(super) late: usize,
    /// Windows acknowledged in them, and the growth for each, segments.
    #[serde(skip)]
    pub(super) turns: f64,
    pub(super) growth_segments: f64,
    /// Mean error of the windows that NewReno and CUBIC would have had, of their growth.
    pub(super) newreno_error: f64,
    pub(super) cubic_error: f64,
    /// Windows that shrank in a stretch.
    #[serde(skip)]
    pub(super) silent: usize,
    /// Median time from an ACK to a segment, of the time between ACKs.
    pub(super) ack_lag: f64,
    /// Peaks of the flight, and those one gain cycle of BBR after the one before.
    #[serde(skip)]
    pub(super) peaks: usize,
    pub(super) gain_cycles: usize,
    /// Times with at most [`PROBE_SEGMENTS`] in flight for [`PROBE_NS`].
    pub(super) probe_rtts: usize,
}

/// Below this window, HighSpeed TCP is NewReno (RFC 3649 §5).
pub(super) const LARGE: f64 = 40.0;
/// H-TCP is NewReno for one second after a reduction (draft-leith-tcp-htcp-06 §3.1). Then it adds
/// 10 segments per window and second, with its scaling by round trips times the round trip of 100
/// ms, at most ten times less. Until it adds two it is NewReno in integers, as in Linux.
fn late_ns(base: u64) -> u64 {
    let scale = (100_000_000.0 / base.max(1) as f64).clamp(0.5, 10.0);
    ((1.2 + 0.2 * scale) * 1e9) as u64
}
/// BBR's window in PROBE_RTT is four segments (draft-cardwell-iccrg-bbr-congestion-control-00
/// §4.3.5), for at least 200 ms.
const PROBE_SEGMENTS: f64 = 5.0;
const PROBE_NS: u64 = 150_000_000;

impl Features {
    pub(super) fn of(record: &SenderRecord, mss: u64, base: u64) -> Self {
        let rounds = &record.rounds;
        let mut out = Self { rounds: rounds.len(), ..Self::default() };
        let size = mss.max(1) as f64;
        out.first_flight_segments = record.initial as f64 / size;
        out.cuts = cuts(record, size, base);
        out.reductions = record.reductions.len();
        out.median_ratio = median(out.cuts.iter().map(Cut::ratio));
        out.overlapping_recoveries =
            record.reductions.iter().map(|cut| cut.again).max().unwrap_or(0);
        let first = record.reductions.first().map_or(rounds.len(), |cut| cut.round);
        let early = rounds[..first.min(rounds.len())].windows(2);
        let rates = early.filter(|w| w[0].most > 0).map(|w| w[1].most as f64 / w[0].most as f64);
        out.start_growth = rates.fold(0.0, f64::max);
        out.follow_stretches(record, size, base);
        out.ack_lag =
            median(rounds.iter().skip(4).filter(|r| r.segments > 1 && r.acks > 1).map(|r| {
                r.lag as f64 / r.segments as f64 / (r.ns as f64 / r.acks as f64).max(1.0)
            }));
        out.find_cycles(rounds, size, base);
        out
    }

    /// Compares the windows of each stretch with those of NewReno and CUBIC.
    fn follow_stretches(&mut self, record: &SenderRecord, size: f64, base: u64) {
        let rounds = &record.rounds;
        let (mut reno, mut cubic, mut scales) = (0.0, 0.0, [0.0; 2]);
        let mut most = 0.0_f64;
        let cuts = &record.reductions;
        for (i, cut) in cuts.iter().enumerate() {
            let before = cut.before as f64 / size;
            // Fast convergence (RFC 9438 §4.7).
            most = if before < most { before * (1.0 + CUBIC_BETA) / 2.0 } else { before };
            let until = cuts.get(i + 1).map_or(rounds.len(), |next| next.round);
            if cut.cause == ReductionCause::Timer {
                continue;
            }
            let calm = |r: &&RoundRecord| !r.reduced && r.most > 0 && r.idle <= r.ns / 20;
            let from = (cut.round + 1..until).find(|n| !rounds[*n].reduced).unwrap_or(until);
            let stretch: Vec<&RoundRecord> =
                rounds[from.min(until)..until].iter().take_while(calm).collect();
            let Some(first) = stretch.first() else { continue };
            let start = first.most as f64 / size;
            let (mut by_reno, mut by_cubic) = (start, Cubic::new(start, most, base));
            for pair in stretch.windows(2) {
                let (old, new) = (pair[0].most as f64 / size, pair[1].most as f64 / size);
                if new < old * SILENT {
                    self.silent += 1;
                    break;
                }
                if new > old * SLOW_START {
                    break;
                }
                let turns = pair[0].acked as f64 / size / old;
                by_reno += turns;
                by_cubic.advance(turns, pair[0].ns);
                self.calm_rounds += 1;
                self.large += usize::from(new > LARGE);
                self.late += usize::from(pair[1].end.saturating_sub(first.end) > late_ns(base));
                self.turns += turns;
                self.growth_segments += new - old;
                let grown = (new - start).max(2.0);
                reno += (by_reno - new).abs();
                cubic += (by_cubic.window - new).abs();
                scales[0] += grown.max(by_reno - start);
                scales[1] += grown.max(by_cubic.window - start);
            }
        }
        self.growth_segments /= self.turns.max(1.0);
        self.newreno_error = reno / scales[0].max(1.0);
        self.cubic_error = cubic / scales[1].max(1.0);
    }

    /// Finds BBR's gain cycles, eight minimum round trips each, and PROBE_RTT.
    fn find_cycles(&mut self, rounds: &[RoundRecord], size: f64, base: u64) {
        let flights: Vec<f64> = rounds.iter().map(|r| r.most as f64 / size).collect();
        let mut last: Option<u64> = None;
        for i in 3..flights.len().saturating_sub(3) {
            let near = &flights[i - 3..i + 4];
            let usual = median(near.iter().copied());
            let top = near.iter().copied().fold(0.0, f64::max);
            if flights[i] < usual * 1.06 || flights[i] < top || flights[i - 1] >= top {
                continue;
            }
            self.peaks += 1;
            let gap = last.map(|at| rounds[i].end.saturating_sub(at));
            let cycle =
                |gap: u64| (base.saturating_mul(6)..=base.saturating_mul(11)).contains(&gap);
            self.gain_cycles += usize::from(gap.is_some_and(cycle));
            last = Some(rounds[i].end);
        }
        let mut low = 0_u64;
        for (i, r) in rounds.iter().enumerate().skip(10) {
            let few = flights[i] <= PROBE_SEGMENTS && !r.reduced;
            low = if few { low.saturating_add(r.ns) } else { 0 };
            self.probe_rtts += usize::from(few && low >= PROBE_NS && low - r.ns < PROBE_NS);
        }
    }
}

fn cuts(record: &SenderRecord, size: f64, base: u64) -> Vec<Cut> {
    let (mut alpha, mut next, mut out) = (1.0, 0, Vec::new());
    for (i, round) in record.rounds.iter().enumerate() {
        while let Some(cut) = record.reductions.get(next).filter(|cut| cut.round <= i) {
            next += 1;
            let known = cut.before > 0 && cut.again == 0;
            let Some(after) = cut.after.filter(|_| known) else { continue };
            // The window grows by a segment, half of it on average, while it shows.
            let (before, after) = (cut.before as f64 / size, after as f64 / size - 0.5);
            let trip = record.rounds[i.saturating_sub(1)].trip;
            let path = base as f64 / trip.max(1) as f64;
            out.push(Cut { cause: cut.cause, before, after, alpha, path });
        }
        if round.acked > 0 {
            alpha += GAIN * (round.marked as f64 / round.acked as f64 - alpha);
        }
    }
    out
}

/// The window of CUBIC as Linux has it, from the end of a reduction.
struct Cubic {
    window: f64,
    friendly: f64,
    origin: f64,
    k: f64,
    t: f64,
}

impl Cubic {
    fn new(window: f64, most: f64, base: u64) -> Self {
        let origin = most.max(window);
        let k = ((origin - window) / CUBIC_C).cbrt();
        Self { window, friendly: window, origin, k, t: base as f64 / 1e9 }
    }

    /// Adds a time in which `turns` windows were acknowledged.
    fn advance(&mut self, turns: f64, ns: u64) {
        self.friendly += turns * CUBIC_FRIENDLY;
        self.t += ns as f64 / 1e9;
        let target = self.origin + CUBIC_C * (self.t - self.k).powi(3);
        let grown = (target.max(self.friendly) - self.window).clamp(0.0, self.window / 2.0);
        self.window += grown * turns.min(1.0);
    }
}

pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}
