//! The receive buffer of FreeBSD: a fixed or relative step per measured interval.
//!
//! *Release 10* (7.0 to 10.3 and 11.0; `sys/netinet/tcp_input.c` of `jcharbon/freebsd` @2d1a5402):
//! an interval begins with an ACK sent and ends with the first segment that echoes a later
//! timestamp, a round trip and up to one tick. If more than 7/8 of the buffer arrived, it grows by
//! 16 KiB. Any segment that misses header prediction starts over: a gap, a changed window, data
//! beside an ACK of data, a FIN. Without timestamps nothing grows. An interval of 1 s or more does
//! not end.
//!
//! *Release 14* (`freebsd/freebsd-src` @2bae602e): an interval lasts more than half the SRTT of the
//! receiver, in ticks. If more than 3/8 of the buffer arrived, it grows by half its size. Segments
//! that miss header prediction do not count. Timestamps are not needed. An end that only receives
//! has the SRTT of its handshake.
//!
//! Between the two, 10.4 and 11.1 wait one SRTT and add 16 KiB (`coder03/freebsd10.4` @3d3f8b11);
//! no profile has that.
//!
//! Deviation: a segment without data does not start over; in release 10 one that misses header
//! prediction does.

use lowtide_units::{Duration, Instant};

use super::Arrival;

/// `tcp_recvspace`, bytes.
pub(super) const START: u64 = 64 << 10;
/// `tcp_autorcvbuf_inc`, bytes.
const STEP: u64 = 16 << 10;
/// `hz`: an echo so much later than the start of the interval does not end it.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Interval {
    /// Until a timestamp sent later is echoed.
    Echo,
    /// Half the SRTT, in ticks.
    HalfSrtt,
}

#[derive(Debug)]
pub(super) struct FreeBsd {
    interval: Interval,
    /// `tcp_autorcvbuf_max`: `receive-buffer`, bytes.
    most: u64,
    /// `rfbuf_ts`: the time of the first ACK of this interval.
    since: Option<Instant>,
    /// `rfbuf_cnt`: bytes that arrived in this interval.
    count: u64,
}

impl FreeBsd {
    pub(super) const fn release_10(most: u64) -> Self {
        Self { interval: Interval::Echo, most, since: None, count: 0 }
    }

    pub(super) const fn release_14(most: u64) -> Self {
        Self { interval: Interval::HalfSrtt, most, since: None, count: 0 }
    }

    /// The size of the buffer in whole segments (`tcp_mss`).
    pub(super) fn established_size(&self, size: u64, mss: u32) -> u64 {
        size.next_multiple_of(u64::from(mss.max(1))).min(self.most)
    }

    pub(super) fn on_ack_sent(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// Returns the new size.
    pub(super) fn on_data(&mut self, size: u64, arrival: &Arrival) -> u64 {
        if !arrival.predicted {
            self.on_not_predicted();
            return size;
        }
        match self.interval {
            Interval::Echo => {
                let Some((ts, echo)) = arrival.echo else { return size };
                // Zero is no echo; one from the future is invalid.
                if echo == 0 || !ts.is_past(arrival.now, echo) {
                    return size;
                }
                let later = self.since.and_then(|since| ts.since(since, echo));
                if later.is_some_and(|t| Duration::ZERO < t && t < LONGEST) {
                    return self.end_interval(size, size / 8 * 7, size + STEP);
                }
            }
            Interval::HalfSrtt => {
                let tick = arrival.tick.as_ps().max(1);
                let passed = |since: Instant| arrival.now.as_ps() / tick - since.as_ps() / tick;
                let half = arrival.srtt.map_or(u64::MAX, |srtt| srtt.as_ps() / tick / 2);
                if self.since.is_some_and(|since| passed(since) > half) {
                    return self.end_interval(size, size / 2 / 4 * 3, size + size / 2);
                }
            }
        }
        self.count += u64::from(arrival.payload);
        size
    }

    /// Ends the interval: `grown` if more than `enough` bytes arrived.
    fn end_interval(&mut self, size: u64, enough: u64, grown: u64) -> u64 {
        let grows = self.count > enough && size < self.most;
        (self.since, self.count) = (None, 0);
        if grows { grown.min(self.most) } else { size }
    }

    pub(super) const fn on_not_predicted(&mut self) {
        if matches!(self.interval, Interval::Echo) {
            (self.since, self.count) = (None, 0);
        }
    }
}
