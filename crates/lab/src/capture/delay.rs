//! Round trips from the place of the capture to one end and back.

use std::collections::VecDeque;

use super::histogram::Histogram;

/// Clock values of one end that have not been echoed yet.
const MOST_VALUES: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// From data to the ACK that covers it; not from data that was sent again (Karn).
    pub(super) by_ack: Histogram,
    /// From a timestamp to its echo.
    pub(super) by_timestamp: Histogram,
    smoothed: Option<u64>,
    values: VecDeque<(u32, u64)>,
}

impl Delays {
    pub(super) fn acknowledged(&mut self, rtt: u64) {
        self.by_ack.add(rtt);
        // RFC 6298 §2.
        self.smoothed = Some(self.smoothed.map_or(rtt, |s| s - s / 8 + rtt / 8));
    }

    /// This end sent a timestamp.
    pub(super) fn stamp(&mut self, time: u64, value: u32) {
        let newer = |(last, _): &(u32, u64)| value.wrapping_sub(*last).cast_signed() > 0;
        if self.values.back().is_none_or(newer) {
            if self.values.len() >= MOST_VALUES {
                self.values.pop_front();
            }
            self.values.push_back((value, time));
        }
    }

    /// The other end echoed it.
    pub(super) fn echo(&mut self, time: u64, value: u32) {
        while let Some((sent, at)) = self.values.front().copied() {
            let ahead = value.wrapping_sub(sent).cast_signed();
            if ahead < 0 {
                return;
            }
            self.values.pop_front();
            if ahead == 0 {
                self.by_timestamp.add(time.saturating_sub(at));
                return;
            }
        }
    }

    /// The least of both kinds, nanoseconds.
    pub(super) fn min(&self) -> Option<u64> {
        [self.by_ack.min(), self.by_timestamp.min()].into_iter().flatten().min()
    }

    pub(super) fn smoothed(&self) -> Option<u64> {
        self.smoothed
    }
}
