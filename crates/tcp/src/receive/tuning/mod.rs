//! Automatic tuning of the receive buffer (switches `buffer-tuning` and `buffer-tuning-rule`).
//!
//! Contract: the buffer starts at the size of the rule and grows with the data that arrives, up to
//! `receive-buffer`. It never shrinks, and data without a reader does not make it grow for long.
//! The window scale follows from `receive-buffer`, since it is fixed by the SYN.
//!
//! Send buffers are not tuned. FreeBSD and Linux grow theirs with the congestion window; we assume
//! that they do not limit a sender of bulk data.

mod freebsd;
mod linux;
#[cfg(test)]
mod tests;

use lowtide_units::{Duration, Instant};

use crate::settings::config::{BufferTuning, BufferTuningRule, Config};
use crate::timers::timestamps::TimestampState;

use freebsd::FreeBsd;
use linux::Linux;

/// The receiver before a segment with data arrives, and what the segment says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) now: Instant,
    /// Bytes of payload, old ones included.
    pub(crate) payload: u32,
    /// The segment is the next in order, and nothing else has changed: the header prediction of
    /// BSD for data.
    pub(crate) predicted: bool,
    /// The timestamps in use and the value that the segment echoes.
    pub(crate) echo: Option<(TimestampState, u32)>,
    /// The tick of TSval.
    pub(crate) tick: Duration,
    /// The smoothed round trip, if this end has measured one.
    pub(crate) srtt: Option<Duration>,
    /// RCV.NXT.
    pub(crate) nxt: u64,
    /// Bytes that the application has read.
    pub(crate) consumed: u64,
}

/// The receiver after the segment was processed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AfterArrival {
    /// RCV.NXT.
    pub(crate) nxt: u64,
    /// The end of the data that waits beyond a gap.
    pub(crate) top: Option<u64>,
    /// The window of the last segment sent.
    pub(crate) window: u64,
}

#[derive(Debug)]
enum Rule {
    FreeBsd(FreeBsd),
    Linux(Linux),
}

/// The tuned size of a receive buffer.
#[derive(Debug)]
pub(crate) struct BufferTuner {
    rule: Rule,
    /// The present size, bytes.
    size: u64,
    /// Upper limit of the driver, bytes.
    limit: u64,
}

impl BufferTuner {
    /// The tuner of a new connection; `None` if its buffer is fixed.
    pub(crate) fn new(config: &Config) -> Option<Self> {
        let most = config.receive_buffer.as_u64();
        let (rule, start) = match (config.buffer_tuning, config.buffer_tuning_rule) {
            (BufferTuning::Fixed, _) | (_, BufferTuningRule::None) => return None,
            (_, BufferTuningRule::FreeBsd10) => {
                (Rule::FreeBsd(FreeBsd::release_10(most)), freebsd::START)
            }
            (_, BufferTuningRule::FreeBsd14) => {
                (Rule::FreeBsd(FreeBsd::release_14(most)), freebsd::START)
            }
            (_, BufferTuningRule::Linux) => (Rule::Linux(Linux::new(most)), linux::START),
        };
        Some(Self { rule, size: start.min(most), limit: u64::MAX })
    }

    /// The present size within the limit of the driver, bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size.min(self.limit)
    }

    /// Sets the limit of the driver, bytes.
    pub(crate) const fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// The handshake is complete.
    pub(crate) fn on_established(&mut self, now: Instant, mss: u32) {
        match &mut self.rule {
            Rule::FreeBsd(rule) => self.size = rule.established_size(self.size, mss),
            Rule::Linux(rule) => rule.on_established(now, self.size, mss),
        }
    }

    /// A segment that acknowledges everything received was sent.
    pub(crate) fn on_ack_sent(&mut self, now: Instant) {
        if let Rule::FreeBsd(rule) = &mut self.rule {
            rule.on_ack_sent(now);
        }
    }

    /// A segment with data was processed.
    pub(crate) fn on_data(&mut self, arrival: &Arrival, after: &AfterArrival) {
        self.size = match &mut self.rule {
            Rule::FreeBsd(rule) => rule.on_data(self.size, arrival),
            Rule::Linux(rule) => rule.on_data(self.size, arrival, after),
        };
    }

    /// A segment with data was refused.
    pub(crate) fn on_refused(&mut self) {
        if let Rule::FreeBsd(rule) = &mut self.rule {
            rule.on_not_predicted();
        }
    }
}
