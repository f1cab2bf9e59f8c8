//! Timers that fire at the ticks of a free-running clock.
//!
//! Contract: at a host with a tick, a TCP timer fires at the first tick at or after its deadline.
//! Ticks have a constant period and a random phase per host, so that the ticks of hosts do not
//! coincide. A timeout of `T` takes at least `T` and less than `T` plus a tick. Pacing, interrupts,
//! burst control and applications have no ticks.
//!
//! The switch `rto-granularity` is different: it makes retransmission timeouts multiples of a unit,
//! each counted from its own start. With both, a timeout is first rounded up and then waits for the
//! tick. Systems that count the current tick as a whole one fire up to a tick earlier.

use lowtide_sim::Seed;
use lowtide_tcp::Connection;
use lowtide_units::{Duration, Instant};

/// The ticks of one host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerTick {
    length: Duration,
    /// Time of the first tick; less than the length.
    phase: Duration,
}

impl TimerTick {
    /// Returns ticks of that length at host number `host` in the run with that seed; `None` for a
    /// length of zero.
    pub(crate) fn new(length: Duration, run_seed: u64, host: u64) -> Option<Self> {
        let mut rng = Seed::derive(run_seed, "host", host, "timer tick").rng();
        (length > Duration::ZERO).then(|| Self { length, phase: rng.duration_below(length) })
    }

    /// Returns the first tick at or after `at`.
    fn next(&self, at: Instant) -> Instant {
        let phase = Instant::ZERO + self.phase;
        phase + at.saturating_since(phase).round_up_to(self.length)
    }

    /// Returns the time of the connection's next timer or pacer event.
    pub(crate) fn deadline(&self, conn: &Connection) -> Option<Instant> {
        let tick = conn.poll_timers().map(|at| self.next(at));
        tick.into_iter().chain(conn.poll_pacer()).min()
    }

    /// Returns true if a timer is due at this tick; otherwise only pacing is.
    pub(crate) fn is_due(&self, now: Instant, conn: &Connection) -> bool {
        conn.poll_timers().is_some_and(|at| self.next(at) <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_ms(1);

    #[test]
    fn a_deadline_waits_for_the_first_tick_at_or_after_it() {
        let tick = TimerTick { length: MS * 10, phase: MS * 3 };
        for (at, fires) in [(0, 3), (3, 3), (4, 13), (13, 13), (14, 23), (1_000, 1_003)] {
            assert_eq!(tick.next(Instant::ZERO + MS * at), Instant::ZERO + MS * fires, "{at}");
        }
    }

    #[test]
    fn phases_are_drawn_per_host_over_the_whole_length() {
        let phase = |seed, host| TimerTick::new(MS * 10, seed, host).unwrap().phase;
        let all: Vec<Duration> = (0..100).map(|host| phase(7, host)).collect();
        assert!(all.iter().all(|p| *p < MS * 10));
        // A hundred uniform draws leave less than a tenth of the range at either end.
        assert!(all.iter().any(|p| *p < MS) && all.iter().any(|p| *p > MS * 9));
        assert_eq!(phase(7, 3), all[3]);
        assert_ne!(phase(8, 3), all[3]);
        assert!(TimerTick::new(Duration::ZERO, 7, 3).is_none());
    }
}
