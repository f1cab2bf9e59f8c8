//! Bytes of a flow that its application writes into a socket, by [`WriteSchedule`].

use lowtide_traffic::{Flow, Write, WriteSchedule};
use lowtide_units::{Duration, Instant};

/// Write state of one flow's application.
#[derive(Clone, Debug)]
pub(crate) struct FlowWriter {
    schedule: WriteSchedule,
    /// Bytes that the application has written or would write if the socket accepted them.
    requested: u64,
    /// Bytes that the socket has accepted.
    accepted: u64,
}

impl FlowWriter {
    pub(crate) fn new(flow: &Flow, number: u32, start: Instant, seed: u64) -> Self {
        let schedule = WriteSchedule::new(flow, number.into(), start, seed);
        Self { schedule, requested: 0, accepted: 0 }
    }

    /// Bytes to write into the socket by `now`.
    pub(crate) fn due(&mut self, now: Instant) -> u64 {
        while let Some(at) = self.schedule.next().filter(|at| *at <= now) {
            match self.schedule.write(at) {
                Write::Bytes(n) => self.requested += n,
                Write::Stop => self.requested = self.accepted,
            }
        }
        self.requested - self.accepted
    }

    /// Records that the socket has accepted `bytes`.
    pub(crate) fn on_accepted(&mut self, bytes: u64) {
        self.accepted += bytes;
    }

    /// True if everything is in the socket.
    pub(crate) fn is_finished(&self) -> bool {
        self.schedule.is_complete() && self.accepted == self.requested
    }

    /// True if it waits until the peer has acknowledged everything.
    pub(crate) fn waits_for_acks(&self) -> bool {
        self.schedule.waits_for_acks() && self.accepted == self.requested
    }

    /// Everything was acknowledged, as observed at `now`.
    pub(crate) fn acknowledged(&mut self, now: Instant) {
        self.schedule.acknowledged(now);
    }

    /// Time of the next write, if known.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.schedule.next()
    }
}

/// Interval at which a flow with pauses checks for acknowledgements.
pub(crate) const ACK_POLL_INTERVAL: Duration = Duration::from_ms(2);

#[cfg(test)]
mod tests {
    use lowtide_traffic::{UNLIMITED_BYTES, WritePattern};
    use lowtide_units::{Bytes, Rate};

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn of(write_pattern: WritePattern, size: u64) -> FlowWriter {
        let size = Some(Bytes::new(size));
        let flow = Flow { group: 0, src: 0, dst: 1, size, start: Instant::ZERO, write_pattern };
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
