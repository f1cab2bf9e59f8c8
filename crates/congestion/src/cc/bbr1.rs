//! BBR, version 1: sends at the bandwidth that it measures, with the minimum RTT as the length of
//! the path.
//!
//! ## Algorithm
//! - `bw` is the maximum of the delivery-rate samples of the last 10 round trips; app-limited ones
//!   count only if they are larger. `min_rtt` is the minimum RTT of 10 s.
//! - `pacing rate = 0.99 pacing_gain bw`. `BDP = bw min_rtt`. The target is `cwnd_gain BDP`,
//!   `extra_acked` and three quanta, in an even number of segments; a quantum is a millisecond of
//!   the rate. cwnd grows by what is delivered, up to the target, and is 4 segments or more.
//! - STARTUP: both gains are 2.89. If three rounds have not raised `bw` by 25 %, the pipe is full.
//! - DRAIN: pacing gain 1/2.89 until the BDP is in flight.
//! - `PROBE_BW`: pacing gains 1.25, 0.75 and six times 1, each about one `min_rtt`; cwnd gain 2.
//!   The first lasts until 1.25 BDP are in flight or a segment is lost, the second ends when the
//!   BDP is in flight.
//! - `PROBE_RTT`: 10 s after the last minimum cwnd is 4 segments for 200 ms and one round.
//! - `extra_acked`, the maximum of 5 to 10 rounds, is what was acknowledged beyond `bw` times the
//!   time, at most `bw` times 100 ms.
//! - Policers: two intervals of 4 to 16 rounds, each ended by a loss, with 20 % of loss and rates
//!   within 1/8 or 4 kbit/s. Their mean is `bw`, with pacing gain 1, for 48 rounds.
//! - Loss: the first round of recovery sends what is delivered; cwnd is restored after it.
//!
//! ## Spec
//! `net/ipv4/tcp_bbr.c` of Linux (the constants are its); Cardwell et al., *BBR: Congestion-Based
//! Congestion Control*, ACM Queue 14 (5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00.
//!
//! ## Deviations
//! - Bytes and picoseconds, where Linux counts packets and microseconds.
//! - `bw` is the exact maximum; Linux (`lib/win_minmax.c`) keeps three samples of the window.
//! - The departure time of queued segments (`bbr_packets_in_net_at_edt`) is taken as now: the pacer
//!   of a connection holds segments back instead of queueing them with a time.
//! - The pacer counts payload, as Linux's own does; `sch_fq` counts frames.
//! - cwnd is restored one ACK after the repair of a timeout, and is one segment until then; Linux
//!   has what is in flight and one.
//! - The first timeout counts the flight as lost; Linux counts the segments that RACK marks.
//! - Not paced before the first delivery; Linux does not pace the first ten segments.
//! - The bytes in flight at the end of a phase are not rounded to segments.
//!
//! ## Kernel twin
//! `tcp_bbr.c` in Linux 6.18; measured beside it in `docs/evidence/findings.md`.

use alloc::boxed::Box;
use core::cmp::Ordering;

use lowtide_schema::Values;
use lowtide_units::{Duration, Instant, Probe, Rate, Unit};

use super::bbr::{self, CaState, MaxFilter, ProbeRttStay, Rounds, bytes_in, draw, window_rate};
use super::{
    AckSample, CcEntry, CcSetup, CongestionControl, CongestionEvent, DeclaredProperties,
    RateSample, Reaction, Requirements, per_round_trip,
};

/// Registration.
pub static ENTRY: CcEntry = CcEntry {
    name: "bbr1",
    summary: "BBR version 1: paces at the measured bandwidth; loss limits a round of recovery only",
    spec: "Linux tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00",
    equations: &[
        "bw = max(delivered / interval) of 10 rounds; min_rtt of 10 s; BDP = bw min_rtt",
        "pacing rate = 0.99 pacing_gain bw",
        "target = cwnd_gain BDP + extra_acked + 3 quanta; cwnd = min(cwnd + delivered, target)",
        "STARTUP 2.89, 2.89; DRAIN 0.35, 2.89; PROBE_BW 1.25, 0.75, six times 1, and 2; PROBE_RTT 1, 1 (pacing_gain, cwnd_gain)",
    ],
    params: &[],
    declared: DeclaredProperties {
        reacts_to: &[],
        floor_segments: 1,
        proportional: false,
        rate_based: true,
        exemptions: &[],
    },
    requires: Requirements { ecn: false, host_stamps: false, rate_samples: true },
    build,
};

/// `BBR_UNIT`: gains are in 1/256.
const UNIT: u64 = 256;
/// `bbr_high_gain`: 2 / ln 2, the smallest gain that doubles the rate each round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// `bbr_drain_gain`.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// `bbr_cwnd_gain`: room for delayed and aggregated ACKs.
const CWND_GAIN: u64 = 2 * UNIT;
/// `bbr_pacing_gain`, of `CYCLE_LEN` phases.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// `bbr_cycle_rand`: the cycle starts in any phase but that of 0.75.
const CYCLE_RAND: u64 = 7;
/// `bbr_bw_rtts`: the age of a bandwidth sample in rounds, at most.
const BW_ROUNDS: u64 = 10;
/// `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// `bbr_pacing_margin_percent`: the rate is 1 % below the estimate, so that queues drain.
const PACED_PERCENT: u64 = 99;
/// `bbr_cwnd_min_target`, segments: an ACK of every other segment needs four in flight.
const CWND_MIN_TARGET: u64 = 4;
/// `TCP_INIT_CWND`, segments.
const INIT_CWND: u64 = 10;
/// `bbr_full_bw_thresh` and `bbr_full_bw_cnt`.
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
const FULL_BW_COUNT: u32 = 3;
/// `bbr_min_tso_rate`, bit/s: a quantum is one segment below it, else two or more.
const MIN_TSO_RATE: u64 = 1_200_000;
/// `GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, bytes, and the most segments of a quantum.
const GSO_MAX: u64 = 65_215;
const QUANTUM_MAX: u64 = 0x7f;
/// `sk_pacing_shift`: a quantum is 2^-10 s of the rate; and 8 bits.
const QUANTUM_SHIFT: u32 = 10 + 3;
/// `bbr_lt_intvl_min_rtts`, and the most rounds of an interval.
const LT_ROUNDS: u32 = 4;
const LT_ROUNDS_MAX: u32 = 4 * LT_ROUNDS;
/// `bbr_lt_loss_thresh`: 50/256 of the delivered bytes are lost.
const LT_LOSS_THRESH: u64 = 50;
/// `bbr_lt_bw_ratio` as a divisor, and `bbr_lt_bw_diff` in bit/s.
const LT_BW_RATIO: u64 = 8;
const LT_BW_DIFF: u64 = 4000;
/// `bbr_lt_bw_max_rtts`.
const LT_BW_ROUNDS: u32 = 48;
/// `bbr_extra_acked_win_rtts`: each of the two maxima covers five rounds.
const EXTRA_ACKED_ROUNDS: u32 = 5;
/// `bbr_extra_acked_max_us`.
const EXTRA_ACKED_MAX: Duration = Duration::from_ms(100);
/// `bbr_ack_epoch_acked_reset_thresh`, segments.
const ACK_EPOCH_MAX: u64 = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Long-term sampling of policers.
#[derive(Clone, Debug, Default)]
struct LongTerm {
    sampling: bool,
    /// `bw` is the rate of the policer.
    in_use: bool,
    rounds: u32,
    /// Mean rate of the last interval, bit/s; zero for none.
    bw: u64,
    since: Instant,
    delivered: u64,
    lost: u64,
}

/// ACK aggregation.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    since: Instant,
    /// Bytes acknowledged in the epoch.
    acked: u64,
    /// Maxima of this window of rounds and of the one before.
    extra: [u64; 2],
    rounds: u32,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
struct Bbr1 {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// cwnd before recovery or `PROBE_RTT`.
    prior_cwnd: u64,
    /// bit/s.
    pacing_rate: u64,
    pacing_gain: u64,
    cwnd_gain: u64,
    mode: Mode,
    ca_state: CaState,
    /// The state at the ACK before.
    prior_ca_state: CaState,
    packet_conservation: bool,
    /// bit/s.
    bw: MaxFilter,
    rounds: Rounds,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    has_seen_rtt: bool,
    probe_rtt: ProbeRttStay,
    cycle: usize,
    cycle_at: Instant,
    random: u64,
    full_bw: u64,
    full_bw_rounds: u32,
    full_bw_reached: bool,
    idle_restart: bool,
    lt: LongTerm,
    aggregation: Aggregation,
    /// Time of the last delivery.
    delivered_at: Instant,
    /// Bytes lost on the connection.
    lost: u64,
}

fn build(_: &Values, setup: &CcSetup) -> Box<dyn CongestionControl> {
    let mut bbr = Bbr1 {
        mss: u64::from(setup.mss.max(1)),
        cwnd: setup.initial_window,
        ssthresh: u64::MAX,
        prior_cwnd: 0,
        pacing_rate: 0,
        pacing_gain: HIGH_GAIN,
        cwnd_gain: HIGH_GAIN,
        mode: Mode::Startup,
        ca_state: CaState::Open,
        prior_ca_state: CaState::Open,
        packet_conservation: false,
        bw: MaxFilter::default(),
        rounds: Rounds::default(),
        min_rtt: setup.rtt,
        min_rtt_at: setup.now,
        has_seen_rtt: false,
        probe_rtt: ProbeRttStay::default(),
        cycle: 0,
        cycle_at: setup.now,
        random: setup.seed,
        full_bw: 0,
        full_bw_rounds: 0,
        full_bw_reached: false,
        idle_restart: false,
        lt: LongTerm { since: setup.now, ..LongTerm::default() },
        aggregation: Aggregation { since: setup.now, ..Aggregation::default() },
        delivered_at: setup.now,
        lost: 0,
    };
    bbr.init_pacing_rate(setup.rtt);
    Box::new(bbr)
}

/// `value` times `gain`.
fn scaled(value: u64, gain: u64) -> u64 {
    bbr::scaled(value, gain, UNIT)
}

impl Bbr1 {
    /// The estimate in use: that of the policer, or the maximum.
    const fn bw(&self) -> u64 {
        if self.lt.in_use { self.lt.bw } else { self.bw.max }
    }

    /// The pacing rate of an estimate, bit/s.
    fn rate_of(bw: u64, gain: u64) -> u64 {
        bbr::scaled(scaled(bw, gain), PACED_PERCENT, 100)
    }

    /// `bbr_init_pacing_rate_from_rtt`: 2.89 windows per RTT, taken as 1 ms if unknown.
    fn init_pacing_rate(&mut self, rtt: Option<Duration>) {
        self.has_seen_rtt = rtt.is_some();
        self.pacing_rate = Self::rate_of(window_rate(self.cwnd, rtt), HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, bw: u64, gain: u64) {
        let rate = Self::rate_of(bw, gain);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`, bytes: what the host sends at once.
    fn quantum(&self) -> u64 {
        let least = if self.pacing_rate < MIN_TSO_RATE { 1 } else { 2 };
        let bytes = (self.pacing_rate >> QUANTUM_SHIFT).min(GSO_MAX);
        (bytes / self.mss).clamp(least, QUANTUM_MAX) * self.mss
    }

    /// `bbr_bdp`: the BDP times a gain, in whole segments.
    fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INIT_CWND * self.mss };
        let bytes = scaled(bytes_in(bw, min_rtt), gain);
        bytes.div_ceil(self.mss).saturating_mul(self.mss)
    }

    /// `bbr_quantization_budget`: room for the segments in both hosts, in an even number of
    /// segments, against delayed ACKs.
    fn quantized(&self, bytes: u64) -> u64 {
        let even = 2 * self.mss;
        let bytes = bytes.saturating_add(3 * self.quantum()).div_ceil(even).saturating_mul(even);
        // Small BDPs: the probe must get above them.
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        bytes.saturating_add(if probes { even } else { 0 })
    }

    /// `bbr_inflight`.
    fn inflight(&self, gain: u64) -> u64 {
        self.quantized(self.bdp(self.bw.max, gain))
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, ack: &AckSample, sample: &RateSample) {
        self.rounds.update(sample);
        if self.rounds.start {
            self.packet_conservation = false;
            self.bw.start_round(self.rounds.count);
        }
        self.sample_long_term(ack.lost_bytes > 0, sample.app_limited);
        let bw = sample.rate().map_or(0, Rate::as_bps);
        if !sample.app_limited || bw >= self.bw.max {
            self.bw.add(self.rounds.count, bw, BW_ROUNDS);
        }
    }

    /// `bbr_lt_bw_sampling`.
    fn sample_long_term(&mut self, lost_now: bool, app_limited: bool) {
        // Linux ends intervals at `delivered_mstamp`: a timeout adds no silence.
        let now = self.delivered_at;
        if self.lt.in_use {
            if self.mode == Mode::ProbeBw && self.rounds.start {
                self.lt.rounds += 1;
                if self.lt.rounds >= LT_BW_ROUNDS {
                    self.reset_long_term(now);
                    self.enter_probe_bw(now);
                }
            }
            return;
        }
        if !self.lt.sampling {
            // The policer has no tokens left when it drops the first packet.
            if !lost_now {
                return;
            }
            self.start_interval(now);
            self.lt.sampling = true;
        }
        if app_limited {
            return self.reset_long_term(now);
        }
        self.lt.rounds += u32::from(self.rounds.start);
        if self.lt.rounds < LT_ROUNDS {
            return;
        }
        if self.lt.rounds > LT_ROUNDS_MAX {
            return self.reset_long_term(now);
        }
        // An interval ends with a loss too, when the tokens are used up again.
        if !lost_now {
            return;
        }
        let lost = self.lost.saturating_sub(self.lt.lost);
        let delivered = self.rounds.delivered.saturating_sub(self.lt.delivered);
        let lossy = u128::from(lost) * u128::from(UNIT)
            >= u128::from(LT_LOSS_THRESH) * u128::from(delivered);
        let span = now.saturating_since(self.lt.since);
        if delivered == 0 || !lossy || span < Duration::from_ms(1) {
            return;
        }
        let bw = per_round_trip(delivered, 100, span.as_ps()).map_or(0, Rate::as_bps);
        self.end_interval(now, bw);
    }

    /// `bbr_lt_bw_interval_done`.
    fn end_interval(&mut self, now: Instant, bw: u64) {
        let diff = bw.abs_diff(self.lt.bw);
        if self.lt.bw > 0 && (diff <= self.lt.bw / LT_BW_RATIO || diff <= LT_BW_DIFF) {
            self.lt.bw = bw.midpoint(self.lt.bw);
            self.lt.in_use = true;
            self.pacing_gain = UNIT;
            self.lt.rounds = 0;
            return;
        }
        self.lt.bw = bw;
        self.start_interval(now);
    }

    fn start_interval(&mut self, now: Instant) {
        let (delivered, lost) = (self.rounds.delivered, self.lost);
        self.lt = LongTerm { since: now, delivered, lost, rounds: 0, ..self.lt };
    }

    fn reset_long_term(&mut self, now: Instant) {
        self.lt = LongTerm::default();
        self.start_interval(now);
    }

    /// `bbr_update_ack_aggregation`.
    fn update_aggregation(&mut self, ack: &AckSample) {
        let (bw, cwnd, epoch_max) = (self.bw(), self.cwnd, ACK_EPOCH_MAX * self.mss);
        let aggregation = &mut self.aggregation;
        if self.rounds.start {
            aggregation.rounds += 1;
            if aggregation.rounds >= EXTRA_ACKED_ROUNDS {
                aggregation.rounds = 0;
                aggregation.extra = [0, aggregation.extra[0]];
            }
        }
        let mut expected = bytes_in(bw, ack.now.saturating_since(aggregation.since));
        let acked = aggregation.acked.saturating_add(ack.delivered_bytes);
        if aggregation.acked <= expected || acked >= epoch_max {
            aggregation.acked = 0;
            aggregation.since = ack.now;
            expected = 0;
        }
        aggregation.acked = aggregation.acked.saturating_add(ack.delivered_bytes);
        let extra = aggregation.acked.saturating_sub(expected).min(cwnd);
        aggregation.extra[0] = aggregation.extra[0].max(extra);
    }

    /// `bbr_update_cycle_phase`.
    fn update_cycle(&mut self, ack: &AckSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed = ack.now.saturating_since(self.cycle_at);
        let full_length = self.min_rtt.is_some_and(|min_rtt| elapsed > min_rtt);
        let flight = ack.prior_in_flight;
        let ends = match self.pacing_gain.cmp(&UNIT) {
            // A small buffer may not hold 1.25 BDP.
            Ordering::Greater => {
                let full =
                    || flight.saturating_add(self.quantum()) >= self.inflight(self.pacing_gain);
                full_length && (ack.lost_bytes > 0 || full())
            }
            Ordering::Less => full_length || flight <= self.inflight(UNIT),
            Ordering::Equal => full_length,
        };
        if ends {
            self.advance_cycle(ack.now);
        }
    }

    fn advance_cycle(&mut self, now: Instant) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    /// `bbr_reset_probe_bw_mode`: flows of one bottleneck must not probe together.
    fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - draw(&mut self.random, CYCLE_RAND) as usize;
        self.advance_cycle(now);
    }

    /// `bbr_check_full_bw_reached`.
    fn check_full_bw(&mut self, app_limited: bool) {
        if self.full_bw_reached || !self.rounds.start || app_limited {
            return;
        }
        if self.bw.max >= scaled(self.full_bw, FULL_BW_THRESH) {
            self.full_bw = self.bw.max;
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_COUNT;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, ack: &AckSample) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = self.inflight(UNIT);
        }
        if self.mode == Mode::Drain && ack.in_flight <= self.inflight(UNIT) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.prior_ca_state == CaState::Open && self.mode != Mode::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, ack: &AckSample, sample: Option<&RateSample>) {
        let expired = ack.now.saturating_since(self.min_rtt_at) > MIN_RTT_WINDOW;
        // `FLAG_ACK_MAYBE_DELAYED`: the ACK of a lone short segment.
        let delayed = ack.acked_segments == 1
            && ack.acked_bytes < self.mss
            && sample.is_some_and(|s| s.delivered == ack.acked_bytes);
        // Since Linux 5.10 an equal one does not postpone PROBE_RTT.
        let lower = |rtt: &Duration| self.min_rtt.is_none_or(|min| *rtt < min);
        if let Some(rtt) = ack.rtt.filter(|rtt| lower(rtt) || expired && !delayed) {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt = ProbeRttStay::default();
            self.rounds.end_limit();
        }
        let most = CWND_MIN_TARGET * self.mss;
        if self.mode == Mode::ProbeRtt && self.probe_rtt.on_ack(&mut self.rounds, ack, most) {
            self.check_probe_rtt_done(ack.now);
        }
        if sample.is_some() {
            self.idle_restart = false;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn check_probe_rtt_done(&mut self, now: Instant) {
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.lt.in_use => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, ack: &AckSample) {
        let acked = ack.delivered_bytes;
        if acked > 0 && !self.recovers_or_restores(ack) {
            let bw = self.bw();
            let mut target = self.bdp(bw, self.cwnd_gain);
            if self.full_bw_reached {
                let [current, before] = self.aggregation.extra;
                let extra = current.max(before).min(bytes_in(bw, EXTRA_ACKED_MAX));
                target = target.saturating_add(extra);
            }
            target = self.quantized(target);
            let grown = self.cwnd.saturating_add(acked);
            if self.full_bw_reached {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || self.rounds.delivered < INIT_CWND * self.mss {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(CWND_MIN_TARGET * self.mss);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(CWND_MIN_TARGET * self.mss);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`; returns whether packets are conserved.
    fn recovers_or_restores(&mut self, ack: &AckSample) -> bool {
        let conserved = ack.in_flight.saturating_add(ack.delivered_bytes);
        self.cwnd = self.cwnd.saturating_sub(ack.lost_bytes).max(self.mss);
        let (prior, state) = (self.prior_ca_state, self.ca_state);
        if state == CaState::Recovery && prior != CaState::Recovery {
            self.packet_conservation = true;
            self.rounds.restart();
            self.cwnd = conserved;
        } else if state == CaState::Open && prior != CaState::Open {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_ca_state = state;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.packet_conservation
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &AckSample) -> Reaction {
        let sample = self.rounds.on_ack(ack);
        self.lost = self.lost.saturating_add(ack.lost_bytes);
        if ack.delivered_bytes > 0 {
            self.delivered_at = ack.now;
        }
        if self.ca_state == CaState::Loss && !ack.after_rto {
            self.ca_state = CaState::Open;
        }
        if let Some(sample) = &sample {
            self.update_bw(ack, sample);
            if ack.delivered_bytes > 0 {
                self.update_aggregation(ack);
            }
        }
        self.update_cycle(ack);
        self.check_full_bw(sample.is_some_and(|s| s.app_limited));
        self.check_drain(ack);
        self.update_min_rtt(ack, sample.as_ref());
        self.update_gains();
        if !self.has_seen_rtt && ack.rtt.is_some() {
            self.init_pacing_rate(ack.rtt);
        }
        self.set_pacing_rate(self.bw(), self.pacing_gain);
        self.set_cwnd(ack);
        Reaction::None
    }

    fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { .. } => {
                if self.ca_state != CaState::Recovery {
                    self.save_cwnd();
                }
                self.ca_state = CaState::Recovery;
            }
            CongestionEvent::Recovered { .. } => self.ca_state = CaState::Open,
            CongestionEvent::Rto { first, in_flight, .. } => {
                if first {
                    self.save_cwnd();
                    self.lost = self.lost.saturating_add(in_flight);
                }
                self.ca_state = CaState::Loss;
                self.prior_ca_state = CaState::Loss;
                self.full_bw = 0;
                self.rounds.start = true;
                self.sample_long_term(true, false);
                self.cwnd = self.mss;
            }
            CongestionEvent::TransmitStart { now, app_limited } => {
                if app_limited || self.rounds.is_limited(self.rounds.delivered) {
                    self.idle_restart = true;
                    self.aggregation.since = now;
                    self.aggregation.acked = 0;
                    match self.mode {
                        Mode::ProbeBw => self.set_pacing_rate(self.bw(), UNIT),
                        Mode::ProbeRtt => self.check_probe_rtt_done(now),
                        Mode::Startup | Mode::Drain => {}
                    }
                }
            }
            CongestionEvent::Undo { now } => {
                self.ca_state = CaState::Open;
                self.full_bw = 0;
                self.full_bw_rounds = 0;
                self.reset_long_term(now);
            }
            // tcp_slow_start_after_idle_check: not for controls that set their own rate.
            CongestionEvent::IdleRestart { .. } | CongestionEvent::SegmentLost { .. } => {}
        }
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Not paced before the first delivery (`tcp_update_skb_after_send` in Linux: before the
    /// eleventh segment).
    fn pacing_rate(&self) -> Option<Rate> {
        if self.rounds.delivered == 0 { None } else { Rate::from_bps(self.pacing_rate) }
    }

    fn probe(&self, out: &mut dyn Probe) {
        out.value("bw", Unit::BitsPerSecond, self.bw());
        out.value("pacing-rate", Unit::BitsPerSecond, self.pacing_rate);
        out.value("pacing-gain", Unit::Q20, self.pacing_gain << 12);
        out.value("mode", Unit::Count, self.mode as u64);
        if let Some(min_rtt) = self.min_rtt {
            out.value("min-rtt", Unit::Picoseconds, min_rtt.as_ps());
        }
    }
}

#[cfg(test)]
mod tests;
