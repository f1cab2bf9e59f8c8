//! CUBIC as `tcp_cubic.c` of Linux 6.18 has it: `cubic.variant = "linux"`.
//!
//! ## Differences from RFC 9438
//! - Windows are whole segments, times jiffies of 4 ms (`CONFIG_HZ = 250`) and 1/1024 s. All
//!   delivered segments count for growth, SACKed ones included.
//! - W_est grows with alpha (8/15) for good. §4.3 has one from `cwnd_prior` on.
//! - The target is that of the least round trip from now, not of the smoothed one. It is computed
//!   once in a jiffy, and after 28 ms if the window is the same.
//! - Below the curve the window grows by 1 % in a round trip. Without an earlier reduction it grows
//!   by at least 5 %.
//! - A loss, a timeout and a mark start from cwnd. A timeout forgets the plateau and the least
//!   round trip, and begins HyStart anew.
//! - HyStart ends slow start at once: if ACKs at most 2 ms apart last longer than half of the least
//!   round trip with an allowance for segmentation, or if the least round trip of a round has
//!   risen.
//!
//! ## Deviations
//! The cube root is exact (Linux: 0.2 % on average). `reno_undo_cwnd` restores the window only, as
//! here.

use alloc::boxed::Box;

use lowtide_schema::Values;
use lowtide_units::{Duration, Instant, Probe, Unit};

use super::super::{
    AckSample, CcSetup, CongestionControl, CongestionEvent, CongestionWindow, Factor, Reaction,
};
use super::cube_root;

/// A jiffy.
const JIFFY: Duration = Duration::from_ms(4);
/// Jiffies in a second.
const HZ: u64 = 250;
/// Most jiffies for which the growth of an unchanged window holds: HZ / 32.
const SAME_WINDOW: u64 = 7;
/// Units of the curve's time in a second.
const CURVE_HZ: u64 = 1024;
const BETA: Factor = Factor { num: 717, den: 1024 };
/// (1 + beta) / 2.
const FAST_CONVERGENCE: Factor = Factor { num: 1024 + 717, den: 2048 };
/// Eight times the inverse of alpha: 8 (1024 + beta) / 3 / (1024 - beta), in integers.
const ALPHA_INVERSE_8: u64 = 15;
/// C in segments per 2^40 cubic units of the curve's time.
const C_2_40: u128 = 410;

/// `hystart_low_window`, segments.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`.
const ACK_DELTA: Duration = Duration::from_ms(2);
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const DELAY_MIN: Duration = Duration::from_ms(4);
const DELAY_MAX: Duration = Duration::from_ms(16);
/// Four times the default of `sk_gso_max_size`, bytes.
const FOUR_BURSTS: u64 = 4 * 65_536;
/// Largest allowance for segmentation.
const BURST_DELAY_MAX: Duration = Duration::from_ms(1);

#[derive(Debug)]
pub(super) struct LinuxCubic {
    window: CongestionWindow,
    fast_convergence: bool,
    uses_hystart: bool,
    curve: Curve,
    hystart: LinuxHyStart,
    /// Smoothed round-trip time, for the pacing rate that the segmentation allowance is taken from.
    srtt: Option<Duration>,
    /// `snd_cwnd_cnt`: delivered segments that have not grown the window yet.
    credit: u64,
    last_ack: Instant,
    was_idle: bool,
}

/// `struct bictcp` up to `tcp_cwnd`, which a timeout clears. Windows in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// `cnt`: delivered segments for one more segment of the window.
    per_segment: u64,
    /// `last_max_cwnd`.
    last_max: u64,
    last_cwnd: u64,
    /// Jiffy of the last computation.
    last_time: u64,
    origin: u64,
    /// K, in units of the curve.
    k: u64,
    /// `delay_min`: the least round trip.
    min_rtt: Option<Duration>,
    /// `epoch_start`, jiffies.
    epoch: Option<u64>,
    ack_count: u64,
    /// `tcp_cwnd`, W_est.
    estimate: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinuxHyStart {
    found: bool,
    round_start: Instant,
    last_ack: Instant,
    end: u64,
    round_min: Option<Duration>,
    samples: u32,
}

pub(super) fn build(values: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(LinuxCubic {
        window: CongestionWindow::new(setup, BETA),
        fast_convergence: values.bool("fast-convergence"),
        uses_hystart: values.bool("hystart"),
        curve: Curve::default(),
        hystart: LinuxHyStart::begin(setup.now, 0),
        srtt: None,
        credit: 0,
        last_ack: setup.now,
        was_idle: false,
    })
}

const fn jiffies(at: Instant) -> u64 {
    at.since_start().as_ps() / JIFFY.as_ps()
}

impl Curve {
    /// `bictcp_update`: growth for `acked` delivered segments with a window of `cwnd`.
    fn update(&mut self, now: Instant, cwnd: u64, acked: u64) {
        self.ack_count = self.ack_count.saturating_add(acked);
        let jiffy = jiffies(now);
        if self.last_cwnd == cwnd && jiffy - self.last_time.min(jiffy) <= SAME_WINDOW {
            return;
        }
        if self.epoch.is_none() || jiffy != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = jiffy;
            self.follow_curve(jiffy, cwnd, acked);
        }
        let per_estimate = (cwnd.saturating_mul(ALPHA_INVERSE_8) / 8).max(1);
        let steps = self.ack_count.saturating_sub(1) / per_estimate;
        self.ack_count -= steps * per_estimate;
        self.estimate = self.estimate.saturating_add(steps);
        if self.estimate > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.estimate - cwnd));
        }
        self.per_segment = self.per_segment.max(2);
    }

    fn follow_curve(&mut self, jiffy: u64, cwnd: u64, acked: u64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(jiffy, cwnd, acked),
        };
        let min_rtt = self.min_rtt.unwrap_or_default().as_ps().div_ceil(JIFFY.as_ps());
        let t = (jiffy.saturating_sub(epoch) + min_rtt) * CURVE_HZ / HZ;
        let offset = u128::from(t.abs_diff(self.k));
        let delta = offset.saturating_pow(3).saturating_mul(C_2_40) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let target = if t < self.k {
            self.origin.saturating_sub(delta)
        } else {
            self.origin.saturating_add(delta)
        };
        self.per_segment =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            self.per_segment = self.per_segment.min(20);
        }
    }

    fn begin_epoch(&mut self, jiffy: u64, cwnd: u64, acked: u64) -> u64 {
        self.epoch = Some(jiffy);
        self.ack_count = acked;
        self.estimate = cwnd;
        let below = self.last_max.saturating_sub(cwnd);
        self.origin = self.last_max.max(cwnd);
        self.k = cube_root((u128::from(below) << 40) / C_2_40);
        jiffy
    }
}

impl LinuxHyStart {
    fn begin(now: Instant, end: u64) -> Self {
        Self { round_start: now, last_ack: now, end, ..Self::default() }
    }

    /// `hystart_update`: returns whether slow start ends.
    fn ends_slow_start(
        &mut self,
        ack: &AckSample,
        cwnd: u64,
        [rtt, min_rtt, burst]: [Duration; 3],
    ) -> bool {
        if ack.snd_una > self.end {
            *self = Self::begin(ack.now, ack.snd_nxt);
        }
        if cwnd < LOW_WINDOW {
            return false;
        }
        if ack.now.saturating_since(self.last_ack) <= ACK_DELTA {
            self.last_ack = ack.now;
            self.found = ack.now.saturating_since(self.round_start) > (min_rtt + burst) / 2;
        }
        let least = self.round_min.map_or(rtt, |least| least.min(rtt));
        self.round_min = Some(least);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else {
            let rise = (min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
            self.found |= least > min_rtt + rise;
        }
        self.found
    }
}

impl LinuxCubic {
    fn segments(&self) -> u64 {
        self.window.cwnd() / self.window.mss().max(1)
    }

    /// `cubictcp_recalc_ssthresh`: returns ssthresh in segments.
    fn reduce(&mut self) -> u64 {
        let cwnd = self.segments();
        self.curve.epoch = None;
        self.curve.last_max = if self.fast_convergence && cwnd < self.curve.last_max {
            FAST_CONVERGENCE.of(cwnd)
        } else {
            cwnd
        };
        self.credit = 0;
        BETA.of(cwnd).max(2)
    }

    /// As [`Self::reduce`], for the next loss reaction of the window.
    fn reduce_by_loss(&mut self) {
        let cwnd = self.segments().max(2);
        let target = self.reduce();
        // Both in 32 bits.
        let shift = cwnd.ilog2().saturating_sub(31);
        let num = u32::try_from(target >> shift).unwrap_or(u32::MAX);
        let den = u32::try_from(cwnd >> shift).unwrap_or(u32::MAX);
        self.window.set_beta(Factor { num, den });
    }

    /// `cubictcp_acked`.
    fn on_rtt(&mut self, ack: &AckSample, rtt: Duration) {
        self.srtt = Some(self.srtt.map_or(rtt, |s| s - s / 8 + rtt / 8));
        let after_cut = self.curve.epoch.is_some_and(|e| jiffies(ack.now).saturating_sub(e) < HZ);
        if after_cut {
            return;
        }
        let min_rtt = self.curve.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.curve.min_rtt = Some(min_rtt);
        let slow_start = self.window.cwnd() < self.window.ssthresh();
        if !self.uses_hystart || self.hystart.found || !slow_start {
            return;
        }
        let (cwnd, times) = (self.segments(), [rtt, min_rtt, self.burst_delay()]);
        if self.hystart.ends_slow_start(ack, cwnd, times) {
            self.window.end_slow_start();
        }
    }

    /// `hystart_ack_delay`: the time of four bursts at twice the window in a round trip.
    fn burst_delay(&self) -> Duration {
        let srtt = self.srtt.unwrap_or_default();
        (srtt * FOUR_BURSTS / self.window.cwnd().saturating_mul(2).max(1)).min(BURST_DELAY_MAX)
    }

    /// `cubictcp_cwnd_event_tx_start`: the epoch excludes pauses.
    fn skip_idle(&mut self, ack: &AckSample) {
        if self.was_idle
            && let Some(epoch) = &mut self.curve.epoch
        {
            let pause = ack.now.saturating_since(self.last_ack);
            let pause = pause.saturating_sub(ack.rtt.or(self.srtt).unwrap_or(pause));
            *epoch += pause.as_ps() / JIFFY.as_ps();
        }
        self.last_ack = ack.now;
        self.was_idle = ack.in_flight == 0;
    }

    /// `tcp_cong_avoid_ai`.
    fn avoid(&mut self, now: Instant, acked: u64) {
        let cwnd = self.segments();
        self.curve.update(now, cwnd, acked);
        let per_segment = self.curve.per_segment.max(1);
        let mut grown = 0;
        if self.credit >= per_segment {
            self.credit = 0;
            grown = 1;
        }
        self.credit += acked;
        grown += self.credit / per_segment;
        self.credit %= per_segment;
        self.window.raise_to(cwnd.saturating_add(grown).saturating_mul(self.window.mss()));
    }
}

impl CongestionControl for LinuxCubic {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        self.skip_idle(ack);
        if let Some(rtt) = ack.rtt {
            self.on_rtt(ack, rtt);
        }
        if ack.ece && ack.may_reduce && self.window.ecn() {
            self.window.drop_unused(ack);
            let target = self.reduce().saturating_mul(self.window.mss());
            self.window.cut_to(target);
            return Reaction::Reduced;
        }
        if ack.may_grow {
            let slow_start = self.window.cwnd() < self.window.ssthresh();
            let rest = self.window.slow_start(ack).div_ceil(self.window.mss().max(1));
            let acked = if slow_start { rest } else { u64::from(ack.delivered_segments) };
            if acked > 0 {
                self.avoid(ack.now, acked);
            }
        }
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { already_reduced: false, .. } => self.reduce_by_loss(),
            CongestionEvent::Rto { now, first, .. } => {
                if first {
                    self.reduce_by_loss();
                }
                self.curve = Curve::default();
                self.hystart = LinuxHyStart::begin(now, self.hystart.end);
            }
            _ => {}
        }
        self.window.on_event(event);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u64 {
        self.window.ssthresh()
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("w_max", Unit::Bytes, self.curve.last_max.saturating_mul(self.window.mss()));
    }
}

#[cfg(test)]
mod tests;
