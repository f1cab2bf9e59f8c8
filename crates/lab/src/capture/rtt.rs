//! Round trips from the place of the capture to one end and back.

use std::collections::VecDeque;

use lowtide_record::Quantile;

use super::histogram::LogHistogram;

/// Clock values of one end that have not been echoed yet.
const MAX_PENDING_TSVALS: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(super) struct PathRtt {
    /// From data to the ACK that covers it; not from data that was sent again (Karn).
    pub(super) by_ack: LogHistogram,
    /// From a timestamp to its echo.
    pub(super) by_timestamp: LogHistogram,
    /// Of ACKs after which other data was still under way: no timer of the receiver is in them.
    srtt_without_delack: Option<u64>,
    srtt: Option<u64>,
    latest: Option<u32>,
    median: Option<u64>,
    values: VecDeque<(u32, u64)>,
}

impl PathRtt {
    /// An ACK told of a round trip; `lone`: nothing is under way any more.
    pub(super) fn on_ack(&mut self, rtt: u64, lone: bool) {
        self.by_ack.add(rtt);
        // RFC 6298 §2.
        let smooth = |old: Option<u64>| Some(old.map_or(rtt, |s| s - s / 8 + rtt / 8));
        self.srtt = smooth(self.srtt);
        if !lone {
            self.srtt_without_delack = smooth(self.srtt_without_delack);
        }
    }

    /// This end sent a timestamp.
    pub(super) fn on_tsval(&mut self, time: u64, value: u32) {
        if self.latest.is_none_or(|last| value.wrapping_sub(last).cast_signed() > 0) {
            self.latest = Some(value);
            if self.values.len() >= MAX_PENDING_TSVALS {
                self.values.pop_front();
            }
            self.values.push_back((value, time));
        }
    }

    /// The other end echoed it.
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

    /// The least of both kinds, nanoseconds.
    pub(super) fn min(&self) -> Option<u64> {
        [self.by_ack.min(), self.by_timestamp.min()].into_iter().flatten().min()
    }

    /// A usual one by timestamps.
    pub(super) fn median_by_timestamp(&self) -> Option<u64> {
        self.median
    }

    /// What an ACK takes that no timer holds back.
    pub(super) fn rtt_without_delack(&self) -> Option<u64> {
        self.srtt_without_delack.max(self.min())
    }

    pub(super) fn srtt(&self) -> Option<u64> {
        self.srtt
    }
}
