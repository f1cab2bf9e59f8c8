//! Window-limited time of a sender by round trips: whether a queue was at the bottleneck, and
//! what set the window.
//!
//! Contract: a round ends with the ACK that covers the data sent before it began. The line is full
//! in a round whose rate is near that of the bottleneck, with a queue. The bottleneck's rate is the
//! spacing of ACKs that follow closely, else the greatest sustained rate of rounds. It is known at
//! the end only, so rounds are summed by rate. A queue is in every round trip of a round: a burst
//! that queues behind itself is none.

use lowtide_units::{LogHistogram, Quantile};
use serde::Serialize;

use super::budget::State;
use super::sender::SenderRecord;

/// A queue is longer than this part of the base round trip.
const QUEUE_PART: u64 = 8;
/// Rate levels per factor of two.
const LEVELS: f64 = 4.0;
/// Levels below the bottleneck's at which the line is full: with a queue, or if a tenth of the time
/// has one. Rates of a level differ by 2^(1/4), so these are at least [`FULL_PERCENT`] of its rate.
const FULL_LEVELS: i32 = 2;
/// 2^(-3/4), percent.
pub(super) const FULL_PERCENT: u64 = 59;
/// Part of all bytes that the rounds at the greatest sustained rate and above carry, percent.
const SUSTAINED_PERCENT: u64 = 5;
/// Rounds without growth, loss, mark or queue after which no congestion window limits: slow start
/// would have doubled it each time, congestion avoidance added half a segment (RFC 9438 §4.3).
const PLATEAU_ROUNDS: u32 = 16;
/// Segments by which a flight varies that does not grow.
const PLATEAU_SEGMENTS: u64 = 3;
/// A round in which the flight grew by this percentage is one of slow start: it doubles the window,
/// and with delayed ACKs counted as one adds half (RFC 5681 §3.1).
const SLOW_START_PERCENT: u64 = 40;
/// A round in which the flight grew by at most this percentage, or by one segment and a half, is
/// one of congestion avoidance (RFC 5681 §3.1, RFC 9438 §4.2).
const AVOIDANCE_PERCENT: u64 = 10;
/// Rounds after an ECE in which the window is that of the reduction.
const ECE_ROUNDS: u32 = 16;

/// Reason of the sender's window in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WindowPhase {
    /// It grew from its initial value.
    Growth,
    AfterLoss,
    AfterEce,
    Other,
}

/// Window-limited time of rounds by what set the window, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTime {
    sender: [u64; 4],
    receiver: u64,
    recovery: u64,
}

/// Rounds at one rate: bytes, nanoseconds, and the time without and with a queue.
#[derive(Clone, Copy, Debug, Default)]
struct RateLevel {
    level: i32,
    bytes: u64,
    ns: u64,
    time: [RoundTime; 2],
}

/// Rounds in which the window grew from its initial value, by the growth of the flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct GrowthRounds {
    pub(super) rounds: u64,
    pub(super) slow_start: u64,
    pub(super) avoidance: u64,
    /// The greatest flight of the first and the last of them.
    pub(super) first_bytes: u64,
    pub(super) last_bytes: u64,
}

impl GrowthRounds {
    fn add(&mut self, flight: u64, mss: u64) {
        if self.rounds == 0 {
            self.first_bytes = flight;
        } else {
            let (before, added) = (self.last_bytes, flight.saturating_sub(self.last_bytes));
            let few = added * 2 <= mss * 3;
            self.avoidance +=
                u64::from(flight >= before && (few || added * 100 <= before * AVOIDANCE_PERCENT));
            self.slow_start += u64::from(!few && added * 100 >= before * SLOW_START_PERCENT);
        }
        self.rounds += 1;
        self.last_bytes = flight;
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    began: Option<(u64, u64)>,
    /// The round ends with the ACK of this offset.
    end: u64,
    sender: u64,
    receiver: u64,
    recovery: u64,
    flight: u64,
    /// The flight when the plateau began.
    plateau_flight: u64,
    /// Least round trip of the path in this round.
    least_trip: Option<u64>,
    plateau: (u32, u64),
    pub(super) growth: GrowthRounds,
    since_ece: Option<u32>,
    after_loss: bool,
    levels: Vec<RateLevel>,
    /// Window-limited time that a plateau of the flight assigns to the application.
    pub(super) plateau_ns: u64,
    /// Bytes and nanoseconds of ACKs within a quarter of a round trip, which includes clusters.
    spaced: (u64, u64),
    /// Nanoseconds per kilobyte between ACKs within an eighth of a round trip.
    spacing: LogHistogram,
    last_ack: u64,
    /// Round trips of the path, one per round.
    pub(super) round_trips: LogHistogram,
    /// Window-limited time, its part in a queue, and its sum of round trips.
    window_ns: f64,
    queue_ns: f64,
    trip_ns: f64,
    pub(super) record: SenderRecord,
}

/// Window-limited time by cause, nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(super) struct WindowTimes {
    /// The line was full: in time of the sender's window, the receive window, and recovery.
    pub(super) full_sender_ns: u64,
    pub(super) full_receiver_ns: u64,
    pub(super) full_recovery_ns: u64,
    /// The line was not full, and the window grew, or had been reduced.
    pub(super) growth_ns: u64,
    pub(super) after_loss_ns: u64,
    pub(super) after_ece_ns: u64,
    pub(super) other_ns: u64,
    /// Greatest sustained rate.
    pub(super) bytes_per_second: u64,
    /// Rate of the bottleneck, with which the line is full: by the spacing of ACKs, else the
    /// greatest sustained rate.
    pub(super) line_bytes_per_second: u64,
}

impl Rounds {
    pub(super) fn on_time(&mut self, state: State, ns: u64) {
        match state {
            State::SenderWindow => self.sender += ns,
            State::ReceiveWindow | State::ZeroWindow => {
                self.receiver += ns;
                self.record.on_idle(ns);
            }
            State::Recovery | State::Timeout => self.recovery += ns,
            _ => self.record.on_idle(ns),
        }
    }

    pub(super) fn on_flight(&mut self, flight: u64) {
        self.flight = self.flight.max(flight);
    }

    pub(super) fn on_loss(&mut self) {
        self.after_loss = true;
        self.plateau = (0, 0);
    }

    pub(super) fn on_ece(&mut self) {
        self.since_ece = Some(0);
    }

    /// Adds a round trip of the path.
    pub(super) fn on_trip(&mut self, trip: u64) {
        self.least_trip = Some(self.least_trip.map_or(trip, |least| least.min(trip)));
    }

    /// Processes an ACK that arrived `time` at the capture.
    pub(super) fn on_spacing(&mut self, time: u64, newly: u64, trip: Option<(u64, u64)>) {
        let gap = time.saturating_sub(std::mem::replace(&mut self.last_ack, time));
        let Some((now, _)) = trip else { return };
        if gap > 0 && gap < now / 4 && newly > 0 {
            let (bytes, ns) = &mut self.spaced;
            (*bytes, *ns) = (*bytes + newly, *ns + gap);
            if gap < now / 8 {
                self.spacing.add(gap.saturating_mul(1_000) / newly);
            }
        }
    }

    /// Processes an ACK of all data below `ack`; `highest` is the end of the data sent.
    /// `trip` is the path's round trip with its base. A recovery is one round.
    pub(super) fn on_ack(
        &mut self,
        (time, ack): (u64, u64),
        highest: u64,
        trip: Option<(u64, u64)>,
        mss: u64,
        recovering: bool,
    ) {
        let Some((began, from)) = self.began else {
            self.began = Some((time, ack));
            self.end = highest;
            return;
        };
        let (base, now) = trip.map_or((0, 0), |(now, base)| (base, now.max(base)));
        if ack < self.end || recovering || time.saturating_sub(began) < now / 4 * 3 {
            return;
        }
        let (ns, bytes) = (time.saturating_sub(began), ack.saturating_sub(from));
        self.record.end(time, ns, now);
        let queue = now - base;
        let standing = self.least_trip.take().map_or(0, |least| least.saturating_sub(base));
        let queued = standing > base / QUEUE_PART;
        let phase = match self.since_ece {
            Some(0..ECE_ROUNDS) => WindowPhase::AfterEce,
            _ if self.after_loss => WindowPhase::AfterLoss,
            _ if self.plateau.0 < PLATEAU_ROUNDS => WindowPhase::Growth,
            _ => WindowPhase::Other,
        };
        if phase == WindowPhase::Growth && self.flight > 0 {
            self.growth.add(self.flight, mss);
        }
        if trip.is_some() {
            self.round_trips.add(now);
            let limited = (self.sender + self.receiver) as f64;
            self.window_ns += limited;
            self.queue_ns += limited * queue as f64 / now.max(1) as f64;
            self.trip_ns += limited * now as f64;
        }
        let (sender, receiver, recovery) = (self.sender, self.receiver, self.recovery);
        let entry = self.level(level_of(bytes.max(1) as f64 * 1e9 / ns.max(1) as f64));
        entry.bytes += bytes;
        entry.ns += ns;
        let slot = &mut entry.time[usize::from(queued)];
        slot.sender[phase as usize] += sender;
        slot.receiver += receiver;
        slot.recovery += recovery;
        self.on_plateau(queued || phase == WindowPhase::AfterEce, mss);
        self.since_ece = self.since_ece.map(|n| n.saturating_add(1));
        (self.sender, self.receiver, self.recovery, self.flight) = (0, 0, 0, 0);
        self.began = Some((time, ack));
        self.end = highest;
    }

    /// Returns the mean round trip in window-limited time, nanoseconds, and the queue's percentage.
    pub(super) fn mean_trip(&self) -> Option<(u64, f64)> {
        let all = self.window_ns;
        (all > 0.0).then(|| ((self.trip_ns / all) as u64, self.queue_ns / all * 100.0))
    }

    /// Returns the bottleneck's rate by the spacing of ACKs, bytes per second.
    pub(super) fn spacing_rate(&self) -> Option<u64> {
        let median = self.spacing.quantile(Quantile::P50).filter(|ns| *ns > 0)?;
        Some(1_000_000_000_000 / median)
    }

    fn level(&mut self, level: i32) -> &mut RateLevel {
        let at = self.levels.binary_search_by_key(&level, |l| l.level).unwrap_or_else(|at| {
            self.levels.insert(at, RateLevel { level, ..RateLevel::default() });
            at
        });
        &mut self.levels[at]
    }

    /// Assigns the time of a flight that does not grow although nothing reduces it.
    fn on_plateau(&mut self, disturbed: bool, mss: u64) {
        let flat = self.flight.abs_diff(self.plateau_flight) <= PLATEAU_SEGMENTS * mss;
        if disturbed || self.after_loss || !flat {
            (self.plateau, self.plateau_flight) = ((0, 0), self.flight);
            return;
        }
        let (rounds, pending) = &mut self.plateau;
        *rounds += 1;
        *pending += self.sender;
        if *rounds >= PLATEAU_ROUNDS {
            self.plateau_ns += std::mem::take(pending);
        }
    }

    /// Returns the window-limited time by cause.
    pub(super) fn window_times(&self) -> WindowTimes {
        let all: u64 = self.levels.iter().map(|l| l.bytes).sum();
        let mut above = 0;
        let sustained = self.levels.iter().rev().find(|l| {
            above += l.bytes;
            above * 100 >= all * SUSTAINED_PERCENT
        });
        let Some(sustained) = sustained else { return WindowTimes::default() };
        let bytes_per_second = (sustained.bytes as f64 * 1e9 / sustained.ns.max(1) as f64) as u64;
        let (bytes, ns) = self.spaced;
        let spaced = bytes as f64 * 1e9 / ns.max(1) as f64;
        // If most ACKs report gaps, few are spaced by the line: it is no slower than the mean.
        let mean = all as f64 * 1e9 / self.levels.iter().map(|l| l.ns).sum::<u64>().max(1) as f64;
        let spaced = spaced.max(mean);
        let (line, line_bytes_per_second) = match ns {
            0 => (sustained.level, bytes_per_second),
            _ => (level_of(spaced), spaced as u64),
        };
        let window = |t: &RoundTime| t.sender.iter().sum::<u64>() + t.receiver;
        let [calm, queued] =
            [0, 1].map(|i: usize| self.levels.iter().map(|l| window(&l.time[i])).sum::<u64>());
        let mut out =
            WindowTimes { bytes_per_second, line_bytes_per_second, ..WindowTimes::default() };
        let mut phases = [0; 4];
        for l in &self.levels {
            for (time, has_queue) in l.time.iter().zip([false, true]) {
                let often = has_queue || queued.saturating_mul(10) >= calm;
                if often && l.level >= line - FULL_LEVELS {
                    out.full_sender_ns += time.sender.iter().sum::<u64>();
                    out.full_receiver_ns += time.receiver;
                    out.full_recovery_ns += time.recovery;
                } else {
                    phases.iter_mut().zip(time.sender).for_each(|(p, ns)| *p += ns);
                }
            }
        }
        [out.growth_ns, out.after_loss_ns, out.after_ece_ns, out.other_ns] = phases;
        out
    }
}

fn level_of(bytes_per_second: f64) -> i32 {
    (bytes_per_second.max(1.0).log2() * LEVELS) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_slow_start_and_of_congestion_avoidance_differ() {
        let growth = |flights: &[u64]| {
            let mut growth = GrowthRounds::default();
            for flight in flights {
                growth.add(*flight, 1000);
            }
            (growth.slow_start, growth.avoidance)
        };
        // Doubled, half more by delayed ACKs, neither, one segment, much more, a tenth, less.
        let flights = [2000, 4000, 6000, 7800, 8800, 88_000, 96_000, 90_000];
        assert_eq!(growth(&flights), (3, 2));
        assert_eq!(growth(&[10_000]), (0, 0));
    }
}
