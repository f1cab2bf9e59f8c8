//! BBR, version 3: paces at the bandwidth that it measures, within bounds that losses set.
//!
//! ## Algorithm
//! - `max_bw` is the maximum of the delivery-rate samples of this and the last bandwidth probe;
//!   app-limited ones count only if they are larger. `min_rtt` is the minimum RTT of 10 s.
//! - `bw = min(max_bw, bw_shortterm)`, `pacing rate = 0.99 pacing_gain bw`, `BDP = bw min_rtt`.
//!   cwnd grows by what is delivered, up to `cwnd_gain BDP + extra_acked`, three quanta or 4
//!   segments, and is at most `inflight_longterm` and `inflight_shortterm`.
//! - STARTUP: gains 2.77 and 2, until three rounds do not raise the rate by 25 %, or 2 % of a
//!   round in recovery are lost in 6 ranges. DRAIN: pacing gain 0.5 until the BDP is in flight.
//! - `PROBE_BW`: DOWN (0.9) until the BDP and 0.85 `inflight_longterm` are in flight; CRUISE (1);
//!   both for 2 to 3 s, or as many rounds as a Reno flow needs; REFILL (1) for a round; UP (1.25,
//!   cwnd gain 2.25) until the rate stops growing or more than 2 % are lost. A loss sets
//!   `inflight_longterm` to what was in flight at 2 %; without losses it grows by 1, 2, 4...
//!   segments per round.
//! - Losses in other phases: `bw_shortterm` and `inflight_shortterm` are 0.7 of what they were
//!   per round with a loss, not below the last round's delivery, until the next REFILL.
//! - `PROBE_RTT`: 5 s after the last minimum half of the BDP is in flight for 200 ms and a round.
//! - A spurious recovery restores the bounds, and the state that its losses ended.
//!
//! ## Spec
//! draft-ietf-ccwg-bbr-06; functions name their pseudocode and section. `docs/reference/bbr3.md`
//! has the table, and the differences from google/bbr's `tcp_bbr.c`.
//!
//! ## Deviations
//! - `C.is_cwnd_limited`: an ACK of this round or the last found less than one segment of cwnd
//!   unused.
//! - A timeout leaves one segment until its repair; §5.6.4.4 has what is in flight and one.
//! - A restart from idle also begins `extra_acked_delivered` anew (§5.4.1 sets only the start of
//!   its interval, and data of before would count as aggregated), as google/bbr does.
//! - `lost_prefix` is zero if the losses before the segment were too many (§5.5.10.2 is
//!   negative).
//! - `probe_rtt_min_delay` begins as `min_rtt`, and `BDP` with it (§5.2.1 has no value).
//! - A peer without SACK is treated as one with it (§5.3.1.3, `C.has_selective_acks`).
//! - Not paced before the first delivery.
//!
//! Not-ECT: §3.6 has no response to CE, and demands one of a connection that sends ECT.
//!
//! ## Kernel twin
//! None; version 3 is not in Linux 6.18. `tcp_bbr.c` of google/bbr was compared sample by sample
//! (`docs/evidence/findings.md`).

use alloc::boxed::Box;

use lowtide_schema::Values;
use lowtide_units::{Duration, Instant, Probe, Rate, Unit};

use super::bbr::{CaState, MaxFilter, ProbeRttStay, Rounds, bytes_in, draw, scaled, window_rate};
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties, Exemption,
    LostSegment, RateSample, Reaction, Requirements, Signal,
};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "bbr3",
    summary: "BBR version 3: paces at the measured bandwidth, within bounds that losses set; no ECN",
    spec: "draft-ietf-ccwg-bbr-06",
    equations: &[
        "bw = min(max_bw of two probes, bw_shortterm); min_rtt of 10 s; BDP = bw min_rtt",
        "pacing rate = 0.99 pacing_gain bw",
        "max_inflight = max(cwnd_gain BDP + extra_acked, 3 quanta, 4 segments)",
        "cwnd = min(cwnd + delivered, max_inflight, inflight_longterm, inflight_shortterm); 0.85 inflight_longterm in CRUISE and PROBE_RTT",
        "STARTUP 2.77, 2; DRAIN 0.5, 2; DOWN 0.9, 2; CRUISE 1, 2; REFILL 1, 2; UP 1.25, 2.25; PROBE_RTT 1, 0.5 (pacing_gain, cwnd_gain)",
        "probing, lost > 2 %: inflight_longterm = max(inflight at 2 %, 0.7 min(BDP, cwnd))",
        "else, per round with a loss: x_shortterm = max(x of the last round, 0.7 x_shortterm)",
    ],
    params: &[],
    declared: DeclaredProperties {
        reacts_to: &[Signal::Loss],
        floor_segments: 1,
        proportional: false,
        rate_based: true,
        exemptions: &[Exemption {
            rule: "follows-the-line",
            source: "draft-ietf-ccwg-bbr-06 §5.5.6: max_bw is that of two probes, 2 to 3 s apart",
        }],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: true },
    build,
};

/// Gains and shares are in hundredths.
const UNIT: u64 = 100;
/// `StartupPacingGain`, §2.5: 4 ln 2, the smallest gain that doubles the rate each round.
const STARTUP_PACING_GAIN: u64 = 277;
/// `DrainPacingGain`, §2.5.
const DRAIN_PACING_GAIN: u64 = 50;
/// Of DOWN, §5.3.3.1, and of UP, §5.3.3.5.
const DOWN_PACING_GAIN: u64 = 90;
const UP_PACING_GAIN: u64 = 125;
/// `PacingMarginPercent`, §2.5: queues drain at 1 % less.
const PACED: u64 = 99;
/// `DefaultCwndGain`, §2.6; of UP, §5.3.3.5; `ProbeRTTCwndGain`, §2.16.2.
const CWND_GAIN: u64 = 200;
const UP_CWND_GAIN: u64 = 225;
const PROBE_RTT_CWND_GAIN: u64 = 50;
/// `LossThresh`, `Beta` and `Headroom`, §2.8.
const LOSS_THRESH: u64 = 2;
const BETA: u64 = 70;
const HEADROOM: u64 = 15;
/// `MinPipeCwnd`, §2.8, segments.
const MIN_PIPE: u64 = 4;
/// §5.3.1.2.
const FULL_BW_GROWTH: u64 = 125;
const FULL_BW_COUNT: u32 = 3;
/// `BBRStartupFullLossCnt`, §5.3.1.3.
const STARTUP_LOSS_RANGES: u32 = 6;
/// Rounds of DRAIN, at most, §5.3.2.
const DRAIN_ROUNDS: u64 = 3;
/// `MinRTTFilterLen`, §2.16.1; `ProbeRTTInterval` and `ProbeRTTDuration`, §2.16.2.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// `bw_probe_wait`, §5.3.3.8: 2 s and up to 1 s, drawn in us; at most this many rounds.
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_WAIT_DRAWN_US: u64 = 1_000_000;
const RENO_ROUNDS: u64 = 63;
/// `ExtraAckedFilterLen`, §2.12, and in STARTUP, §5.5.9, rounds.
const EXTRA_ACKED_ROUNDS: u64 = 10;
const EXTRA_ACKED_STARTUP_ROUNDS: u64 = 1;
/// §5.6.3: a quantum is what the rate sends in this time, 64 KiB at most, two segments or more.
const QUANTUM_TIME: Duration = Duration::from_ms(1);
const QUANTUM_MAX: u64 = 64 * 1024;
/// No bound.
const INFINITY: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// §2.14: what the ACKs tell about the last bandwidth probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// §2.15: what a spurious recovery restores.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Bbr3 {
    mss: u64,
    initial_cwnd: u64,
    cwnd: u64,
    prior_cwnd: u64,
    ssthresh: u64,
    /// bit/s, as all rates.
    pacing_rate: u64,
    state: State,
    ca_state: CaState,
    rounds: Rounds,
    /// An ACK of this round, or of the one before, found cwnd in full use.
    cwnd_used: [bool; 2],
    random: u64,
    /// Maxima of the last bandwidth probe and of this one (`max_bw_filter`).
    max_bw: [u64; 2],
    bw: u64,
    bw_shortterm: u64,
    bw_latest: u64,
    inflight_longterm: u64,
    inflight_shortterm: u64,
    inflight_latest: u64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Ranges lost in this round, and the end of the last.
    lost_ranges: u32,
    lost_end: u64,
    undo: Undo,
    full_bw: u64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    drain_start_round: u64,
    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    probe_up_acked_per_inc: u64,
    bw_probe_up_acked: u64,
    bw_probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    bw_probe_wait: Duration,
    cycle_stamp: Instant,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    has_seen_rtt: bool,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Instant,
    probe_rtt_expired: bool,
    probe_rtt: ProbeRttStay,
    idle_restart: bool,
    extra_acked: MaxFilter,
    extra_acked_since: Instant,
    extra_acked_delivered: u64,
}

/// `OnInit`, §5.2.1.
fn build(_: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    Box::new(Bbr3 {
        mss: u64::from(setup.mss.max(1)),
        initial_cwnd: setup.initial_window,
        cwnd: setup.initial_window,
        ssthresh: INFINITY,
        // `InitPacingRate`, §5.6.2.
        pacing_rate: startup_rate(setup.initial_window, setup.rtt),
        random: setup.seed,
        bw_shortterm: INFINITY,
        inflight_longterm: INFINITY,
        inflight_shortterm: INFINITY,
        lost_end: INFINITY,
        probe_up_acked_per_inc: INFINITY,
        cycle_stamp: setup.now,
        min_rtt: setup.rtt,
        min_rtt_stamp: setup.now,
        has_seen_rtt: setup.rtt.is_some(),
        probe_rtt_min_delay: setup.rtt,
        probe_rtt_min_stamp: setup.now,
        extra_acked_since: setup.now,
        ..Bbr3::default()
    })
}

fn startup_rate(window: u64, rtt: Option<Duration>) -> u64 {
    share(window_rate(window, rtt), STARTUP_PACING_GAIN)
}

/// `value` times a gain or share.
fn share(value: u64, hundredths: u64) -> u64 {
    scaled(value, hundredths, UNIT)
}

/// `IsInflightTooHigh`, §5.5.10.2.
const fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost.saturating_mul(UNIT) > tx_in_flight.saturating_mul(LOSS_THRESH)
}

impl Bbr3 {
    /// Pacing gain and cwnd gain, §5.6.1.
    const fn gains(&self) -> (u64, u64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::Down => (DOWN_PACING_GAIN, CWND_GAIN),
            State::Cruise | State::Refill => (UNIT, CWND_GAIN),
            State::Up => (UP_PACING_GAIN, UP_CWND_GAIN),
            State::ProbeRtt => (UNIT, PROBE_RTT_CWND_GAIN),
        }
    }

    fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// `IsInAProbeBWState`, §5.3.3.9.
    const fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `BDPMultiple`, §5.6.4.2.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        self.min_rtt.map_or(self.initial_cwnd, |min_rtt| share(bytes_in(bw, min_rtt), gain))
    }

    /// `SetSendQuantum`, §5.6.3.
    fn quantum(&self) -> u64 {
        bytes_in(self.pacing_rate, QUANTUM_TIME).min(QUANTUM_MAX).max(2 * self.mss)
    }

    /// `QuantizationBudget`, §5.6.4.2, with the offload budget of TCP, §5.5.8.
    fn quantized(&self, bytes: u64) -> u64 {
        let most = bytes.max(3 * self.quantum()).max(MIN_PIPE * self.mss);
        most.saturating_add(if self.state == State::Up { 2 * self.mss } else { 0 })
    }

    /// `Inflight`, §5.6.4.2.
    fn inflight(&self, bw: u64) -> u64 {
        self.quantized(self.bdp(bw, UNIT))
    }

    /// `TargetInflight`, §5.3.3.8.
    fn target_inflight(&self) -> u64 {
        self.bdp(self.bw, UNIT).min(self.cwnd)
    }

    /// `InflightWithHeadroom`, §5.3.3.9.
    fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == INFINITY {
            return INFINITY;
        }
        let headroom = share(self.inflight_longterm, HEADROOM).max(self.mss);
        self.inflight_longterm.saturating_sub(headroom).max(MIN_PIPE * self.mss)
    }

    const fn is_cwnd_limited(&self) -> bool {
        self.cwnd_used[0] || self.cwnd_used[1]
    }

    /// `UpdateLatestDeliverySignals`, §5.5.10.3.
    fn update_latest_delivery(&mut self, sample: &RateSample, rate: u64) {
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.rounds.delivered;
            self.loss_round_start = true;
        }
    }

    /// `UpdateCongestionSignals`, §5.5.10.3, with `UpdateMaxBw`, §5.5.5.
    fn update_congestion_signals(&mut self, sample: &RateSample, rate: u64) {
        self.rounds.update(sample);
        if self.rounds.start {
            self.rounds_since_probe_up += 1;
            self.extra_acked.start_round(self.rounds.count);
            self.cwnd_used = [false, self.cwnd_used[0]];
        }
        if rate > 0 && (rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(rate);
        }
        if self.loss_round_start {
            self.adapt_lower_bounds();
            self.is_loss_in_round = false;
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, §5.5.10.3.
    fn adapt_lower_bounds(&mut self) {
        let probes = matches!(self.state, State::Startup | State::Refill | State::Up);
        if probes || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == INFINITY {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == INFINITY {
            self.inflight_shortterm = self.cwnd;
        }
        self.bw_shortterm = share(self.bw_shortterm, BETA).max(self.bw_latest);
        self.inflight_shortterm = share(self.inflight_shortterm, BETA).max(self.inflight_latest);
    }

    /// `ResetCongestionSignals`, §5.5.10.3.
    const fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// `ResetShortTermModel`, §5.5.10.3.
    const fn reset_short_term(&mut self) {
        self.bw_shortterm = INFINITY;
        self.inflight_shortterm = INFINITY;
    }

    /// `UpdateACKAggregation`, §5.5.9.
    fn update_aggregation(&mut self, ack: &AckSample) {
        let mut expected = bytes_in(self.bw, ack.now.saturating_since(self.extra_acked_since));
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_since = ack.now;
            expected = 0;
        }
        self.extra_acked_delivered = self.extra_acked_delivered.saturating_add(ack.delivered_bytes);
        let extra = self.extra_acked_delivered.saturating_sub(expected).min(self.cwnd);
        let rounds =
            if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { EXTRA_ACKED_STARTUP_ROUNDS };
        self.extra_acked.add(self.rounds.count, extra, rounds);
    }

    /// `ResetFullBW`, §5.3.1.2; `full_bw` is the rate from which growth counts.
    const fn reset_full_bw(&mut self, full_bw: u64) {
        self.full_bw = full_bw;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    /// `CheckFullBWReached`, §5.3.1.2.
    fn check_full_bw(&mut self, sample: Option<&RateSample>, rate: u64) {
        let limited = sample.is_none_or(|s| s.app_limited);
        if self.full_bw_now || !self.rounds.start || limited {
            return;
        }
        if rate >= share(self.full_bw, FULL_BW_GROWTH) {
            return self.reset_full_bw(rate);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `CheckStartupDone`, §5.3.1.1, with `CheckStartupHighLoss`, §5.3.1.3.
    fn check_startup_done(&mut self, sample: Option<&RateSample>) {
        let too_high = sample.is_some_and(|s| is_inflight_too_high(s.lost, s.tx_in_flight));
        if self.loss_round_start {
            let lossy = self.lost_ranges >= STARTUP_LOSS_RANGES && too_high;
            if lossy && self.ca_state == CaState::Recovery && !self.full_bw_reached {
                self.undo.state = Some(State::Startup);
                self.full_bw_reached = true;
                self.inflight_longterm = self.bdp(self.bw, UNIT).max(self.inflight_latest);
            }
            (self.lost_ranges, self.lost_end) = (0, INFINITY);
        }
        if self.state == State::Startup && self.full_bw_reached {
            // `EnterDrain`, §5.3.2.
            self.state = State::Drain;
            self.drain_start_round = self.rounds.count;
            self.ssthresh = self.inflight(self.bw);
        }
    }

    /// `CheckDrainDone`, §5.3.2.
    fn check_drain_done(&mut self, ack: &AckSample) {
        let late = self.rounds.count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (ack.in_flight <= self.inflight(self.bw) || late) {
            self.start_down(ack.now);
        }
    }

    /// `StartProbeBW_DOWN`, §5.3.3.9, with `PickProbeWait`, §5.3.3.8.
    fn start_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = INFINITY;
        self.rounds_since_probe_up = draw(&mut self.random, 2);
        let drawn = Duration::from_us(draw(&mut self.random, PROBE_WAIT_DRAWN_US));
        self.bw_probe_wait = PROBE_WAIT + drawn;
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.restart();
        self.state = State::Down;
    }

    /// `StartProbeBW_REFILL`, §5.3.3.9.
    const fn start_refill(&mut self) {
        self.reset_short_term();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.restart();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`, §5.3.3.9.
    fn start_up(&mut self, rate: u64) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.restart();
        self.reset_full_bw(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// `RaiseInflightLongtermSlope`, §5.3.3.9.
    fn raise_slope(&mut self) {
        self.probe_up_acked_per_inc = (self.cwnd >> self.bw_probe_up_rounds).max(self.mss);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
    }

    /// `UpdateProbeBWCyclePhase`, §5.3.3.9.
    fn update_cycle(&mut self, ack: &AckSample, sample: Option<&RateSample>, rate: u64) {
        if !self.full_bw_reached || self.adapt_long_term(ack, sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill if self.rounds.start => {
                self.is_bw_probe_sample = true;
                self.start_up(rate);
            }
            State::Up => self.check_time_to_go_down(ack, rate),
            _ => {}
        }
    }

    /// `AdaptLongTermModel`, §5.3.3.9; returns whether it changed the state.
    fn adapt_long_term(&mut self, ack: &AckSample, sample: Option<&RateSample>) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.rounds.start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.rounds.start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() {
                // `AdvanceMaxBwFilter`, §5.5.6. A probe without samples forgets none.
                if sample.is_some_and(|s| !s.app_limited) && self.max_bw[1] > 0 {
                    self.max_bw = [self.max_bw[1], 0];
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let (lost, tx_in_flight) = sample.map_or((0, 0), |s| (s.lost, s.tx_in_flight));
        if !is_inflight_too_high(lost, tx_in_flight) && self.inflight_longterm != INFINITY {
            self.inflight_longterm = self.inflight_longterm.max(tx_in_flight);
            if self.state == State::Up {
                self.probe_upward(ack);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`, §5.3.3.9.
    fn probe_upward(&mut self, ack: &AckSample) {
        if !self.is_cwnd_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked = self.bw_probe_up_acked.saturating_add(ack.delivered_bytes);
        let steps = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
        self.bw_probe_up_acked -= steps * self.probe_up_acked_per_inc;
        let more = steps.saturating_mul(self.mss);
        self.inflight_longterm = self.inflight_longterm.saturating_add(more);
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// `IsTimeToProbeBW`, §5.3.3.8.
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= rounds
    }

    /// `IsTimeToCruise`, §5.3.3.9.
    fn is_time_to_cruise(&self, ack: &AckSample) -> bool {
        ack.in_flight <= self.inflight_with_headroom()
            && ack.in_flight <= self.inflight(self.max_bw())
    }

    /// `IsTimeToGoDown`, §5.3.3.9, and the transition.
    fn check_time_to_go_down(&mut self, ack: &AckSample, rate: u64) {
        if self.prev_probe_too_high && ack.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
        } else if self.is_cwnd_limited() && self.cwnd >= self.inflight_longterm {
            return self.reset_full_bw(rate);
        } else if !self.full_bw_now {
            return;
        }
        self.prev_probe_too_high = false;
        self.start_down(ack.now);
    }

    /// `UpdateMinRTT`, §5.3.4.3.
    fn update_min_rtt(&mut self, ack: &AckSample) {
        self.probe_rtt_expired = ack.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        let lower = |rtt: &Duration| self.probe_rtt_min_delay.is_none_or(|min| *rtt < min);
        if let Some(rtt) = ack.rtt.filter(|rtt| lower(rtt) || self.probe_rtt_expired) {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = ack.now;
        }
        let expired = ack.now > self.min_rtt_stamp + MIN_RTT_WINDOW;
        let lower = |rtt: Duration| self.min_rtt.is_none_or(|min| rtt < min);
        if self.probe_rtt_min_delay.is_some_and(|rtt| lower(rtt) || expired) {
            self.min_rtt = self.probe_rtt_min_delay;
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// `CheckProbeRTT` and `HandleProbeRTT`, §5.3.4.3.
    fn check_probe_rtt(&mut self, ack: &AckSample, sample: Option<&RateSample>) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.rounds.end_limit();
            self.probe_rtt = ProbeRttStay::default();
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.restart();
        }
        if self.state == State::ProbeRtt {
            let most = self.probe_rtt_cwnd();
            if self.probe_rtt.on_ack(&mut self.rounds, ack, most) {
                self.check_probe_rtt_done(ack.now);
            }
        }
        if sample.is_some() {
            self.idle_restart = false;
        }
    }

    /// `CheckProbeRTTDone`, §5.3.4.3, and `ExitProbeRTT`, §5.3.4.4.
    fn check_probe_rtt_done(&mut self, now: Instant) {
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.reset_short_term();
        if self.full_bw_reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// `ProbeRTTCwnd`, §5.6.4.5.
    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE * self.mss)
    }

    /// `SetPacingRateWithGain`, §5.6.2.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = share(share(self.bw, gain), PACED);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetCwnd`, §5.6.4.6.
    fn set_cwnd(&mut self, ack: &AckSample) {
        if ack.delivered_bytes > 0 {
            let wanted = self.bdp(self.bw, self.gains().1).saturating_add(self.extra_acked.max);
            let max_inflight = self.quantized(wanted);
            let grown = self.cwnd.saturating_add(ack.delivered_bytes);
            if self.full_bw_reached {
                self.cwnd = grown.min(max_inflight);
            } else if self.cwnd < max_inflight || self.rounds.delivered < self.initial_cwnd {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(MIN_PIPE * self.mss);
        }
        // `BoundCwndForProbeRTT`, §5.6.4.5.
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        // `BoundCwndForModel`, §5.6.4.7.
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => INFINITY,
        };
        self.cwnd = self.cwnd.min(cap.min(self.inflight_shortterm).max(MIN_PIPE * self.mss));
    }

    /// `SaveCwnd`, §5.6.4.4.
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.ca_state == CaState::Open && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `RestoreCwnd`, §5.6.4.4.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// `SaveStateUponLoss`, §5.5.11.1.
    fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    /// `HandleLostPacket`, §5.5.10.2, of `lost.size` bytes.
    fn on_lost(&mut self, now: Instant, lost: &LostSegment) {
        // `NoteLoss`.
        if !self.is_loss_in_round {
            self.loss_round_delivered = self.rounds.delivered;
            self.save_state();
        }
        self.is_loss_in_round = true;
        if lost.start != self.lost_end {
            self.lost_ranges = self.lost_ranges.saturating_add(1);
        }
        self.lost_end = lost.end;
        if !self.is_bw_probe_sample || !is_inflight_too_high(lost.lost, lost.tx_in_flight) {
            return;
        }
        // `InflightAtLoss`.
        let size = lost.end.saturating_sub(lost.start);
        let prev = lost.tx_in_flight.saturating_sub(size);
        let lost_prev = lost.lost.saturating_sub(size);
        let budget = share(prev, LOSS_THRESH).saturating_sub(lost_prev);
        let at_loss = prev.saturating_add(scaled(budget, UNIT, UNIT - LOSS_THRESH));
        // `HandleInflightTooHigh`.
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !lost.app_limited {
            self.inflight_longterm = at_loss.max(share(self.target_inflight(), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// `HandleSpuriousLossDetection`, §5.5.11.2.
    fn on_undo(&mut self) {
        self.ca_state = CaState::Open;
        self.restore_cwnd();
        self.is_loss_in_round = false;
        self.reset_full_bw(0);
        let undo = self.undo;
        self.bw_shortterm = self.bw_shortterm.max(undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(undo.inflight_longterm);
        if undo.state == Some(State::Startup) && self.state != State::Startup {
            self.full_bw_reached = false;
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if undo.state == Some(State::Up)
            && !matches!(self.state, State::Up | State::ProbeRtt)
        {
            self.start_refill();
        }
        self.undo.state = None;
    }

    /// `HandleRestartFromIdle`, §5.4.1.
    fn on_restart(&mut self, now: Instant) {
        self.idle_restart = true;
        self.extra_acked_since = now;
        self.extra_acked_delivered = 0;
        if self.is_in_probe_bw() {
            self.set_pacing_rate(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

impl CongestionControl for Bbr3 {
    /// `UpdateOnACK`, §5.2.3.
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let sample = self.rounds.on_ack(ack);
        if self.ca_state == CaState::Loss && !ack.after_rto {
            self.ca_state = CaState::Open;
            self.restore_cwnd();
        }
        if !self.has_seen_rtt && ack.rtt.is_some() {
            self.has_seen_rtt = true;
            self.pacing_rate = startup_rate(self.initial_cwnd, ack.rtt);
        }
        let rate = sample.and_then(|s| s.rate()).map_or(0, Rate::as_bps);
        self.loss_round_start = false;
        if let Some(sample) = &sample {
            self.update_latest_delivery(sample, rate);
            self.update_congestion_signals(sample, rate);
        }
        self.cwnd_used[0] |= ack.prior_in_flight.saturating_add(self.mss) > self.cwnd;
        self.update_aggregation(ack);
        let sample = sample.as_ref();
        self.check_full_bw(sample, rate);
        self.check_startup_done(sample);
        self.check_drain_done(ack);
        self.update_cycle(ack, sample, rate);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack, sample);
        // `AdvanceLatestDeliverySignals`, §5.5.10.3.
        if let Some(sample) = sample.filter(|_| self.loss_round_start) {
            self.bw_latest = rate;
            self.inflight_latest = sample.delivered;
        }
        // `BoundBWForModel`, §5.5.10.3.
        self.bw = self.max_bw().min(self.bw_shortterm);
        self.set_pacing_rate(self.gains().0);
        self.set_cwnd(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            // `OnEnterFastRecovery`, §5.6.4.4.
            CongestionEvent::Loss { .. } if self.ca_state != CaState::Recovery => {
                self.save_state();
                self.ca_state = CaState::Recovery;
            }
            CongestionEvent::Recovered { .. } => {
                self.ca_state = CaState::Open;
                self.restore_cwnd();
            }
            // `OnEnterRTO`, §5.6.4.4.
            CongestionEvent::Rto { first, .. } => {
                if first {
                    self.save_state();
                }
                self.ca_state = CaState::Loss;
                self.cwnd = self.mss;
            }
            CongestionEvent::SegmentLost { now, ref segment } => self.on_lost(now, segment),
            CongestionEvent::TransmitStart { now, app_limited } => {
                if app_limited || self.rounds.is_limited(self.rounds.delivered) {
                    self.on_restart(now);
                }
            }
            CongestionEvent::Undo { .. } => self.on_undo(),
            // §5.4.2: idle leaves the window.
            CongestionEvent::IdleRestart { .. } | CongestionEvent::Loss { .. } => {}
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if self.rounds.delivered == 0 { None } else { Rate::from_bps(self.pacing_rate) }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("mode", Unit::Count, self.state as u64);
        out.value("pacing-gain", Unit::Q20, (self.gains().0 << 20) / UNIT);
        let rates = [("bw", self.bw), ("pacing-rate", self.pacing_rate), ("max-bw", self.max_bw())];
        for (name, rate) in rates.into_iter().chain([("bw-shortterm", self.bw_shortterm)]) {
            if rate != INFINITY {
                out.value(name, Unit::BitsPerSecond, rate);
            }
        }
        for (name, bytes) in [
            ("inflight-longterm", self.inflight_longterm),
            ("inflight-shortterm", self.inflight_shortterm),
            ("extra-acked", self.extra_acked.max),
        ] {
            if bytes != INFINITY {
                out.value(name, Unit::Bytes, bytes);
            }
        }
        if let Some(min_rtt) = self.min_rtt {
            out.value("min-rtt", Unit::Picoseconds, min_rtt.as_ps());
        }
    }
}

#[cfg(test)]
mod tests;
