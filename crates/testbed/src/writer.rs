//! Write times of a flow's application, by the simulator's rules and random draws.

use lowtide_sim::{Rng, Seed};
use lowtide_traffic::{Flow, WritePattern};
use lowtide_units::{Bytes, Duration, Instant};

/// Practically unlimited.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// Write state of one flow's application.
#[derive(Clone, Debug)]
pub(crate) struct FlowWriter {
    source: WritePattern,
    start: Instant,
    /// Bytes that the application has written or would write if the socket accepted them.
    requested: u64,
    /// Bytes that the socket has accepted.
    accepted: u64,
    total: u64,
    /// Time of the next write, if known.
    next: Option<Instant>,
    rng: Rng,
}

impl FlowWriter {
    pub(crate) fn new(flow: &Flow, number: u32, start: Instant, seed: u64) -> Self {
        Self {
            source: flow.write_pattern,
            start,
            requested: 0,
            accepted: 0,
            total: flow.size.map_or(UNLIMITED_BYTES, Bytes::as_u64),
            next: Some(start),
            rng: Seed::derive(seed, "flow", number.into(), "writes").rng(),
        }
    }

    /// Bytes to write into the socket by `now`.
    pub(crate) fn due(&mut self, now: Instant) -> u64 {
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.write(at);
        }
        self.requested - self.accepted
    }

    /// Writes at `at`.
    fn write(&mut self, at: Instant) {
        if let WritePattern::BulkFor { duration: lasts } = self.source {
            self.write_for(lasts);
            return;
        }
        let most = match self.source {
            WritePattern::Bulk | WritePattern::BulkFor { .. } => self.total,
            WritePattern::OnOff { burst, .. } => burst.as_u64(),
            WritePattern::Rate { write, .. } => write.as_u64(),
        };
        self.requested = self.requested.saturating_add(most.max(1)).min(self.total);
        self.next = match self.source {
            _ if self.requested == self.total => None,
            WritePattern::Bulk | WritePattern::BulkFor { .. } | WritePattern::OnOff { .. } => None,
            // Relative to the start, so that rounding errors do not accumulate.
            WritePattern::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.requested)))
            }
            WritePattern::Rate { rate, write, poisson: true } => {
                Some(at + self.rng.exponential(rate.serialization(write)))
            }
        };
    }

    /// Writes as much as the socket accepts until the end of `lasts`.
    fn write_for(&mut self, lasts: Duration) {
        if self.requested == 0 {
            self.requested = self.total;
            self.next = Some(self.start + lasts);
        } else {
            (self.requested, self.total) = (self.accepted, self.accepted);
            self.next = None;
        }
    }

    /// Records that the socket has accepted `bytes`.
    pub(crate) fn on_accepted(&mut self, bytes: u64) {
        self.accepted += bytes;
    }

    /// True if everything is in the socket.
    pub(crate) fn is_finished(&self) -> bool {
        self.accepted == self.total
    }

    /// True if it waits until the peer has acknowledged everything.
    pub(crate) fn waits_for_acks(&self) -> bool {
        let paused =
            self.next.is_none() && self.requested < self.total && self.accepted == self.requested;
        paused && matches!(self.source, WritePattern::OnOff { .. })
    }

    /// Everything was acknowledged, as observed at `now`.
    pub(crate) fn acknowledged(&mut self, now: Instant) {
        if let WritePattern::OnOff { pause, .. } = self.source {
            self.next = Some(now + pause);
        }
    }

    /// Time of the next write, if known.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }
}

/// Interval at which a flow with pauses checks for acknowledgements.
pub(crate) const ACK_POLL_INTERVAL: Duration = Duration::from_ms(2);

#[cfg(test)]
mod tests {
    use lowtide_units::Rate;

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn of(source: WritePattern, size: u64) -> FlowWriter {
        let size = Some(Bytes::new(size));
        let flow =
            Flow { group: 0, src: 0, dst: 1, size, start: Instant::ZERO, write_pattern: source };
        FlowWriter::new(&flow, 0, at_ms(1), 7)
    }

    #[test]
    fn all_at_once_is_due_at_the_start() {
        let mut writer = of(WritePattern::Bulk, 5000);
        assert_eq!((writer.due(Instant::ZERO), writer.next()), (0, Some(at_ms(1))));
        assert_eq!((writer.due(at_ms(1)), writer.next()), (5000, None));
        writer.on_accepted(5000);
        assert!(writer.is_finished() && writer.due(at_ms(9)) == 0);
    }

    #[test]
    fn a_stopped_source_ends_at_the_accepted_bytes() {
        let mut writer =
            of(WritePattern::BulkFor { duration: Duration::from_ms(5) }, UNLIMITED_BYTES);
        assert_eq!((writer.due(at_ms(1)), writer.next()), (UNLIMITED_BYTES, Some(at_ms(6))));
        writer.on_accepted(70_000);
        assert!(writer.due(at_ms(5)) > 0 && !writer.is_finished());
        assert_eq!((writer.due(at_ms(6)), writer.next()), (0, None));
        assert!(writer.is_finished());
    }

    #[test]
    fn a_rate_is_kept_from_the_start() {
        let (rate, write) = (Rate::from_bps(8_000_000).unwrap(), Bytes::new(1000));
        let mut writer = of(WritePattern::Rate { rate, write, poisson: false }, 2500);
        assert_eq!(writer.due(at_ms(1)), 1000);
        assert_eq!(writer.next(), Some(at_ms(2)));
        assert_eq!((writer.due(at_ms(9)), writer.next()), (2500, None));
    }

    #[test]
    fn a_pause_begins_when_all_is_acknowledged() {
        let (burst, pause) = (Bytes::new(1000), Duration::from_ms(5));
        let mut writer = of(WritePattern::OnOff { burst, pause }, 1500);
        assert_eq!(writer.due(at_ms(1)), 1000);
        assert!(!writer.waits_for_acks());
        writer.on_accepted(1000);
        assert!(writer.waits_for_acks());
        writer.acknowledged(at_ms(3));
        assert_eq!((writer.due(at_ms(7)), writer.next()), (0, Some(at_ms(8))));
        assert_eq!((writer.due(at_ms(8)), writer.is_finished()), (500, false));
    }
}
