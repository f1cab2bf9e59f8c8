//! Rules of rate-based controls, on a line of [`LINE`] with a base round trip of [`BASE_RTT`] and a
//! queue that drops nothing: a sender that paces as the connection does, one ACK per segment.

use std::collections::VecDeque;

use lowtide_units::{Bytes, Duration, Instant, Rate};

use super::flow::{MSS, SETUP};
use super::{RuleFailure, Subject};
use lowtide_tcp::cc::{AckSample, CongestionControl, RateSample};

/// 120 segments per round trip.
const LINE: u64 = 34_752_000;
const BASE_RTT: Duration = Duration::from_ms(40);
const BDP: u64 = 120 * MSS;

#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    arrives: Instant,
    first_sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    app_limited: bool,
    in_flight: u64,
}

struct Path {
    cc: Box<dyn CongestionControl>,
    now: Instant,
    line: Rate,
    free_at: Instant,
    pace_at: Instant,
    flight: VecDeque<Sent>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The application writes one segment per this time; `None` for a full send buffer.
    write_every: Option<Duration>,
}

impl Path {
    fn new(subject: Subject<'_>) -> Self {
        Self {
            cc: (subject.entry.build)(subject.values, &SETUP),
            now: Instant::ZERO,
            line: Rate::from_bps(LINE).expect("not zero"),
            free_at: Instant::ZERO,
            pace_at: Instant::ZERO,
            flight: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            write_every: None,
        }
    }

    fn in_flight(&self) -> u64 {
        self.flight.len() as u64 * MSS
    }

    /// Runs for `span`. Returns the bytes delivered and the largest flight.
    fn run(&mut self, span: Duration) -> (u64, u64) {
        let (end, before, mut largest) = (self.now + span, self.delivered, 0);
        loop {
            let room = self.in_flight() + MSS <= self.cc.cwnd().max(MSS);
            let send_at = if room { self.pace_at.max(self.now) } else { Instant::FAR_FUTURE };
            let ack_at = self.flight.front().map_or(Instant::FAR_FUTURE, |s| s.arrives);
            self.now = send_at.min(ack_at).min(end).max(self.now);
            if self.now >= end {
                return (self.delivered - before, largest);
            }
            if ack_at <= send_at {
                self.ack();
            } else {
                self.send();
            }
            largest = largest.max(self.in_flight());
        }
    }

    fn send(&mut self) {
        if self.flight.is_empty() {
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
        }
        let size = Bytes::new(MSS);
        self.free_at = self.free_at.max(self.now) + self.line.serialization(size);
        self.flight.push_back(Sent {
            at: self.now,
            arrives: self.free_at + BASE_RTT,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.write_every.is_some(),
            in_flight: self.in_flight() + MSS,
        });
        let paced = self.cc.pacing_rate().map_or(Duration::ZERO, |rate| rate.serialization(size));
        self.pace_at = self.now + self.write_every.map_or(paced, |every| every.max(paced));
    }

    fn ack(&mut self) {
        let prior_in_flight = self.in_flight();
        let Some(sent) = self.flight.pop_front() else { return };
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent_at = sent.at;
        let send = sent.at.saturating_since(sent.first_sent_at);
        let sample = RateSample {
            prior_delivered: sent.delivered,
            delivered: self.delivered - sent.delivered,
            interval: send.max(self.now.saturating_since(sent.delivered_at)),
            app_limited: sent.app_limited,
            tx_in_flight: sent.in_flight,
            lost: 0,
        };
        let _ = self.cc.on_ack(&AckSample {
            now: self.now,
            snd_una: self.delivered,
            snd_nxt: self.delivered + self.in_flight(),
            acked_bytes: MSS,
            acked_segments: 1,
            delivered_bytes: MSS,
            delivered_segments: 1,
            rtt: Some(self.now.saturating_since(sent.at)),
            in_flight: self.in_flight(),
            prior_in_flight,
            rate_sample: Some(sample),
            app_limited: sample.app_limited,
            may_grow: true,
            ..AckSample::default()
        });
    }

    /// Share of the line that is delivered in `span`, in percent.
    fn share(&mut self, span: Duration) -> u64 {
        let line = self.line.bytes_in(span).as_u64();
        self.run(span).0 * 100 / line
    }
}

pub(super) fn fills_the_line(subject: Subject<'_>) -> RuleFailure {
    let mut path = Path::new(subject);
    let _ = path.run(Duration::from_secs(2));
    let (share, rate) = (path.share(Duration::from_secs(4)), path.cc.pacing_rate());
    (share < 90 || rate.is_none())
        .then(|| format!("{share} % of the line after 2 s, pacing rate {rate:?}"))
}

pub(super) fn bounds_the_flight(subject: Subject<'_>) -> RuleFailure {
    let mut path = Path::new(subject);
    let (_, start) = path.run(Duration::from_secs(2));
    let (_, then) = path.run(Duration::from_secs(4));
    (start > 4 * BDP || then > 3 * BDP)
        .then(|| format!("{start} B in flight in the first 2 s, {then} B then; the BDP is {BDP} B"))
}

pub(super) fn follows_the_line(subject: Subject<'_>, seconds: u64) -> RuleFailure {
    let mut path = Path::new(subject);
    let _ = path.run(Duration::from_secs(2));
    path.line = Rate::from_bps(LINE / 2).expect("not zero");
    let _ = path.run(Duration::from_secs(seconds));
    let (_, flight) = path.run(Duration::from_secs(1));
    let bound = 3 * BDP / 2;
    (flight > bound).then(|| {
        format!(
            "{seconds} s after the line fell to half {flight} B are in flight, more than {bound}"
        )
    })
}

pub(super) fn app_limited(subject: Subject<'_>) -> RuleFailure {
    let mut path = Path::new(subject);
    let _ = path.run(Duration::from_secs(2));
    path.write_every = Some(BASE_RTT / 4);
    let _ = path.run(Duration::from_secs(4));
    path.write_every = None;
    let share = path.share(BASE_RTT * 4);
    (share < 50).then(|| {
        format!("after 4 s of 4 segments per RTT by the application it takes {share} % of the line")
    })
}
