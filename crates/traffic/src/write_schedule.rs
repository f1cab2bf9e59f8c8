//! The writes of one flow's application: how many bytes, and when.

use lowtide_sim::{Rng, Seed};
use lowtide_units::{Bytes, Instant};

use crate::{Flow, WritePattern};

/// Size of a flow without a size, practically unlimited: 2^60 B take a century at 3 Tbit/s.
pub const UNLIMITED_BYTES: u64 = 1 << 60;

/// One action of the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// Writes this many bytes.
    Bytes(u64),
    /// Stops: bytes that are not in the send buffer yet are not sent.
    Stop,
}

/// The writes of a flow by its [`WritePattern`], in order. All applications that write the flow use
/// it, in the simulator and over real sockets.
#[derive(Clone, Debug)]
pub struct WriteSchedule {
    pattern: WritePattern,
    /// Time of the first write.
    start: Instant,
    written: u64,
    /// Bytes that may be written, with [`WritePattern::OnReceipt`].
    granted: u64,
    total: u64,
    next: Option<Instant>,
    rng: Rng,
}

impl WriteSchedule {
    /// The writes of flow `number`, from `start` on. Poisson arrivals are drawn from the run's
    /// seed.
    pub fn new(flow: &Flow, number: u64, start: Instant, run_seed: u64) -> Self {
        Self {
            pattern: flow.write_pattern,
            start,
            written: 0,
            granted: 0,
            total: flow.size.map_or(UNLIMITED_BYTES, Bytes::as_u64),
            next: (flow.write_pattern != WritePattern::OnReceipt).then_some(start),
            rng: Seed::derive(run_seed, "flow", number, "writes").rng(),
        }
    }

    /// Time of the next write. `None` at the end, and while the application waits for
    /// acknowledgements.
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Makes the write that is due at `at`.
    pub fn write(&mut self, at: Instant) -> Write {
        let most = match self.pattern {
            WritePattern::BulkFor { .. } if self.written == self.total => {
                self.next = None;
                return Write::Stop;
            }
            WritePattern::Bulk | WritePattern::BulkFor { .. } => self.total,
            WritePattern::OnOff { burst, .. } => burst.as_u64(),
            WritePattern::OnReceipt => self.granted - self.written,
            WritePattern::Rate { write, .. } => write.as_u64(),
        };
        let bytes = most.min(self.total - self.written);
        self.written += bytes;
        self.next = match self.pattern {
            WritePattern::BulkFor { duration } => Some(self.start + duration),
            _ if self.written == self.total => None,
            WritePattern::Bulk | WritePattern::OnOff { .. } | WritePattern::OnReceipt => None,
            // Relative to the start, so that rounding errors do not accumulate.
            WritePattern::Rate { rate, poisson: false, .. } => {
                Some(self.start + rate.serialization(Bytes::new(self.written)))
            }
            WritePattern::Rate { rate, write, poisson: true } => {
                Some(at + self.rng.exponential(rate.serialization(write)))
            }
        };
        Write::Bytes(bytes)
    }

    /// Allows further bytes to be written, with [`WritePattern::OnReceipt`].
    pub const fn grant(&mut self, bytes: u64) {
        self.granted += bytes;
    }

    /// Bytes of all writes so far.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// True after the last write.
    pub const fn is_complete(&self) -> bool {
        self.next.is_none() && self.written == self.total
    }

    /// True if the next write follows the acknowledgement of everything written.
    pub const fn waits_for_acks(&self) -> bool {
        let is_on_off = matches!(self.pattern, WritePattern::OnOff { .. });
        is_on_off && self.next.is_none() && self.written < self.total
    }

    /// Everything was acknowledged at `now`. Returns the time of the next write.
    pub fn acknowledged(&mut self, now: Instant) -> Option<Instant> {
        if let WritePattern::OnOff { pause, .. } = self.pattern
            && self.waits_for_acks()
        {
            self.next = Some(now + pause);
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use lowtide_units::{Duration, Rate};

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    fn of(write_pattern: WritePattern, size: Option<u64>) -> WriteSchedule {
        let (start, size) = (Instant::ZERO, size.map(Bytes::new));
        let flow = Flow { group: 0, src: 0, dst: 1, size, start, write_pattern };
        WriteSchedule::new(&flow, 0, at_ms(1), 7)
    }

    /// All writes until the end, or until it waits for acknowledgements.
    fn writes(schedule: &mut WriteSchedule) -> Vec<(Instant, Write)> {
        let next = || schedule.next().map(|at| (at, schedule.write(at)));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn bulk_is_one_write_and_bulk_for_stops() {
        let mut bulk = of(WritePattern::Bulk, Some(5000));
        assert!(!bulk.is_complete());
        assert_eq!(writes(&mut bulk), [(at_ms(1), Write::Bytes(5000))]);
        assert!(bulk.is_complete());
        let mut stopped = of(WritePattern::BulkFor { duration: Duration::from_ms(5) }, None);
        assert_eq!(stopped.write(at_ms(1)), Write::Bytes(UNLIMITED_BYTES));
        assert!(!stopped.is_complete());
        assert_eq!(writes(&mut stopped), [(at_ms(6), Write::Stop)]);
        assert!(stopped.is_complete());
    }

    #[test]
    fn a_rate_is_kept_from_the_start() {
        let (rate, write) = (Rate::from_bps(8_000_000).unwrap(), Bytes::new(1000));
        let mut paced = of(WritePattern::Rate { rate, write, poisson: false }, Some(2500));
        let expected = [(1, 1000), (2, 1000), (3, 500)];
        let expected = expected.map(|(ms, n)| (at_ms(ms), Write::Bytes(n)));
        assert_eq!(writes(&mut paced), expected);
        assert!(paced.is_complete());
        let poisson = WritePattern::Rate { rate, write, poisson: true };
        let all = writes(&mut of(poisson, Some(1_000_000)));
        let (first, last) = (all[0].0, all[999].0);
        let mean = last.saturating_since(first).as_us() / 999;
        assert!(all.len() == 1000 && (900..1100).contains(&mean), "{mean} us");
    }

    #[test]
    fn a_pause_begins_when_all_is_acknowledged() {
        let (burst, pause) = (Bytes::new(1000), Duration::from_ms(5));
        let mut bursts = of(WritePattern::OnOff { burst, pause }, Some(1500));
        assert_eq!(writes(&mut bursts), [(at_ms(1), Write::Bytes(1000))]);
        assert!(bursts.waits_for_acks() && bursts.written() == 1000);
        assert_eq!(bursts.acknowledged(at_ms(3)), Some(at_ms(8)));
        assert!(!bursts.waits_for_acks());
        assert_eq!(writes(&mut bursts), [(at_ms(8), Write::Bytes(500))]);
        assert_eq!((bursts.acknowledged(at_ms(9)), bursts.is_complete()), (None, true));
    }
}
