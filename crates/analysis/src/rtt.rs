//! Round trips from the capture to one end.

use std::collections::VecDeque;

use lowtide_units::{LogHistogram, Quantile};

/// TSvals of one end that wait for their echo.
const MAX_PENDING_TSVALS: usize = 1024;

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
