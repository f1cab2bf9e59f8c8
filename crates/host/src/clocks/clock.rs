//! A host clock, and the points on a packet's path through the host where it is read.
//!
//! Contract: at virtual time `t` a clock shows `t + offset + t * drift`, and a reading is rounded
//! down to the granularity. A stamp is a reading for one packet, taken at one of three
//! [`TimestampPoint`]s, with an error according to a [`crate::NoiseSpec`]. Stamps affect only what
//! a scheme does with them. Probes and the digest use virtual time, and so do timers, which may
//! have their own tick (`timer_tick.rs`).
//!
//! | point | sent | received |
//! |---|---|---|
//! | `hardware` | its last bit leaves the line | its last bit arrives from the line |
//! | `driver` | it is passed to the NIC, so that the packets of a burst have equal stamps | the host takes it from the NIC, after jitter and interrupt moderation |
//! | `kernel` | TCP creates it, before burst control | TCP receives it, after aggregation |
//!
//! Kernel receive stamps follow Linux, whose software stamps are taken in `netif_receive_skb`,
//! after GRO (`net/core/dev.c`, `net_timestamp_check`): an aggregate has one. Hardware stamps are
//! those of IEEE 1588, at the wire. DX §III found NICs that stamp at DMA completion: the noise
//! model `dma`.

use lowtide_sim::Seed;
use lowtide_units::{Duration, Fraction, HostStamp, Instant};

use super::noise::{Noise, NoiseSpec};
pub use super::timestamp_points::{RxTimes, TimestampPoint, TxTimes};

/// The clock of a host. The default is perfect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockSpec {
    /// Offset from virtual time at the start of the run.
    pub offset: Duration,
    /// Additional offset per host, uniform up to this, drawn from the seed.
    pub offset_spread: Duration,
    /// Relative rate error to virtual time.
    pub drift: Fraction,
    /// Variation of each host's drift, uniform within plus or minus this, drawn from the seed.
    pub drift_spread: Fraction,
    /// Its tick: readings are multiples of it. Stamps are in ns, so the minimum is 1 ns.
    pub granularity: Duration,
    /// TCP timers fire at the end of a tick of this length (`timer_tick.rs`); zero means exact.
    pub timer_tick: Duration,
    /// The timestamp point.
    pub timestamp_point: TimestampPoint,
    /// The error of the stamps.
    pub noise: NoiseSpec,
    /// Stamps that are closer than the line allows are separated (DX §III, "Error calibration").
    pub calibrate: bool,
}

impl ClockSpec {
    /// Virtual time, read at the line.
    pub const IDEAL: Self = Self {
        offset: Duration::ZERO,
        offset_spread: Duration::ZERO,
        drift: Fraction::ZERO,
        drift_spread: Fraction::ZERO,
        granularity: Duration::from_ns(1),
        timer_tick: Duration::ZERO,
        timestamp_point: TimestampPoint::Hardware,
        noise: NoiseSpec::None,
        calibrate: false,
    };
}

impl Default for ClockSpec {
    fn default() -> Self {
        Self::IDEAL
    }
}

/// A running clock.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Shows virtual time: fast path for readings.
    ideal: bool,
    /// Stamps are ideal hardware stamps: fast path for stamps.
    exact: bool,
    /// Offset at the start, in ps.
    offset: u64,
    drift: Fraction,
    granularity: Duration,
    timestamp_point: TimestampPoint,
    noise: Option<Box<Noise>>,
}

impl Clock {
    /// Returns the clock of host number `host` in the run with that seed.
    pub fn new(spec: &ClockSpec, run_seed: u64, host: u64) -> Self {
        let mut rng = Seed::derive(run_seed, "host", host, "clock").rng();
        let offset = spec.offset + rng.duration_below(spec.offset_spread);
        let spread = spec.drift_spread.as_ppb().unsigned_abs();
        let more = rng.below(2 * spread + 1).cast_signed() - spread.cast_signed();
        let drift = Fraction::from_ppb(spec.drift.as_ppb().saturating_add(more));
        let granularity = spec.granularity.max(Duration::from_ns(1));
        let tick = Duration::from_ns(1);
        let ideal = offset == Duration::ZERO && drift == Fraction::ZERO && granularity == tick;
        let noise = Noise::new(&spec.noise, Seed::derive(run_seed, "host", host, "stamps"));
        Self {
            ideal,
            exact: ideal && spec.timestamp_point == TimestampPoint::Hardware && noise.is_none(),
            offset: offset.as_ps(),
            drift,
            granularity,
            timestamp_point: spec.timestamp_point,
            noise,
        }
    }

    /// Returns true if stamps draw no random numbers.
    pub(crate) const fn is_exact(&self) -> bool {
        self.exact
    }

    /// Returns true if received packets are stamped after aggregation.
    pub(crate) const fn stamps_aggregates(&self) -> bool {
        matches!(self.timestamp_point, TimestampPoint::Kernel)
    }

    /// Returns the reading at `at`.
    #[inline]
    pub fn read(&self, at: Instant) -> HostStamp {
        if self.ideal {
            return HostStamp(at.since_start().as_ns());
        }
        self.read_ps(i128::from(at.as_ps()))
    }

    fn read_ps(&self, at: i128) -> HostStamp {
        let drifted = match self.drift {
            Fraction::ZERO => 0,
            drift => (at * i128::from(drift.as_ppb())).div_euclid(1_000_000_000),
        };
        // A clock does not show times before its start.
        let ps = u64::try_from((at + drifted + i128::from(self.offset)).max(0)).unwrap_or(u64::MAX);
        let tick = self.granularity.as_ps();
        HostStamp((ps - ps % tick) / 1_000)
    }

    /// Returns the stamp of a sent packet; call once per packet, in order of departure.
    #[inline]
    pub fn on_send(&mut self, sent: TxTimes) -> HostStamp {
        if self.exact { self.read(sent.hardware) } else { self.stamp_sent(sent) }
    }

    #[inline(never)]
    fn stamp_sent(&mut self, sent: TxTimes) -> HostStamp {
        let at = match self.timestamp_point {
            TimestampPoint::Hardware => sent.hardware,
            TimestampPoint::Driver => sent.driver,
            TimestampPoint::Kernel => sent.kernel,
        };
        match &mut self.noise {
            None => self.read(at),
            Some(noise) => {
                let shifted = noise.on_send(at, sent);
                self.read_ps(shifted)
            }
        }
    }

    /// Returns the stamp of a received packet; call once per packet, in order.
    #[inline]
    pub fn on_receive(&mut self, received: RxTimes) -> HostStamp {
        if self.exact { self.read(received.hardware) } else { self.stamp_received(received) }
    }

    #[inline(never)]
    fn stamp_received(&mut self, received: RxTimes) -> HostStamp {
        let at = match self.timestamp_point {
            TimestampPoint::Hardware => received.hardware,
            TimestampPoint::Driver => received.driver,
            TimestampPoint::Kernel => received.kernel,
        };
        match &mut self.noise {
            None => self.read(at),
            Some(noise) => {
                let shifted = noise.on_receive(at);
                self.read_ps(shifted)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(change: impl FnOnce(&mut ClockSpec)) -> Clock {
        let mut spec = ClockSpec::IDEAL;
        change(&mut spec);
        Clock::new(&spec, 1, 0)
    }

    fn at(span: Duration) -> Instant {
        Instant::ZERO + span
    }

    #[test]
    fn an_ideal_clock_shows_virtual_time_in_whole_nanoseconds() {
        let clock = clock(|_| ());
        assert_eq!(clock.read(Instant::from_ps(1_999)), HostStamp(1));
        assert_eq!(clock.read(at(Duration::from_secs(3_600))), HostStamp(3_600_000_000_000));
    }

    #[test]
    fn forty_ppm_are_forty_nanoseconds_in_a_millisecond() {
        for (ppm, gained) in [(40, 40_i64), (-40, -40), (1, 1)] {
            let clock = clock(|c| c.drift = Fraction::from_ppm(ppm));
            for ms in [1, 7, 1_000, 60_000] {
                let shown = clock.read(at(Duration::from_ms(ms))).0.cast_signed();
                let ms = ms.cast_signed();
                assert_eq!(shown - ms * 1_000_000, gained * ms, "{ppm} ppm, {ms} ms");
            }
        }
    }

    #[test]
    fn two_clocks_diverge_by_the_difference_of_drifts() {
        let (a, b) = (
            clock(|c| c.drift = Fraction::from_ppm(25)),
            clock(|c| c.drift = Fraction::from_ppm(-15)),
        );
        let difference = |t| a.read(at(t)).0 - b.read(at(t)).0;
        assert_eq!(difference(Duration::from_ms(1)), 40);
        assert_eq!(difference(Duration::from_secs(1)), 40_000);
    }

    #[test]
    fn an_offset_shifts_and_a_granularity_rounds_down() {
        let clock = clock(|c| {
            c.offset = Duration::from_secs(5);
            c.granularity = Duration::from_us(4);
        });
        assert_eq!(clock.read(Instant::ZERO), HostStamp(5_000_000_000));
        assert_eq!(clock.read(at(Duration::from_ns(3_999))), HostStamp(5_000_000_000));
        assert_eq!(clock.read(at(Duration::from_ns(4_000))), HostStamp(5_000_004_000));
    }

    #[test]
    fn hosts_differ_within_the_spreads_and_depend_on_the_seed() {
        let spec = ClockSpec {
            offset: Duration::from_secs(1),
            offset_spread: Duration::from_secs(2),
            drift: Fraction::from_ppm(10),
            drift_spread: Fraction::from_ppm(40),
            ..ClockSpec::IDEAL
        };
        let clocks: Vec<Clock> = (0..100).map(|host| Clock::new(&spec, 7, host)).collect();
        let drifts: Vec<i64> = clocks.iter().map(|c| c.drift.as_ppb()).collect();
        assert!(drifts.iter().all(|d| (-30_000..=50_000).contains(d)));
        // A hundred uniform draws leave less than a tenth of the range at either end.
        assert!(drifts.iter().any(|d| *d < -22_000) && drifts.iter().any(|d| *d > 42_000));
        let second = 1_000_000_000_000;
        assert!(clocks.iter().all(|c| (second..3 * second).contains(&c.offset)));
        assert_eq!(clocks[3].drift, Clock::new(&spec, 7, 3).drift);
        assert_ne!(clocks[3].drift, Clock::new(&spec, 8, 3).drift);
    }

    #[test]
    fn a_stamp_is_taken_at_its_point() {
        let us = |n| at(Duration::from_us(n));
        let sent = TxTimes { kernel: us(10), driver: us(20), hardware: us(30) };
        let received = RxTimes { hardware: us(40), driver: us(50), kernel: us(60) };
        for (point, out, inwards) in [
            (TimestampPoint::Hardware, 30_000, 40_000),
            (TimestampPoint::Driver, 20_000, 50_000),
            (TimestampPoint::Kernel, 10_000, 60_000),
        ] {
            let mut clock = clock(|c| c.timestamp_point = point);
            assert_eq!(clock.on_send(sent), HostStamp(out), "{point:?}");
            assert_eq!(clock.on_receive(received), HostStamp(inwards), "{point:?}");
        }
    }

    #[test]
    fn no_reading_is_before_the_start_or_wraps() {
        let slow = clock(|c| c.drift = Fraction::from_percent(-200));
        assert_eq!(slow.read(at(Duration::from_secs(1))), HostStamp(0));
        let fast = clock(|c| c.drift = Fraction::from_percent(100));
        assert_eq!(fast.read(Instant::FAR_FUTURE).0, u64::MAX / 1_000);
    }
}
