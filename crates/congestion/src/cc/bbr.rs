//! Parts of both versions of BBR: arithmetic, packet-timed rounds, maxima over rounds, the stay in
//! `PROBE_RTT`.

use lowtide_units::{Duration, Instant, Rate};

use super::{AckSample, RateSample, per_round_trip};

#[cfg(test)]
pub(super) mod flow;

/// Rounds that a [`MaxFilter`] covers besides the current one.
const ROUNDS: u64 = 10;

/// `value` times `num / den`.
pub(super) fn scaled(value: u64, num: u64, den: u64) -> u64 {
    narrow(u128::from(value) * u128::from(num) / u128::from(den))
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Bytes that `bps` sends in `span`, rounded up.
pub(super) fn bytes_in(bps: u64, span: Duration) -> u64 {
    narrow((u128::from(bps) * u128::from(span.as_ps())).div_ceil(8_000_000_000_000))
}

/// A window per RTT, taken as 1 ms if unknown, bit/s.
pub(super) fn window_rate(window: u64, rtt: Option<Duration>) -> u64 {
    let rtt = rtt.unwrap_or(Duration::from_ms(1)).max(Duration::from_us(1));
    per_round_trip(window, 100, rtt.as_ps()).map_or(0, Rate::as_bps)
}

/// Knuth's linear congruential generator (MMIX), whose high bits are the random ones.
pub(super) const fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*state >> 33) % below
}

/// Loss recovery of the connection, as `TCP_CA_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum CaState {
    #[default]
    Open,
    Recovery,
    Loss,
}

/// Maximum of the samples of the last rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxFilter {
    /// Maximum of each round, by its number modulo the length.
    rounds: [u64; ROUNDS as usize + 1],
    pub(super) max: u64,
}

impl MaxFilter {
    const fn at(round: u64) -> usize {
        (round % (ROUNDS + 1)) as usize
    }

    /// Old samples count until there is another: an app-limited flow keeps its estimate.
    pub(super) const fn start_round(&mut self, round: u64) {
        self.rounds[Self::at(round)] = 0;
    }

    /// Adds a sample of `round`; the maximum is over that and `before` rounds, at most [`ROUNDS`].
    pub(super) fn add(&mut self, round: u64, value: u64, before: u64) {
        let slot = &mut self.rounds[Self::at(round)];
        *slot = value.max(*slot);
        let last = round.saturating_sub(before)..=round;
        self.max = last.map(|round| self.rounds[Self::at(round)]).max().unwrap_or(0);
    }
}

/// Deliveries of the connection, and its packet-timed rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Bytes delivered.
    pub(super) delivered: u64,
    /// Rounds so far.
    pub(super) count: u64,
    /// This ACK began one.
    pub(super) start: bool,
    /// A round ends when a segment that was sent later is delivered.
    next_delivered: u64,
    /// Segments sent with this many bytes delivered are app-limited: cwnd was that of `PROBE_RTT`.
    limited: Option<(u64, u64)>,
}

impl Rounds {
    /// Counts the delivery of an ACK. Returns its sample.
    pub(super) fn on_ack(&mut self, ack: &AckSample) -> Option<RateSample> {
        let sample = ack.rate_sample.map(|sample| RateSample {
            app_limited: sample.app_limited || self.is_limited(sample.prior_delivered),
            ..sample
        });
        let grown = self.delivered.saturating_add(ack.delivered_bytes);
        self.delivered = sample.map_or(grown, |s| s.prior_delivered.saturating_add(s.delivered));
        self.start = false;
        sample
    }

    /// Begins a round if `sample` is of a segment that was sent in this one.
    pub(super) const fn update(&mut self, sample: &RateSample) {
        if sample.prior_delivered >= self.next_delivered {
            self.restart();
            self.count += 1;
            self.start = true;
        }
    }

    /// The round ends with what is sent from now on.
    pub(super) const fn restart(&mut self) {
        self.next_delivered = self.delivered;
    }

    /// The window of `PROBE_RTT` limits what is sent until `in_flight` is delivered.
    pub(super) fn limit(&mut self, in_flight: u64) {
        let from = self.limited.map_or(self.delivered, |(from, _)| from);
        self.limited = Some((from, self.delivered.saturating_add(in_flight)));
    }

    pub(super) const fn is_limited(&self, delivered: u64) -> bool {
        match self.limited {
            Some((from, until)) => from <= delivered && delivered <= until,
            None => false,
        }
    }

    /// A later `PROBE_RTT` limits other segments.
    pub(super) const fn end_limit(&mut self) {
        self.limited = None;
    }
}

/// Time in `PROBE_RTT` (`bbr_probe_rtt_mode_ms`; `ProbeRTTDuration`).
const PROBE_RTT_TIME: Duration = Duration::from_ms(200);

/// The stay in `PROBE_RTT`, from when the flight is small enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRttStay {
    since: Option<Instant>,
    round_done: bool,
}

impl ProbeRttStay {
    /// Processes an ACK. Returns whether a round began since at most `most` bytes are in flight.
    pub(super) fn on_ack(&mut self, rounds: &mut Rounds, ack: &AckSample, most: u64) -> bool {
        rounds.limit(ack.in_flight);
        if self.since.is_some() {
            self.round_done |= rounds.start;
        } else if ack.in_flight <= most {
            *self = Self { since: Some(ack.now), round_done: false };
            rounds.restart();
        }
        self.round_done
    }

    /// Whether its time is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.since.is_some_and(|since| now.saturating_since(since) > PROBE_RTT_TIME)
    }
}
