//! Round-trip estimation and the retransmission timeout (RFC 6298).
//!
//! Contract: it converts samples into a timeout and measures nothing. Karn's rule is the caller's
//! task (no sample from a retransmitted segment without timestamps).

use lowtide_units::{Duration, Instant};

use crate::settings::config::{Config, RtoMinApplies, RttGains, RttTicks};

/// SRTT, RTTVAR and the timeout computed from them.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    min: Duration,
    base_rto: Duration,
    /// The base RTO is a whole number of ticks.
    base_is_whole_ticks: bool,
    backoff: u16,
    /// Added to the RTO after backoff, nanoseconds; after the first sample part of the base RTO.
    slop_ns: u32,
    /// The deviation of Linux.
    deviation: Deviation,
    rto_max: Duration,
}

/// Deviation of Linux (`rtt-gains = "linux"`), microseconds times four.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    /// `mdev_us`: smoothed.
    smoothed: u32,
    /// `mdev_max_us`: its maximum in this round trip, at least the minimum of the timeout.
    most: u32,
    /// `rttvar_us`: the variance term of the timeout.
    term: u32,
    /// `rtt_seq`: the round trip ends when SND.UNA passes this offset, modulo 2^32.
    end: u32,
}

impl Deviation {
    /// `tcp_rtt_estimator`. `srtt` is the smoothed round trip before the sample `r`, `least` the
    /// minimum of the term, all in microseconds.
    fn update(&mut self, srtt: Option<u32>, r: u32, least: u32, (una, nxt): (u64, u64)) {
        let Some(srtt) = srtt else {
            let smoothed = r.saturating_mul(2);
            let most = smoothed.max(least);
            *self = Self { smoothed, most, term: most, end: nxt as u32 };
            return;
        };
        let rise = srtt.abs_diff(r).saturating_sub(self.smoothed / 4);
        // A shorter round trip raises the deviation by an eighth of that only.
        let rise = if r < srtt { rise / 8 } else { rise };
        let fall = (self.smoothed / 4).saturating_sub(srtt.abs_diff(r));
        self.smoothed = self.smoothed.saturating_add(rise).saturating_sub(fall);
        self.most = self.most.max(self.smoothed);
        self.term = self.term.max(self.most);
        if (una as u32).wrapping_sub(self.end) as i32 > 0 {
            self.term -= (self.term - self.most) / 4;
            self.end = nxt as u32;
            self.most = least;
        }
    }
}

impl RttEstimator {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            min: Duration::MAX,
            base_rto: config.rto_initial,
            base_is_whole_ticks: false,
            backoff: 0,
            slop_ns: u32::try_from(config.rto_slop.as_ns()).unwrap_or(u32::MAX),
            deviation: Deviation::default(),
            rto_max: config.rto_max,
        }
    }

    /// Adds one sample R (RFC 6298 §2.2, §2.3) and resets the backoff. `sent` is SND.UNA and
    /// SND.NXT, as offsets.
    pub(crate) fn sample(&mut self, config: &Config, r: Duration, sent: (u64, u64)) {
        let (tick, floor) = (config.rto_granularity, config.rto_min);
        self.min = self.min.min(r);
        let srtt = match self.srtt {
            _ if config.rtt_gains == RttGains::Inet => self.inet_srtt(r),
            _ if config.rtt_gains == RttGains::Linux => self.linux_srtt(r, floor, sent),
            None => {
                // FreeBSD adds one to its samples and takes it off again except here.
                let extra = config.rtt_ticks == RttTicks::FirstPlusOne;
                let r = if extra { r + config.rtt_granularity } else { r };
                self.rttvar = r / 2;
                r
            }
            Some(srtt) if config.rtt_gains == RttGains::Freebsd => {
                self.freebsd_srtt(srtt, r, config.rtt_granularity)
            }
            Some(srtt) => {
                // RTTVAR first, with the old SRTT: alpha = 1/8, beta = 1/4.
                self.rttvar = Duration::from_ps(
                    self.rttvar.as_ps() - self.rttvar.as_ps() / 4 + srtt.abs_diff(r).as_ps() / 4,
                );
                Duration::from_ps(srtt.as_ps() - srtt.as_ps() / 8 + r.as_ps() / 8)
            }
        };
        self.srtt = Some(srtt);
        let variance = tick.max(match config.rtt_gains {
            RttGains::Linux => Duration::from_us(u64::from(self.deviation.term)),
            _ => self.rttvar * 4,
        });
        let timeout = match config.rto_min_applies {
            RtoMinApplies::Timeout => (srtt + variance).max(floor),
            RtoMinApplies::Variance => srtt + variance.max(floor),
        };
        // Usually the tick is that of the last sample, so the division is skipped.
        let same = timeout <= self.base_rto && self.base_rto - timeout < tick;
        if !(same && self.base_is_whole_ticks) {
            let ticks = timeout.round_up_to(tick) + config.rto_slop;
            // With a slop it is computed anew at each sample.
            self.base_is_whole_ticks = ticks <= self.rto_max && config.rto_slop == Duration::ZERO;
            self.base_rto = ticks.min(self.rto_max);
        }
        self.backoff = 0;
    }

    /// Linux: RTTVAR falls once per round trip, and little by shorter samples. Returns SRTT.
    #[inline(never)]
    fn linux_srtt(&mut self, r: Duration, least: Duration, sent: (u64, u64)) -> Duration {
        let us = |time: Duration| u32::try_from(time.as_us()).unwrap_or(u32::MAX / 4);
        self.deviation.update(self.srtt.map(us), us(r), us(least), sent);
        self.rttvar = Duration::from_us(u64::from(self.deviation.smoothed)) / 4;
        let srtt = self.srtt.unwrap_or(r);
        Duration::from_ps(srtt.as_ps() - srtt.as_ps() / 8 + r.as_ps() / 8)
    }

    /// INET: both gains are 1/8, and there is no rule for the first sample. Returns SRTT.
    #[cold]
    #[inline(never)]
    fn inet_srtt(&mut self, r: Duration) -> Duration {
        let (srtt, rttvar) = match self.srtt {
            Some(srtt) => (srtt, self.rttvar),
            None => (Duration::ZERO, Duration::from_ms(750)),
        };
        self.rttvar = rttvar - rttvar / 8 + srtt.abs_diff(r) / 8;
        srtt - srtt / 8 + r / 8
    }

    /// FreeBSD: the gains of RFC 6298 in fixed point, each division rounded down. Returns SRTT.
    #[cold]
    #[inline(never)]
    fn freebsd_srtt(&mut self, srtt: Duration, r: Duration, tick: Duration) -> Duration {
        let (srtt_unit, rttvar_unit) = (tick / 32, tick / 16);
        if srtt_unit == Duration::ZERO {
            let change = srtt.abs_diff(r) / 4;
            self.rttvar = self.rttvar - self.rttvar / 4 + change;
            return srtt - srtt / 8 + r / 8;
        }
        let units = |time: Duration, unit: Duration| time.as_ps() / unit.as_ps();
        let (smoothed, variance) = (units(srtt, srtt_unit), units(self.rttvar, rttvar_unit));
        // In quarters of a tick: what the sample adds, what the estimate loses.
        let (gain, loss) = (4 * units(r, tick), smoothed / 8);
        self.rttvar = rttvar_unit * (variance - variance / 4 + gain.abs_diff(loss)).max(1);
        srtt_unit * (smoothed + gain - loss).max(1)
    }

    /// Doubles the timeout after an expiry (RFC 6298 §5.5).
    pub(crate) const fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Resets the backoff at an ACK of new data without a sample.
    ///
    /// RFC 6298 leaves this open (Karn's algorithm waits for a sample); Linux and FreeBSD reset at
    /// the first new ACK, and so does this code.
    pub(crate) const fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    /// The SYN was retransmitted, so the handshake gave no sample. Data starts with at least 3 s
    /// (RFC 6298 §5.7) if the configured initial timeout is the standard one.
    pub(crate) fn syn_was_retransmitted(&mut self, config: &Config) {
        self.backoff = 0;
        if self.srtt.is_none() && config.rto_initial >= Duration::from_secs(1) {
            self.base_rto = Duration::from_secs(3).min(self.rto_max);
            self.base_is_whole_ticks = false;
        }
    }

    /// The timeout, including backoff.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        if self.backoff == 0 {
            self.base_rto.min(self.rto_max)
        } else {
            self.rto_backed_off(u32::from(self.backoff))
        }
    }

    /// The timeout doubled `times` times, without its own backoff. Window probes have a separate
    /// backoff (RFC 9293 §3.8.6.1): a closed window is no congestion.
    pub(crate) fn rto_backed_off(&self, times: u32) -> Duration {
        let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
        let slop = Duration::from_ns(u64::from(self.slop_ns));
        let included = if self.srtt.is_some() { slop } else { Duration::ZERO };
        (self.base_rto.saturating_sub(included) * factor + slop).min(self.rto_max)
    }

    /// SRTT as a host with this clock tick reports it: whole ticks, rounded down.
    pub(crate) fn srtt_quantised(&self, config: &Config) -> Option<Duration> {
        self.srtt.map(|srtt| round_to_ticks(srtt, config))
    }

    pub(crate) const fn srtt(&self) -> Option<Duration> {
        self.srtt
    }

    pub(crate) const fn rttvar(&self) -> Duration {
        self.rttvar
    }

    /// The minimum sample so far.
    pub(crate) fn min(&self) -> Option<Duration> {
        self.srtt.map(|_| self.min)
    }
}

/// Time from `sent` to `now` in ticks of the clock that measures round trips (switches
/// `rtt-granularity`, zero for no ticks, and `rtt-ticks`).
#[inline]
pub(crate) fn elapsed_ticks(sent: Instant, now: Instant, config: &Config) -> Duration {
    let tick = config.rtt_granularity;
    if tick == Duration::ZERO {
        return now.saturating_since(sent);
    }
    let ticks = (now.as_ps() / tick.as_ps()).saturating_sub(sent.as_ps() / tick.as_ps());
    tick * ticks.max(config.rtt_ticks.least())
}

/// A time in whole ticks of that clock, rounded down.
pub(crate) fn round_to_ticks(time: Duration, config: &Config) -> Duration {
    let tick = config.rtt_granularity;
    match time.as_ps().checked_div(tick.as_ps()) {
        None => time,
        Some(ticks) => tick * ticks.max(config.rtt_ticks.least()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimator and its configuration.
    struct Estimator(RttEstimator, Config);

    impl Estimator {
        fn sample(&mut self, r: Duration) {
            self.0.sample(&self.1, r, (0, 0));
        }
    }

    impl core::ops::Deref for Estimator {
        type Target = RttEstimator;
        fn deref(&self) -> &RttEstimator {
            &self.0
        }
    }

    fn estimator(change: impl FnOnce(&mut Config)) -> Estimator {
        let mut config = Config::default();
        change(&mut config);
        Estimator(RttEstimator::new(&config), config)
    }

    /// A clock with ticks of `ms` milliseconds.
    fn ticks(ms: u64) -> Config {
        Config { rtt_granularity: Duration::from_ms(ms), ..Config::default() }
    }

    #[test]
    fn initial_timeout_is_one_second() {
        assert_eq!(estimator(|_| ()).rto(), Duration::from_secs(1));
    }

    #[test]
    fn first_and_second_sample_follow_rfc_6298() {
        let mut rtt = estimator(|c| c.rto_min = Duration::from_ms(1));
        rtt.sample(Duration::from_ms(100));
        assert_eq!(rtt.srtt(), Some(Duration::from_ms(100)));
        assert_eq!(rtt.rttvar(), Duration::from_ms(50));
        assert_eq!(rtt.rto(), Duration::from_ms(300));
        rtt.sample(Duration::from_ms(180));
        assert_eq!(rtt.srtt(), Some(Duration::from_ms(110)));
        // 3/4 of 50 + 1/4 of 80 = 57.5 ms; 110 + 230 = 340 ms.
        assert_eq!(rtt.rto(), Duration::from_ms(340));
        assert_eq!(rtt.min(), Some(Duration::from_ms(100)));
    }

    #[test]
    fn the_minimum_bounds_the_timeout_or_the_variance() {
        let mut whole = estimator(|c| c.rto_min = Duration::from_ms(200));
        whole.sample(Duration::from_us(100));
        assert_eq!(whole.rto(), Duration::from_ms(200));
        let mut variance = estimator(|c| {
            c.rto_min = Duration::from_ms(200);
            c.rto_min_applies = RtoMinApplies::Variance;
        });
        variance.sample(Duration::from_us(100));
        assert_eq!(variance.rto(), Duration::from_ms(201), "200.1 ms rounded up to the 1 ms tick");
    }

    #[test]
    fn granularity_bounds_the_variance_and_rounds_up() {
        let mut rtt = estimator(|c| {
            c.rto_min = Duration::ZERO;
            c.rto_granularity = Duration::from_ms(10);
        });
        rtt.sample(Duration::from_us(100));
        assert_eq!(rtt.rto(), Duration::from_ms(20), "100 us + G, rounded up to G");
    }

    #[test]
    fn a_clock_with_a_tick_counts_ticks_and_never_less_than_one() {
        let (at, ms) = (|us| Instant::ZERO + Duration::from_us(us), Duration::from_ms);
        assert_eq!(elapsed_ticks(at(300), at(999), &ticks(0)), Duration::from_us(699), "no tick");
        let tick = ticks(1);
        assert_eq!(elapsed_ticks(at(300), at(999), &tick), ms(1), "within one");
        assert_eq!(elapsed_ticks(at(900), at(1_100), &tick), ms(1), "across one edge");
        assert_eq!(elapsed_ticks(at(900), at(2_100), &tick), ms(2), "1.2 ms across two");
        assert_eq!(elapsed_ticks(at(0), at(1_900), &tick), ms(1), "1.9 ms across one");
        for rtt_ticks in [RttTicks::FromZero, RttTicks::FirstPlusOne] {
            let config = Config { rtt_ticks, ..ticks(1) };
            assert_eq!(elapsed_ticks(at(300), at(999), &config), ms(0), "{rtt_ticks:?}");
            assert_eq!(elapsed_ticks(at(900), at(1_100), &config), ms(1), "{rtt_ticks:?}");
            assert_eq!(round_to_ticks(Duration::from_us(999), &config), ms(0), "{rtt_ticks:?}");
        }
        assert_eq!(round_to_ticks(Duration::from_us(999), &tick), ms(1));
    }

    /// FreeBSD at an RTT of 0.3 ms: SRTT starts at one tick and tends to the true RTT.
    #[test]
    fn with_one_more_tick_in_the_first_sample_srtt_tends_to_the_true_rtt() {
        let tick = Duration::from_ms(1);
        for (rtt_ticks, first, last) in [
            (RttTicks::AtLeastOne, 1_000, 1_000..=1_000),
            (RttTicks::FromZero, 0, 200..=400),
            (RttTicks::FirstPlusOne, 1_000, 200..=400),
        ] {
            let config = Config { rtt_ticks, rtt_granularity: tick, ..Config::default() };
            let mut rtt = RttEstimator::new(&config);
            let mut sent = Instant::ZERO;
            // The phase of the clock moves by 0.3 ms: three of ten samples cross an edge.
            for n in 0..1_000 {
                let now = sent + Duration::from_us(300);
                rtt.sample(&config, elapsed_ticks(sent, now, &config), (0, 0));
                if n == 0 {
                    assert_eq!(rtt.srtt(), Some(Duration::from_us(first)), "{rtt_ticks:?}");
                }
                sent = now + Duration::from_ms(1);
            }
            let srtt = rtt.srtt().map_or(0, Duration::as_us);
            assert!(last.contains(&srtt), "{rtt_ticks:?}: {srtt} us");
        }
    }

    /// INET: no rule for the first sample, and 1/8 for both.
    #[test]
    fn inet_starts_from_zero_and_takes_eighths() {
        let mut rtt = estimator(|c| {
            c.rtt_gains = RttGains::Inet;
            c.rto_min = Duration::from_us(1);
            c.rto_granularity = Duration::from_us(1);
        });
        rtt.sample(Duration::from_ms(80));
        assert_eq!(rtt.srtt(), Some(Duration::from_ms(10)));
        // 7/8 of 750 + 1/8 of 80 ms.
        assert_eq!(rtt.rttvar(), Duration::from_us(666_250));
        rtt.sample(Duration::from_ms(80));
        assert_eq!(rtt.srtt(), Some(Duration::from_us(18_750)));
        assert_eq!(rtt.rttvar(), Duration::from_ps(591_718_750_000));
        // With short round trips the timeout is above 1 s for eight samples.
        for n in 0..20 {
            rtt.sample(Duration::from_us(100));
            assert_eq!(rtt.rto() > Duration::from_secs(1), n + 3 <= 8, "after {} samples", n + 3);
        }
    }

    /// The values were computed by hand from `tcp_xmit_timer`: `delta = (d << 2) - (srtt >> 3)`,
    /// then `srtt += delta`, `rttvar += abs(delta) - (rttvar >> 2)`.
    #[test]
    fn freebsd_keeps_32nds_of_a_tick_and_rounds_down() {
        let mut rtt = estimator(|c| {
            c.rtt_gains = RttGains::Freebsd;
            c.rtt_ticks = RttTicks::FirstPlusOne;
            c.rtt_granularity = Duration::from_ms(1);
        });
        let state = |rtt: &Estimator| {
            let of = |time: Duration, per_tick: u64| time.as_ps() * per_tick / 1_000_000_000;
            (of(rtt.srtt().unwrap(), 32), of(rtt.rttvar(), 16))
        };
        for (ticks, expected) in
            [(0, (32, 8)), (0, (28, 10)), (1, (29, 9)), (0, (26, 10)), (0, (23, 11)), (3, (33, 19))]
        {
            rtt.sample(Duration::from_ms(ticks));
            assert_eq!(state(&rtt), expected);
        }
        for _ in 0..100 {
            rtt.sample(Duration::ZERO);
        }
        assert_eq!(state(&rtt), (7, 3), "seven eighths round down to nothing, and stay");
    }

    /// FreeBSD: max(SRTT + 4 RTTVAR, 30 ms) doubles, then 200 ms are added.
    #[test]
    fn the_slop_is_added_after_the_minimum_and_is_not_doubled() {
        let mut rtt = estimator(|c| {
            c.rto_initial = Duration::from_secs(3);
            c.rto_min = Duration::from_ms(30);
            c.rto_slop = Duration::from_ms(200);
            c.rto_max = Duration::from_secs(64);
        });
        assert_eq!(rtt.rto(), Duration::from_secs(3), "not in the first timeout");
        rtt.0.back_off();
        assert_eq!(rtt.rto(), Duration::from_ms(6_200));
        for (sample, timeouts) in [
            (Duration::from_us(100), [230, 260, 320]),
            (
                Duration::from_ms(100),
                // SRTT 12.5875 ms, RTTVAR 25.0 ms: 113 ms.
                [313, 426, 652],
            ),
        ] {
            rtt.sample(sample);
            for ms in timeouts {
                assert_eq!(rtt.rto(), Duration::from_ms(ms), "{sample}");
                rtt.0.back_off();
            }
        }
        for _ in 0..100 {
            rtt.0.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(64));
        assert_eq!(size_of::<RttEstimator>(), 72, "16 B of them for the deviation of Linux");
    }

    /// The values were computed by hand from `tcp_rtt_estimator`, in microseconds times four.
    #[test]
    fn in_linux_the_variance_falls_once_per_round_trip() {
        let mut rtt = estimator(|c| {
            c.rtt_gains = RttGains::Linux;
            c.rto_min = Duration::from_us(1);
            c.rto_min_applies = RtoMinApplies::Variance;
        });
        let mut sample = |us, una, nxt| {
            rtt.0.sample(&rtt.1, Duration::from_us(us), (una, nxt));
            (rtt.0.deviation.smoothed, rtt.0.deviation.term)
        };
        assert_eq!(sample(1000, 0, 10), (2000, 2000));
        // Within the first round trip of data the term stays.
        assert_eq!(sample(1000, 5, 20), (1500, 2000));
        assert_eq!(sample(1000, 10, 20), (1125, 2000));
        // Past it the maximum was 2000; from then on it is that of the round trip.
        assert_eq!(sample(1000, 11, 20), (844, 2000));
        assert_eq!(sample(1000, 21, 30), (633, 2000 - (2000 - 633) / 4));
        // A shorter one: (600 - 158) / 8. A longer one: 1075 - 172.
        assert_eq!(sample(400, 22, 30).0, 633 + (600 - 158) / 8);
        assert_eq!(sample(2000, 23, 30), (688 + 1075 - 172, 2000 - 341));
    }

    #[test]
    fn the_smoothed_time_keeps_fractions_and_is_shown_without() {
        let mut rtt = estimator(|_| ());
        assert_eq!(rtt.srtt_quantised(&ticks(1)), None);
        for ms in [1, 1, 4] {
            rtt.sample(Duration::from_ms(ms));
        }
        // 1 + 3/8.
        assert_eq!(rtt.srtt(), Some(Duration::from_us(1_375)));
        assert_eq!(rtt.srtt_quantised(&ticks(1)), Some(Duration::from_ms(1)));
        assert_eq!(rtt.srtt_quantised(&ticks(4)), Some(Duration::from_ms(4)), "at least one");
        assert_eq!(rtt.srtt_quantised(&ticks(0)), rtt.srtt());
    }

    #[test]
    fn backoff_doubles_up_to_the_ceiling_and_ends_with_a_sample() {
        let mut rtt = estimator(|_| ());
        for seconds in [2, 4, 8, 16, 32, 60, 60] {
            rtt.0.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(seconds));
        }
        for _ in 0..200 {
            rtt.0.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_ms(1));
        assert_eq!(rtt.rto(), Duration::from_secs(1));
    }

    #[test]
    fn a_retransmitted_syn_starts_data_with_three_seconds() {
        let config = Config::default();
        let mut rtt = RttEstimator::new(&config);
        rtt.back_off();
        rtt.syn_was_retransmitted(&config);
        assert_eq!(rtt.rto(), Duration::from_secs(3));
    }
}
