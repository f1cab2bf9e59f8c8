//! When the application of a flow writes, by the same rules and draws as the simulator's.

use lowtide_sim::{Rng, Seed};
use lowtide_traffic::{Flow, Source};
use lowtide_units::{Bytes, Duration, Instant};

/// As good as endless.
const BACKLOG: u64 = 1 << 60;

/// What one flow's application has written and still owes.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: Source,
    start: Instant,
    /// Bytes that the application has handed over or would, if the socket took them.
    asked: u64,
    /// Bytes that the socket has taken.
    taken: u64,
    total: u64,
    /// When it writes again, where that is known.
    next: Option<Instant>,
    rng: Rng,
}

impl Writer {
    pub(crate) fn new(flow: &Flow, number: u32, start: Instant, seed: u64) -> Self {
        Self {
            source: flow.source,
            start,
            asked: 0,
            taken: 0,
            total: flow.size.map_or(BACKLOG, Bytes::as_u64),
            next: Some(start),
            rng: Seed::derive(seed, "flow", number.into(), "writes").rng(),
        }
    }

    /// Bytes that are to go into the socket by `now`.
    pub(crate) fn due(&mut self, now: Instant) -> u64 {
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.write(at);
        }
        self.asked - self.taken
    }

    /// What is written at `at`.
    fn write(&mut self, at: Instant) {
        if let Source::Until { lasts } = self.source {
            self.until(lasts);
            return;
        }
        let most = match self.source {
            Source::AtOnce | Source::Until { .. } => self.total,
            Source::OnOff { burst, .. } => burst.as_u64(),
            Source::Rate { write, .. } => write.as_u64(),
        };
        self.asked = self.asked.saturating_add(most.max(1)).min(self.total);
        self.next = match self.source {
            _ if self.asked == self.total => None,
            Source::AtOnce | Source::Until { .. } | Source::OnOff { .. } => None,
            // From the start, so that rounding does not add up.
            Source::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.asked)))
            }
            Source::Rate { rate, write, poisson: true } => {
                Some(at + self.rng.exponential(rate.serialization(write)))
            }
        };
    }

    /// Writes as much as the socket takes, and is stopped then.
    fn until(&mut self, lasts: Duration) {
        if self.asked == 0 {
            self.asked = self.total;
            self.next = Some(self.start + lasts);
        } else {
            (self.asked, self.total) = (self.taken, self.taken);
            self.next = None;
        }
    }

    /// The socket has taken so much.
    pub(crate) fn took(&mut self, bytes: u64) {
        self.taken += bytes;
    }

    /// Everything is in the socket.
    pub(crate) fn is_through(&self) -> bool {
        self.taken == self.total
    }

    /// It waits until the peer has acknowledged everything.
    pub(crate) fn waits_for_acks(&self) -> bool {
        let paused = self.next.is_none() && self.asked < self.total && self.taken == self.asked;
        paused && matches!(self.source, Source::OnOff { .. })
    }

    /// Everything is acknowledged, as it was seen at `now`.
    pub(crate) fn acknowledged(&mut self, now: Instant) {
        if let Source::OnOff { pause, .. } = self.source {
            self.next = Some(now + pause);
        }
    }

    /// When it writes next, if it knows.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }
}

/// How often a flow with pauses looks whether all is acknowledged.
pub(crate) const LOOK: Duration = Duration::from_ms(2);

#[cfg(test)]
mod tests {
    use lowtide_units::Rate;

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn of(source: Source, size: u64) -> Writer {
        let size = Some(Bytes::new(size));
        let flow = Flow { group: 0, src: 0, dst: 1, size, start: Instant::ZERO, source };
        Writer::new(&flow, 0, at_ms(1), 7)
    }

    #[test]
    fn all_at_once_is_due_at_the_start() {
        let mut writer = of(Source::AtOnce, 5000);
        assert_eq!((writer.due(Instant::ZERO), writer.next()), (0, Some(at_ms(1))));
        assert_eq!((writer.due(at_ms(1)), writer.next()), (5000, None));
        writer.took(5000);
        assert!(writer.is_through() && writer.due(at_ms(9)) == 0);
    }

    #[test]
    fn what_is_stopped_has_written_what_the_socket_took() {
        let mut writer = of(Source::Until { lasts: Duration::from_ms(5) }, BACKLOG);
        assert_eq!((writer.due(at_ms(1)), writer.next()), (BACKLOG, Some(at_ms(6))));
        writer.took(70_000);
        assert!(writer.due(at_ms(5)) > 0 && !writer.is_through());
        assert_eq!((writer.due(at_ms(6)), writer.next()), (0, None));
        assert!(writer.is_through());
    }

    #[test]
    fn a_rate_is_kept_from_the_start() {
        let (rate, write) = (Rate::from_bps(8_000_000).unwrap(), Bytes::new(1000));
        let mut writer = of(Source::Rate { rate, write, poisson: false }, 2500);
        assert_eq!(writer.due(at_ms(1)), 1000);
        assert_eq!(writer.next(), Some(at_ms(2)));
        assert_eq!((writer.due(at_ms(9)), writer.next()), (2500, None));
    }

    #[test]
    fn a_pause_begins_when_all_is_acknowledged() {
        let (burst, pause) = (Bytes::new(1000), Duration::from_ms(5));
        let mut writer = of(Source::OnOff { burst, pause }, 1500);
        assert_eq!(writer.due(at_ms(1)), 1000);
        assert!(!writer.waits_for_acks());
        writer.took(1000);
        assert!(writer.waits_for_acks());
        writer.acknowledged(at_ms(3));
        assert_eq!((writer.due(at_ms(7)), writer.next()), (0, Some(at_ms(8))));
        assert_eq!((writer.due(at_ms(8)), writer.is_through()), (500, false));
    }
}
