//! Round-trip estimation and the retransmission timeout (RFC 6298).
//!
//! Contract: it converts samples into a timeout and measures nothing. Karn's rule is the caller's
//! task (no sample from a retransmitted segment without timestamps).

use lowtide_units::{Duration, Instant};

use crate::settings::config::{Config, RtoMinApplies};

/// SRTT, RTTVAR and the timeout computed from them.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    min: Duration,
    base_rto: Duration,
    /// The base RTO is a whole number of ticks.
    base_is_whole_ticks: bool,
    backoff: u32,
    rto_max: Duration,
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
            rto_max: config.rto_max,
        }
    }

    /// Adds one sample R (RFC 6298 §2.2, §2.3) and resets the backoff.
    pub(crate) fn sample(&mut self, config: &Config, r: Duration) {
        let (tick, floor) = (config.rto_granularity, config.rto_min);
        self.min = self.min.min(r);
        let srtt = match self.srtt {
            None => {
                self.rttvar = r / 2;
                r
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
        let variance = tick.max(self.rttvar * 4);
        let timeout = match config.rto_min_applies {
            RtoMinApplies::Timeout => (srtt + variance).max(floor),
            RtoMinApplies::Variance => srtt + variance.max(floor),
        };
        // Usually the tick is that of the last sample, so the division is skipped.
        let same = timeout <= self.base_rto && self.base_rto - timeout < tick;
        if !(same && self.base_is_whole_ticks) {
            let ticks = timeout.round_up_to(tick);
            self.base_is_whole_ticks = ticks <= self.rto_max;
            self.base_rto = ticks.min(self.rto_max);
        }
        self.backoff = 0;
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
            self.rto_backed_off(self.backoff)
        }
    }

    /// The timeout doubled `times` times, without its own backoff. Window probes have a separate
    /// backoff (RFC 9293 §3.8.6.1): a closed window is no congestion.
    pub(crate) fn rto_backed_off(&self, times: u32) -> Duration {
        let factor = 1_u64.checked_shl(times).unwrap_or(u64::MAX);
        (self.base_rto * factor).min(self.rto_max)
    }

    /// SRTT as a host with this clock tick reports it: whole ticks, rounded down, at least one.
    pub(crate) fn srtt_quantised(&self, tick: Duration) -> Option<Duration> {
        self.srtt.map(|srtt| round_to_ticks(srtt, tick))
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

/// Time from `sent` to `now` in ticks of the clock, at least one, which is the minimum that such a
/// host can express (ODCTCP §6.2). `tick` zero: no quantisation.
#[inline]
pub(crate) fn elapsed_ticks(sent: Instant, now: Instant, tick: Duration) -> Duration {
    if tick == Duration::ZERO {
        return now.saturating_since(sent);
    }
    let ticks = (now.as_ps() / tick.as_ps()).saturating_sub(sent.as_ps() / tick.as_ps());
    tick * ticks.max(1)
}

/// A time in whole ticks, rounded down, at least one.
pub(crate) fn round_to_ticks(time: Duration, tick: Duration) -> Duration {
    match time.as_ps().checked_div(tick.as_ps()) {
        None => time,
        Some(ticks) => tick * ticks.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An estimator and its configuration.
    struct Estimator(RttEstimator, Config);

    impl Estimator {
        fn sample(&mut self, r: Duration) {
            self.0.sample(&self.1, r);
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
        assert_eq!(elapsed_ticks(at(300), at(999), ms(0)), Duration::from_us(699), "no tick");
        assert_eq!(elapsed_ticks(at(300), at(999), ms(1)), ms(1), "within one");
        assert_eq!(elapsed_ticks(at(900), at(1_100), ms(1)), ms(1), "across one edge");
        assert_eq!(elapsed_ticks(at(900), at(2_100), ms(1)), ms(2), "1.2 ms across two");
        assert_eq!(elapsed_ticks(at(0), at(1_900), ms(1)), ms(1), "1.9 ms across one");
    }

    #[test]
    fn the_smoothed_time_keeps_fractions_and_is_shown_without() {
        let mut rtt = estimator(|_| ());
        assert_eq!(rtt.srtt_quantised(Duration::from_ms(1)), None);
        for ms in [1, 1, 4] {
            rtt.sample(Duration::from_ms(ms));
        }
        // 1 + 3/8.
        assert_eq!(rtt.srtt(), Some(Duration::from_us(1_375)));
        assert_eq!(rtt.srtt_quantised(Duration::from_ms(1)), Some(Duration::from_ms(1)));
        assert_eq!(
            rtt.srtt_quantised(Duration::from_ms(4)),
            Some(Duration::from_ms(4)),
            "at least one"
        );
        assert_eq!(rtt.srtt_quantised(Duration::ZERO), rtt.srtt());
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
