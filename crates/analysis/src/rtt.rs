//! Round trips from the capture to one end.

use std::collections::VecDeque;

use lowtide_units::{LogHistogram, Quantile};

/// TSvals of one end that wait for their echo.
const MAX_PENDING_TSVALS: usize = 1024;
/// Ticks of timestamp clocks, nanoseconds (RFC 7323 §5.4: 1 ms to 1 s; Linux counts in 1 ms).
const TICKS: [u64; 5] = [1_000_000, 4_000_000, 10_000_000, 100_000, 1_000];
/// Time after which a tick can be told.
const TICK_TIME_NS: u64 = 200_000_000;

/// Delay from an end to the capture above its least, by the end's timestamp clock.
#[derive(Clone, Debug, Default)]
struct OneWayDelay {
    first: Option<(u64, u32)>,
    /// Index of the tick among [`TICKS`], if none fits beyond them.
    tick: usize,
    now: i64,
    least: i64,
}

impl OneWayDelay {
    fn add(&mut self, time: u64, value: u32) {
        let (began, start) = *self.first.get_or_insert((time, value));
        let (elapsed, ahead) = (time.saturating_sub(began), value.wrapping_sub(start));
        if elapsed >= TICK_TIME_NS && ahead > 0 && ahead < 1 << 31 {
            let fits = |tick: &u64| (tick * u64::from(ahead)).abs_diff(elapsed) < elapsed / 5;
            let fitting = TICKS.iter().position(fits).unwrap_or(TICKS.len());
            if fitting != self.tick {
                (self.tick, self.least) = (fitting, i64::MAX);
            }
        }
        let tick = TICKS.get(self.tick).copied().unwrap_or(0).cast_signed();
        let ticks = i64::from(ahead.cast_signed());
        self.now = elapsed.cast_signed() - ticks.saturating_mul(tick);
        self.least = self.least.min(self.now);
    }

    /// Returns the delay above the least one, less the clock's resolution.
    fn queue(&self) -> Option<u64> {
        let tick = *TICKS.get(self.tick)?;
        self.first?;
        Some(self.now.saturating_sub(self.least).unsigned_abs().saturating_sub(tick))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct PathRtt {
    /// Times from data to the ACK that covers it, without retransmitted data (Karn).
    pub(super) by_ack: LogHistogram,
    /// Times from a timestamp to its echo.
    pub(super) by_timestamp: LogHistogram,
    /// Smoothed round trip of ACKs that left other data in flight, so that no delayed-ACK timer is
    /// in it.
    srtt_without_delack: Option<u64>,
    srtt: Option<u64>,
    latest: Option<u32>,
    median: Option<u64>,
    delay: OneWayDelay,
    values: VecDeque<(u32, u64)>,
}

impl PathRtt {
    /// Adds a round trip of an ACK; `lone` if nothing is in flight any more.
    pub(super) fn on_ack(&mut self, rtt: u64, lone: bool) {
        self.by_ack.add(rtt);
        // RFC 6298 §2.
        let smooth = |old: Option<u64>| Some(old.map_or(rtt, |s| s - s / 8 + rtt / 8));
        self.srtt = smooth(self.srtt);
        if !lone {
            self.srtt_without_delack = smooth(self.srtt_without_delack);
        }
    }

    /// Processes a TSval that this end sent.
    pub(super) fn on_tsval(&mut self, time: u64, value: u32) {
        self.delay.add(time, value);
        if self.latest.is_none_or(|last| value.wrapping_sub(last).cast_signed() > 0) {
            self.latest = Some(value);
            if self.values.len() >= MAX_PENDING_TSVALS {
                self.values.pop_front();
            }
            self.values.push_back((value, time));
        }
    }

    /// Processes a TSecr of the other end.
    pub(super) fn on_tsecr(&mut self, time: u64, value: u32) {
        while let Some((sent, at)) = self.values.front().copied() {
            let ahead = value.wrapping_sub(sent).cast_signed();
            if ahead < 0 {
                return;
            }
            self.values.pop_front();
            if ahead == 0 {
                self.by_timestamp.add(time.saturating_sub(at));
                let n = self.by_timestamp.count();
                if n < 16 || n.is_multiple_of(64) {
                    self.median = self
                        .by_timestamp
                        .quantile(Quantile::P50)
                        .or(self.median.max(self.by_timestamp.min()));
                }
                return;
            }
        }
    }

    /// Returns the minimum of both kinds, nanoseconds.
    pub(super) fn min(&self) -> Option<u64> {
        [self.by_ack.min(), self.by_timestamp.min()].into_iter().flatten().min()
    }

    /// Returns the present delay of this end's packets above its least, nanoseconds.
    pub(super) fn queue_to_capture(&self) -> Option<u64> {
        self.delay.queue()
    }

    /// Returns the median by timestamps, nanoseconds.
    pub(super) fn median_by_timestamp(&self) -> Option<u64> {
        self.median
    }

    /// Returns the round trip of ACKs that no timer delays, nanoseconds.
    pub(super) fn rtt_without_delack(&self) -> Option<u64> {
        self.srtt_without_delack.max(self.min())
    }

    pub(super) fn srtt(&self) -> Option<u64> {
        self.srtt
    }
}
