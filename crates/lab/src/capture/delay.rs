//! Round trips from the place of the capture to one end and back.

use std::collections::VecDeque;

use lowtide_record::Quantile;

use super::histogram::Histogram;

/// Clock values of one end that have not been echoed yet.
const MOST_VALUES: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// From data to the ACK that covers it; not from data that was sent again (Karn).
    pub(super) by_ack: Histogram,
    /// From a timestamp to its echo.
    pub(super) by_timestamp: Histogram,
    /// Of ACKs after which other data was still under way: no timer of the receiver is in them.
    busy: Option<u64>,
    smoothed: Option<u64>,
    latest: Option<u32>,
    usual: Option<u64>,
    values: VecDeque<(u32, u64)>,
}

impl Delays {
    /// An ACK told of a round trip; `lone`: nothing is under way any more.
    pub(super) fn acknowledged(&mut self, rtt: u64, lone: bool) {
        self.by_ack.add(rtt);
        // RFC 6298 §2.
        let smooth = |old: Option<u64>| Some(old.map_or(rtt, |s| s - s / 8 + rtt / 8));
        self.smoothed = smooth(self.smoothed);
        if !lone {
            self.busy = smooth(self.busy);
        }
    }

    /// This end sent a timestamp.
    pub(super) fn stamp(&mut self, time: u64, value: u32) {
        if self.latest.is_none_or(|last| value.wrapping_sub(last).cast_signed() > 0) {
            self.latest = Some(value);
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
                let n = self.by_timestamp.count();
                if n < 16 || n.is_multiple_of(64) {
                    self.usual = self
                        .by_timestamp
                        .quantile(Quantile::P50)
                        .or(self.usual.max(self.by_timestamp.min()));
                }
                return;
            }
        }
    }

    /// The least of both kinds, nanoseconds.
    pub(super) fn min(&self) -> Option<u64> {
        [self.by_ack.min(), self.by_timestamp.min()].into_iter().flatten().min()
    }

    /// A usual one by timestamps.
    pub(super) fn usual_by_timestamp(&self) -> Option<u64> {
        self.usual
    }

    /// What an ACK takes that no timer holds back.
    pub(super) fn without_timer(&self) -> Option<u64> {
        self.busy.max(self.min())
    }

    pub(super) fn smoothed(&self) -> Option<u64> {
        self.smoothed
    }
}
