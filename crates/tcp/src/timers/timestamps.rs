//! Timestamps and PAWS (RFC 7323 §4, §5).

use lowtide_units::{Duration, Instant};
use lowtide_wire::Timestamps;

/// Age at which TS.Recent is invalid (RFC 7323 §5.5).
const STALE: Duration = Duration::from_secs(24 * 24 * 3600);

/// State of the option after negotiation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampState {
    granularity: Duration,
    base: u32,
    recent: u32,
    recent_at: Instant,
}

/// TSval at `now` on a clock that starts at `base`.
#[inline]
pub(crate) fn tick(now: Instant, granularity: Duration, base: u32) -> u32 {
    let ticks = now.as_ps() / granularity.as_ps().max(1);
    base.wrapping_add(ticks as u32)
}

impl TimestampState {
    pub(crate) const fn new(granularity: Duration, base: u32, recent: u32, now: Instant) -> Self {
        Self { granularity, base, recent, recent_at: now }
    }

    /// The option of an outgoing segment.
    #[inline]
    pub(crate) fn stamp(&self, now: Instant) -> Timestamps {
        Timestamps { value: tick(now, self.granularity, self.base), echo: self.recent }
    }

    /// PAWS: true if the segment is older than one received before.
    #[inline]
    pub(crate) fn is_old(&self, now: Instant, value: u32) -> bool {
        value.wrapping_sub(self.recent).cast_signed() < 0
            && now.saturating_since(self.recent_at) < STALE
    }

    /// True if strictly newer than the last value.
    pub(crate) const fn is_newer(&self, value: u32) -> bool {
        value.wrapping_sub(self.recent).cast_signed() > 0
    }

    /// True if equal to the last value.
    pub(crate) const fn is_same(&self, value: u32) -> bool {
        value == self.recent
    }

    /// Updates TS.Recent from an acceptable segment that starts at or before the last ACK sent (RFC
    /// 7323 §4.3 rule 2).
    #[inline]
    pub(crate) fn update(&mut self, now: Instant, value: u32) {
        if value.wrapping_sub(self.recent).cast_signed() >= 0
            || now.saturating_since(self.recent_at) >= STALE
        {
            self.recent = value;
            self.recent_at = now;
        }
    }

    /// Latest send time of the segment whose TSval is echoed; `None` if the echo is from the future
    /// and thus invalid.
    pub(crate) fn latest_send_time(&self, now: Instant, echo: u32) -> Option<Instant> {
        let granularity = self.granularity.as_ps().max(1);
        let age = tick(now, self.granularity, self.base).wrapping_sub(echo);
        let ticks = (now.as_ps() / granularity).checked_sub(u64::from(age))?;
        (age < 1 << 30).then(|| Instant::from_ps((ticks + 1).saturating_mul(granularity) - 1))
    }

    /// Round-trip time from an echo; `None` if the echo is from the future or within one tick, too
    /// coarse to measure.
    pub(crate) fn rtt(&self, now: Instant, echo: u32) -> Option<Duration> {
        self.age(now, echo).filter(|ticks| *ticks > 0).map(|ticks| self.granularity * ticks)
    }

    /// Round-trip time from an echo, at least one tick; `None` if the echo is from the future.
    pub(crate) fn rtt_at_least_a_tick(&self, now: Instant, echo: u32) -> Option<Duration> {
        self.age(now, echo).map(|ticks| self.granularity * ticks.max(1))
    }

    /// True if an echo is not from the future.
    pub(crate) fn is_past(&self, now: Instant, echo: u32) -> bool {
        self.age(now, echo).is_some()
    }

    /// Time from `earlier` to the stamp that is echoed, in whole ticks; `None` if the stamp is
    /// older.
    pub(crate) fn since(&self, earlier: Instant, echo: u32) -> Option<Duration> {
        let ticks = echo.wrapping_sub(tick(earlier, self.granularity, self.base));
        (ticks < 1 << 31).then(|| self.granularity * u64::from(ticks))
    }

    /// Ticks since the time of an echo; `None` if it is in the future.
    fn age(&self, now: Instant, echo: u32) -> Option<u64> {
        let ticks = tick(now, self.granularity, self.base).wrapping_sub(echo);
        (ticks < 1 << 30).then_some(u64::from(ticks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn paws_wraps() {
        let ts = TimestampState::new(Duration::from_ms(1), 0, u32::MAX - 5, at_ms(0));
        assert!(!ts.is_old(at_ms(1), 3), "just past the wrap is newer");
        assert!(ts.is_old(at_ms(1), u32::MAX - 6));
        assert!(!ts.is_old(at_ms(0) + STALE, u32::MAX - 6), "too long ago to judge");
    }

    #[test]
    fn recent_never_goes_back() {
        let mut ts = TimestampState::new(Duration::from_ms(1), 0, 100, at_ms(0));
        ts.update(at_ms(1), 99);
        assert_eq!(ts.stamp(at_ms(7)), Timestamps { value: 7, echo: 100 });
        ts.update(at_ms(1), 101);
        assert_eq!(ts.stamp(at_ms(7)).echo, 101);
    }

    #[test]
    fn echo_gives_whole_ticks_and_refuses_nonsense() {
        let ts = TimestampState::new(Duration::from_ms(1), u32::MAX, 0, at_ms(0));
        assert_eq!(
            ts.rtt(at_ms(10), tick(at_ms(4), Duration::from_ms(1), u32::MAX)),
            Some(Duration::from_ms(6))
        );
        assert_eq!(ts.rtt(at_ms(10), tick(at_ms(10), Duration::from_ms(1), u32::MAX)), None);
        assert_eq!(ts.rtt(at_ms(10), tick(at_ms(12), Duration::from_ms(1), u32::MAX)), None);
    }
}
