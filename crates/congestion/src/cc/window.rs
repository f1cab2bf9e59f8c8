//! The window that most controls share: slow start, additive increase, loss, timeout, idle, undo.
//!
//! A helper for controls, not a control: it does not process ECN. Differences between controls (the
//! depth of a reaction, growth beyond slow start) are a factor here or belong in their own file.

use lowtide_schema::{DefaultValue, Param, ValueKind, Values};

use super::{AckSample, CcSetup, CongestionEvent, GrowthCounts};

const ENDS: &[&str] = &["exact", "overshoot"];

/// The parameter of controls that can end slow start in either way.
pub const SLOW_START_END: Param = Param {
    name: "slow-start-end",
    kind: ValueKind::Choice(ENDS),
    default: DefaultValue::Is("exact"),
    doc: "Slow start stops at ssthresh, or an ACK with cwnd not above it counts in full.",
    source: "RFC 5681 §3.1 leaves cwnd = ssthresh open; FreeBSD newreno_ack_received overshoots",
};

/// Returns whether [`SLOW_START_END`] is `overshoot`.
pub fn overshoots(values: &Values) -> bool {
    values.name(SLOW_START_END.name) == "overshoot"
}

/// A factor below one, as a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Factor {
    /// Numerator.
    pub num: u32,
    /// Denominator; must not be zero.
    pub den: u32,
}

impl Factor {
    /// One half (RFC 5681 eq. 4).
    pub const HALF: Self = Self { num: 1, den: 2 };

    /// `bytes` times the factor, rounded down.
    pub const fn of(self, bytes: u64) -> u64 {
        // The factor is below one, so the result fits.
        (bytes as u128 * self.num as u128 / self.den as u128) as u64
    }
}

/// cwnd and ssthresh with the reactions of RFC 5681.
#[expect(clippy::struct_excessive_bools, reason = "independent rules")]
#[derive(Clone, Debug)]
pub struct CongestionWindow {
    cwnd: u64,
    ssthresh: u64,
    mss: u32,
    /// Slow start overshoots or not all bytes count: growth takes the longer path.
    uncommon_growth: bool,
    overshoots: bool,
    counts: GrowthCounts,
    cut_from_window: bool,
    ecn: bool,
    beta: Factor,
    floor: u64,
    ssthresh_floor: u64,
    abc_limit: u64,
    /// Maximum window after idle, bytes.
    restart_window: u64,
    /// Bytes acknowledged since the last growth in congestion avoidance (RFC 3465 §2.1).
    bytes_counted: u64,
    /// cwnd before the last ECN cut, for a loss in the same window of data.
    cwnd_before_cut: Option<u64>,
    /// cwnd, ssthresh and `cwnd_before_cut` before the last loss reaction.
    undo: Option<(u64, u64, Option<u64>)>,
}

impl CongestionWindow {
    /// The window of a new connection; a loss reduces it to `beta` times the bytes in flight.
    pub const fn new(setup: &CcSetup, beta: Factor) -> Self {
        Self {
            cwnd: setup.initial_window,
            ssthresh: setup.rules.initial_ssthresh,
            mss: setup.mss,
            uncommon_growth: !matches!(setup.rules.counts, GrowthCounts::Bytes),
            overshoots: false,
            counts: setup.rules.counts,
            cut_from_window: setup.rules.cut_from_window,
            ecn: setup.ecn,
            beta,
            floor: setup.floor,
            ssthresh_floor: setup.ssthresh_floor,
            abc_limit: setup.abc_limit,
            restart_window: match setup.rules.restart_window {
                Some(bytes) => bytes,
                None => setup.initial_window,
            },
            bytes_counted: 0,
            cwnd_before_cut: None,
            undo: None,
        }
    }

    /// Sets the end of slow start ([`SLOW_START_END`]).
    #[must_use]
    pub const fn overshooting(mut self, overshoots: bool) -> Self {
        self.overshoots = overshoots;
        self.uncommon_growth = overshoots || !matches!(self.counts, GrowthCounts::Bytes);
        self
    }

    /// Congestion window, bytes.
    pub const fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Slow-start threshold, bytes; before the first reaction [`super::WindowRules`] sets it.
    pub const fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    /// Payload bytes of a full segment.
    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// Minimum window after a reaction, bytes.
    pub const fn floor(&self) -> u64 {
        self.floor
    }

    /// ECN was negotiated.
    pub const fn ecn(&self) -> bool {
        self.ecn
    }

    /// Sets the factor by which a loss reduces the window.
    pub const fn set_beta(&mut self, beta: Factor) {
        self.beta = beta;
    }

    /// Factor by which a loss reduces the window.
    pub const fn beta(&self) -> Factor {
        self.beta
    }

    /// True if [`CongestionEvent::Undo`] would restore something.
    pub const fn can_undo(&self) -> bool {
        self.undo.is_some()
    }

    /// Grows by RFC 5681 with the byte counting of RFC 3465, if this ACK may grow the window.
    pub fn grow(&mut self, ack: &AckSample) {
        if ack.may_grow {
            let rest = self.slow_start(ack);
            self.congestion_avoidance(rest);
        }
    }

    /// Ends slow start at the present window, without a reduction.
    pub const fn end_slow_start(&mut self) {
        self.ssthresh = self.cwnd;
    }

    /// Slow start; returns the bytes of this ACK left for congestion avoidance.
    ///
    /// At most L bytes of an ACK count, one segment while a timeout is repaired (RFC 3465 §2.3).
    /// cwnd stops at ssthresh and the rest of the ACK counts beyond it, so the window after slow
    /// start does not depend on ACK bundling. With overshoot it does, and the first ACK after a cut
    /// still counts in slow start.
    pub fn slow_start(&mut self, ack: &AckSample) -> u64 {
        self.slow_start_by(ack, 1)
    }

    /// As [`Self::slow_start`], but the window grows by one byte for `divisor` bytes that count
    /// (RFC 9406 §4.2); `divisor` must not be zero.
    pub fn slow_start_by(&mut self, ack: &AckSample, divisor: u64) -> u64 {
        if self.uncommon_growth {
            return self.uncommon_slow_start(ack, divisor);
        }
        if self.cwnd >= self.ssthresh {
            return ack.acked_bytes;
        }
        let counted = ack.acked_bytes.min(self.slow_start_limit(ack)) / divisor;
        self.raise_to_ssthresh(counted)
    }

    /// [`Self::slow_start_by`] with the rules that few stacks have.
    #[inline(never)]
    fn uncommon_slow_start(&mut self, ack: &AckSample, divisor: u64) -> u64 {
        let acked = self.counted_bytes(ack);
        let over =
            if self.overshoots { self.cwnd > self.ssthresh } else { self.cwnd >= self.ssthresh };
        if over {
            return acked;
        }
        let counted = acked.min(self.slow_start_limit(ack)) / divisor;
        if self.overshoots {
            self.cwnd = self.cwnd.saturating_add(counted);
            return 0;
        }
        self.raise_to_ssthresh(counted)
    }

    /// Bytes of an ACK that count in slow start.
    fn slow_start_limit(&self, ack: &AckSample) -> u64 {
        let all = matches!(self.counts, GrowthCounts::Delivered);
        if ack.after_rto && !all { self.mss() } else { self.abc_limit }
    }

    /// Grows by `counted` bytes up to ssthresh, which is above cwnd; returns the bytes left.
    fn raise_to_ssthresh(&mut self, counted: u64) -> u64 {
        let room = self.ssthresh - self.cwnd;
        self.cwnd = self.cwnd.saturating_add(counted.min(room));
        counted.saturating_sub(room)
    }

    /// Acknowledged bytes of an ACK that count for growth, by [`GrowthCounts`].
    pub fn counted_bytes(&self, ack: &AckSample) -> u64 {
        match self.counts {
            GrowthCounts::Bytes => ack.acked_bytes,
            GrowthCounts::LimitedBytes => ack.acked_bytes.min(self.abc_limit),
            GrowthCounts::Acks if ack.acked_bytes > 0 => self.mss(),
            GrowthCounts::Acks => 0,
            GrowthCounts::Delivered => ack.delivered_bytes,
        }
    }

    /// Additive increase: one segment per window of acknowledged bytes (RFC 3465 §2.1).
    pub fn congestion_avoidance(&mut self, acked_bytes: u64) {
        self.additive_increase(acked_bytes, self.mss());
    }

    /// As [`Self::congestion_avoidance`] with an increase other than a segment, bytes.
    pub fn additive_increase(&mut self, acked_bytes: u64, increase: u64) {
        self.bytes_counted = self.bytes_counted.saturating_add(acked_bytes);
        if self.bytes_counted >= self.cwnd {
            self.bytes_counted -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(increase);
        }
    }

    /// Raises cwnd to `bytes`, never lowers it.
    pub fn raise_to(&mut self, bytes: u64) {
        self.cwnd = self.cwnd.max(bytes);
    }

    /// Before an ECN cut: drops the part of cwnd that the peer's window left unused, if the cut
    /// starts from the smaller of the two.
    pub fn drop_unused(&mut self, ack: &AckSample) {
        if self.cut_from_window {
            self.cwnd = self.cwnd.min(ack.snd_wnd.max(self.floor));
        }
    }

    /// Cuts the window for ECN to `target` bytes, or to the floor.
    ///
    /// A window already below the floor (after a timeout) is not raised. An earlier loss reaction
    /// can no longer be undone: the congestion was real.
    pub fn cut_to(&mut self, target: u64) {
        self.cwnd_before_cut = Some(self.cwnd);
        self.undo = None;
        self.lower_to(target.max(self.floor));
    }

    /// Processes loss, timeout, end of recovery, idle restart and undo.
    pub fn on_event(&mut self, event: &CongestionEvent) {
        match *event {
            CongestionEvent::Loss { in_flight, already_reduced, .. } => {
                self.save();
                // RFC 3168 §6.1.2: one reduction per window of data. After an ECN cut the loss
                // reduces the window to the value that the loss alone would give, and no further.
                let cut_from = self.cwnd_before_cut.take().filter(|_| already_reduced);
                let before = cut_from.unwrap_or(in_flight);
                let target = self.beta.of(before).max(self.floor);
                self.lower_to(target);
            }
            CongestionEvent::Recovered { in_flight, .. } => {
                // RFC 6582 §3.2 step 3 (1): no burst when little data is in flight.
                let bound = in_flight.max(self.mss()).saturating_add(self.mss());
                self.cwnd = self.cwnd.min(bound);
            }
            CongestionEvent::Rto { first, in_recovery, in_flight, .. } => {
                if first {
                    if !in_recovery || self.undo.is_none() {
                        self.save();
                    }
                    let target = self.beta.of(in_flight).max(self.floor);
                    self.ssthresh = target.max(self.ssthresh_floor);
                }
                self.cwnd = self.mss();
                self.bytes_counted = 0;
                self.cwnd_before_cut = None;
            }
            CongestionEvent::IdleRestart { halvings, .. } => {
                let mut most = self.restart_window;
                if let Some(halvings) = halvings {
                    // RFC 2861 §3.1: ssthresh remembers three quarters of the window.
                    self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
                    most = most.max(self.cwnd.checked_shr(halvings).unwrap_or(0));
                }
                self.cwnd = self.cwnd.min(most);
                self.bytes_counted = 0;
                self.cwnd_before_cut = None;
                self.undo = None;
            }
            CongestionEvent::TransmitStart { .. } | CongestionEvent::SegmentLost { .. } => {}
            CongestionEvent::Undo { .. } => {
                if let Some((cwnd, ssthresh, cut_from)) = self.undo.take() {
                    self.cwnd = self.cwnd.max(cwnd);
                    self.ssthresh = self.ssthresh.max(ssthresh);
                    // The earlier cut still counts in its window of data.
                    self.cwnd_before_cut = cut_from;
                }
            }
        }
    }

    /// Lowers cwnd and ssthresh to `target` in one step, ssthresh not below its own floor.
    fn lower_to(&mut self, target: u64) {
        self.ssthresh = target.max(self.ssthresh_floor);
        self.cwnd = self.cwnd.min(target);
        self.bytes_counted = 0;
    }

    const fn save(&mut self) {
        self.undo = Some((self.cwnd, self.ssthresh, self.cwnd_before_cut));
    }
}

#[cfg(test)]
mod tests;
